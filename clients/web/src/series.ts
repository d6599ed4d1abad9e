// Numbers over time for the plots: a ring of rows, read out in order without copying more than is drawn.
export class Series {
  private readonly columns: Float64Array[];
  private at = 0;
  count = 0;

  constructor(readonly width: number, readonly room: number) {
    this.columns = Array.from({ length: width }, () => new Float64Array(room));
  }

  add(row: readonly number[]): void {
    for (let i = 0; i < this.width; ++i) this.columns[i][this.at] = row[i] ?? NaN;
    this.at = (this.at + 1) % this.room;
    this.count = Math.min(this.count + 1, this.room);
  }

  clear(): void { this.at = this.count = 0; }

  /** Each column, oldest first. A NaN is a gap. */
  read(): (number | null)[][] {
    const first = (this.at - this.count + this.room) % this.room;
    return this.columns.map((column) => {
      const out = new Array<number | null>(this.count);
      for (let i = 0; i < this.count; ++i) {
        const x = column[(first + i) % this.room];
        out[i] = Number.isNaN(x) ? null : x;
      }
      return out;
    });
  }
}

/** A number for people: three digits, with its unit's prefix where one helps. */
export function shown(x: number): string {
  if (!Number.isFinite(x)) return "-";
  const a = Math.abs(x);
  if (a !== 0 && (a < 1e-3 || a >= 1e5)) return x.toExponential(1);
  return a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : x.toPrecision(3).replace(/\.?0+$/, "");
}
