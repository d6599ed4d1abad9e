// Lines over time on a 2D canvas, of a page or of a worker: axes, a grid, gaps, the stretch that is being selected, what the pointer is at.
import { COLOURS } from "./phases";
import { atLeast, steps, ticks, upTo } from "./series";

export type Canvas = HTMLCanvasElement | OffscreenCanvas;
type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;
export interface Span { min: number; max: number }
export interface Look { grid: string; text: string }

const LEFT = 42, RIGHT = 8, TOP = 7, BOTTOM = 17, X_SPACE = 50, Y_SPACE = 24, LEAST_S = 0.01, LEAST_DRAG = 4;

export class Chart {
  /** Time first, then a column a line; null is a gap. */
  data: (number | null)[][] = [[]];
  x: Span = { min: 0, max: 1 };
  look: Look = { grid: "#ddd", text: "#555" };
  private width = 0;
  private begin: number | null = null;  // of a drag [px]
  private at: number | null = null;     // of the pointer [px]
  private readonly context: Context;

  constructor(readonly canvas: Canvas, private readonly height: number, plain: boolean) {
    // Software graphics: 2D pictures by the processor itself, not by a graphics processor that it plays.
    this.context = canvas.getContext("2d", { willReadFrequently: plain }) as Context;
  }

  resize(width: number, ratio: number): void {
    this.width = Math.max(LEFT + RIGHT + 1, width);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  follow(span: Span): void { [this.x.min, this.x.max] = atLeast(span.min, span.max, LEAST_S); }

  /** The pointer, in pixels from the left; true where a drag has ended, and x is what was dragged over. */
  pointer(kind: "down" | "move" | "up" | "leave", px: number): boolean {
    const inside = Math.min(Math.max(px, LEFT), this.width - RIGHT), from = this.begin;
    this.at = kind === "leave" ? null : inside;
    if (kind === "down") this.begin = inside;
    if (kind !== "up") return false;
    this.begin = null;
    if (from === null || Math.abs(inside - from) < LEAST_DRAG) return false;
    this.follow({ min: this.timeAt(Math.min(from, inside)), max: this.timeAt(Math.max(from, inside)) });
    return true;
  }

  private timeAt(px: number): number { return this.x.min + ((px - LEFT) / (this.width - LEFT - RIGHT)) * (this.x.max - this.x.min); }
  private toX(t: number): number { return LEFT + ((t - this.x.min) / (this.x.max - this.x.min)) * (this.width - LEFT - RIGHT); }

  draw(): void {
    if (this.width === 0) return;
    const { context: c, width, height } = this, bottom = height - BOTTOM, [first, end] = this.rows();
    const [low, high] = this.range(first, end), toY = (y: number) => bottom - ((y - low) / (high - low)) * (bottom - TOP);
    c.clearRect(0, 0, width, height);
    this.axes(low, high, toY);
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, width - LEFT - RIGHT, bottom + 1);
    c.clip();
    c.lineWidth = 1.5;
    for (let line = 1; line < this.data.length; ++line) this.line(line, Math.max(0, first - 1), Math.min(this.data[0].length, end + 1), toY);
    if (this.at !== null) this.cursor(this.at, toY);
    c.restore();
  }

  /** Rows [first, end) that lie in what is shown. */
  private rows(): [number, number] {
    const time = this.data[0] as number[];
    let first = 0, end = time.length;
    while (first < end && time[first] < this.x.min) ++first;
    while (end > first && time[end - 1] > this.x.max) --end;
    return [first, end];
  }

  private range(first: number, end: number): [number, number] {
    let low = Infinity, high = -Infinity;
    for (let line = 1; line < this.data.length; ++line) {
      for (let i = first; i < end; ++i) {
        const y = this.data[line][i];
        if (y === null) continue;
        low = Math.min(low, y);
        high = Math.max(high, y);
      }
    }
    return upTo(low, high);
  }

  private axes(low: number, high: number, toY: (y: number) => number): void {
    const { context: c, width, height } = this, bottom = height - BOTTOM;
    const xs = steps(this.x.min, this.x.max, (width - LEFT - RIGHT) / X_SPACE), ys = steps(low, high, (bottom - TOP) / Y_SPACE);
    c.strokeStyle = this.look.grid;
    c.fillStyle = this.look.text;
    c.lineWidth = 1;
    c.font = "10px system-ui, sans-serif";
    c.beginPath();
    for (const x of xs) { c.moveTo(Math.round(this.toX(x)) + 0.5, TOP); c.lineTo(Math.round(this.toX(x)) + 0.5, bottom); }
    for (const y of ys) { c.moveTo(LEFT, Math.round(toY(y)) + 0.5); c.lineTo(width - RIGHT, Math.round(toY(y)) + 0.5); }
    c.stroke();
    c.textAlign = "center";
    c.textBaseline = "top";
    ticks(xs).forEach((words, i) => c.fillText(`${words} s`, this.toX(xs[i]), bottom + 4));
    c.textAlign = "right";
    c.textBaseline = "middle";
    ticks(ys).forEach((words, i) => c.fillText(words, LEFT - 5, toY(ys[i])));
  }

  /** At most four corners a pixel's width, so that what is drawn does not grow with the samples: first, least, most and last. */
  private line(line: number, first: number, end: number, toY: (y: number) => number): void {
    const { context: c } = this, time = this.data[0] as number[], column = this.data[line];
    c.strokeStyle = COLOURS[line - 1];
    c.beginPath();
    for (let i = first, broken = true; i < end;) {
      const value = column[i], px = Math.round(this.toX(time[i]));
      if (value === null) { broken = true; ++i; continue; }
      let low = value, high = value, last = value, n = 0;
      for (; i < end && column[i] !== null && Math.round(this.toX(time[i])) === px; ++i, ++n) {
        last = column[i] as number;
        low = Math.min(low, last);
        high = Math.max(high, last);
      }
      if (broken) c.moveTo(px, toY(value));
      else c.lineTo(px, toY(value));
      if (n > 2) { c.lineTo(px, toY(low)); c.lineTo(px, toY(high)); }
      if (n > 1) c.lineTo(px, toY(last));
      broken = false;
    }
    c.stroke();
  }

  /** What is being selected; else where the pointer is, and the samples there. */
  private cursor(px: number, toY: (y: number) => number): void {
    const { context: c } = this, time = this.data[0] as number[], bottom = this.height - BOTTOM;
    c.fillStyle = c.strokeStyle = this.look.text;
    if (this.begin !== null) {
      c.globalAlpha = 0.2;
      c.fillRect(Math.min(px, this.begin), TOP, Math.abs(px - this.begin), bottom - TOP);
      c.globalAlpha = 1;
      return;
    }
    const t = this.timeAt(px);
    let i = 0;
    while (i + 1 < time.length && Math.abs(time[i + 1] - t) <= Math.abs(time[i] - t)) ++i;
    c.lineWidth = 0.5;
    c.beginPath();
    c.moveTo(px, TOP);
    c.lineTo(px, bottom);
    c.stroke();
    for (let line = 1; line < this.data.length; ++line) {
      const y = this.data[line][i] ?? null;
      if (y === null) continue;
      c.fillStyle = COLOURS[line - 1];
      c.fillRect(this.toX(time[i]) - 2, toY(y) - 2, 4, 4);
    }
  }
}
