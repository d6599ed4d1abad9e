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

/** [from, to], widened to `least`: an axis of no width has no place for ticks. */
export function atLeast(from: number, to: number, least: number): [number, number] {
  if (to - from >= least) return [from, to];
  const middle = (from + to) / 2;
  return Number.isFinite(middle) ? [middle - least / 2, middle + least / 2] : [0, least];
}

/** The last `most` seconds of [first, last], and at least half a second. */
export function windowOf(first: number, last: number, most: number): { min: number; max: number } {
  return { min: Math.min(Math.max(first, last - most), last - 0.5), max: last };
}

/** Range of an axis that shows [low, high]: from zero where that is near, never so narrow that noise fills the plot. */
export function upTo(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (low >= 0 && low < 0.7 * high) low = 0;
  if (high <= 0 && high > 0.7 * low) high = 0;
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size === 0) return [0, 1];
  const least = 0.02 * size, wide = Math.max(high - low, least), middle = (low + high) / 2, half = 0.54 * wide;
  return [low === 0 ? 0 : middle - half, high === 0 ? 0 : low === 0 ? 1.08 * high : middle + half];
}

/** Where an axis from `low` to `high` has ticks: a round step apart (1, 2 or 5 times a power of ten), `most` of them at most, and one where none is round. */
export function steps(low: number, high: number, most: number): number[] {
  const least = (high - low) / Math.max(1, most);
  if (!(least > 0) || !Number.isFinite(least)) return [];
  const power = 10 ** Math.floor(Math.log10(least)), step = power * ([1, 2, 5].find((n) => n * power >= least) ?? 10);
  const out: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high && out.length < 100; ++n) out.push(n * step);
  return out;
}

/** Words for the ticks of an axis: as many digits as their step needs, and no more. */
export function ticks(at: readonly number[]): string[] {
  const step = at.length > 1 ? Math.abs(at[1] - at[0]) : Math.abs(at[0] ?? 0), largest = Math.max(...at.map(Math.abs));
  if (largest !== 0 && (largest < 1e-3 || largest >= 1e5)) return at.map((x) => (x === 0 ? "0" : x.toExponential(1)));
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 * step * 10 ** digits) ++digits;
  return at.map((x) => x.toFixed(digits));
}

/** A number for people: three digits, with its unit's prefix where one helps. */
export function shown(x: number): string {
  if (!Number.isFinite(x)) return "-";
  const a = Math.abs(x);
  if (a !== 0 && (a < 1e-3 || a >= 1e5)) return x.toExponential(1);
  return a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : x.toPrecision(3).replace(/\.?0+$/, "");
}
