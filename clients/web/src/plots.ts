// Live plots beside the scene: what they show, when each is drawn. A pause keeps what is shown; a zoom stays until a double click.
import { Chart, type Canvas, type Look } from "./chart";
import { PLOTS, type PlotSpec } from "./plot_specs";
import type { PlotPointer } from "./seam";
import { Series, shown, windowOf } from "./series";

const ROOM = 1500, WINDOW_S = 20;
export const HEIGHT = 84;
/** Not there until there is something to show. */
const LATER = ["joints", "quality", "device", "ledger", "device-link"];

class Plot {
  readonly series: Series;
  readonly chart: Chart;
  lines: string[];
  values: string[] = [];
  there: boolean;
  private changed = false;
  private zoomed = false;

  constructor(spec: PlotSpec, canvas: Canvas, plain: boolean) {
    this.series = new Series(spec.lines.length + 1, ROOM);
    this.chart = new Chart(canvas, HEIGHT, plain);
    this.lines = spec.lines;
    this.there = !LATER.includes(spec.key);
  }

  add(row: readonly number[]): void {
    this.there = true;
    this.series.add(row);
    this.changed = true;
  }

  clear(): void {
    this.series.clear();
    this.zoomed = false;
    this.changed = true;
  }

  /** Drag to zoom, double click to follow again: drawn at once, while the plots are held, too. */
  pointer(kind: PlotPointer, px: number): void {
    if (kind === "double") {
      this.zoomed = false;
      return this.redraw();
    }
    if (this.chart.pointer(kind, px)) this.zoomed = true;
    this.chart.draw();
  }

  /** True when there was something to draw. */
  draw(): boolean {
    if (!this.changed || !this.there) return false;
    this.redraw();
    return true;
  }

  private redraw(): void {
    this.changed = false;
    const data = this.chart.data = this.series.read(), x = data[0] as number[];
    // With the newest value where there are at most two lines.
    if (this.lines.length <= 2) this.values = this.lines.map((_, i) => shown(data[i + 1].at(-1) ?? NaN));
    if (!this.zoomed && x.length > 0) this.chart.follow(windowOf(x[0], x[x.length - 1], WINDOW_S));
    this.chart.draw();
  }
}

export class Plots {
  held = false;
  private readonly plots: Map<string, Plot>;
  private readonly turn: Plot[];
  private drawn = 0;
  private next = 0;
  private inSight = true;

  constructor(canvases: Record<string, Canvas>, private readonly draw_ms: number, plain: boolean) {
    this.plots = new Map(PLOTS.map((spec) => [spec.key, new Plot(spec, canvases[spec.key], plain)]));
    this.turn = [...this.plots.values()];
  }

  setLook(look: Look): void {
    for (const { chart } of this.turn) {
      chart.look = look;
      chart.draw();
    }
  }

  /** width: 0 where they are not in sight. */
  resize(width: number, ratio: number): void {
    this.inSight = width > 0;
    if (!this.inSight) return;
    for (const { chart } of this.turn) {
      chart.resize(width, ratio);
      chart.draw();
    }
  }

  pointer(key: string, kind: PlotPointer, px: number): void { this.plots.get(key)?.pointer(kind, px); }

  add(key: string, time_s: number, values: readonly number[]): void {
    if (!this.held) this.plots.get(key)?.add([time_s, ...values]);
  }

  /** The lines of a plot are others now, as many at most; none hides it until something comes. */
  name(key: string, lines: string[]): void {
    const plot = this.plots.get(key);
    if (!plot) return;
    plot.lines = lines;
    plot.values = [];
    if (lines.length === 0) plot.there = false;
  }

  clear(): void { for (const plot of this.turn) plot.clear(); }

  /** The lines of the plots that are there. */
  names(): Record<string, string[]> { return this.each((plot) => plot.lines); }
  values(): Record<string, string[]> { return this.each((plot) => plot.values); }
  private each(what: (plot: Plot) => string[]): Record<string, string[]> {
    return Object.fromEntries([...this.plots].filter(([, plot]) => plot.there).map(([key, plot]) => [key, what(plot)]));
  }

  /** Some plots a call, in turn, so that no frame has to draw them all; `few`: with so few pictures that each must take two. */
  draw(now_ms: number, few: boolean): void {
    if (this.held || !this.inSight || (!few && now_ms < this.drawn + this.draw_ms / this.turn.length)) return;
    this.drawn = now_ms;
    for (let drawn = 0, looked = 0; drawn < (few ? 2 : 1) && looked < this.turn.length; ++looked)
      if (this.turn[this.next = (this.next + 1) % this.turn.length].draw()) ++drawn;
  }
}
