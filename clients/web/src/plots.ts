// Live plots beside the scene. Drag to zoom in time, double click to follow again; a pause keeps what is shown.
import { Chart, COLOURS } from "./chart";
import { PLOTS, type PlotSpec } from "./plot_specs";
import { Series, shown, windowOf } from "./series";

const ROOM = 1500, WINDOW_S = 20, HEIGHT = 84;

class Plot {
  readonly series: Series;
  readonly element = document.createElement("section");
  private readonly legend = document.createElement("span");
  private readonly values: Text[] = [];
  readonly chart: Chart;
  private changed = false;
  zoomed = false;

  constructor(readonly spec: PlotSpec, plain: boolean) {
    this.series = new Series(spec.lines.length + 1, ROOM);
    const head = document.createElement("h3"), title = document.createElement("span");
    title.textContent = spec.unit ? `${spec.title} [${spec.unit}]` : spec.title;
    head.append(title, this.legend);
    this.element.className = "plot";
    this.element.dataset.plot = spec.key;
    const canvas = document.createElement("canvas");
    this.element.append(head, canvas);
    this.chart = new Chart(canvas, HEIGHT, plain);
    this.listen(canvas);
    this.name(spec.lines);
  }

  /** What the lines are called, each in its colour; with the newest value where there are at most two. */
  name(lines: string[]): void {
    this.values.length = 0;
    this.legend.replaceChildren(...lines.map((line, i) => {
      const entry = document.createElement("span"), swatch = document.createElement("i"), value = new Text("");
      swatch.style.background = COLOURS[i];  // the words stay readable: not every line's colour is, as text
      entry.append(swatch, line, line ? " " : "");
      if (lines.length <= 2) {
        const output = document.createElement("output");
        output.append(value);
        entry.append(output);
        this.values.push(value);
      }
      return entry;
    }));
  }

  add(row: readonly number[]): void {
    this.series.add(row);
    this.changed = true;
  }

  clear(): void {
    this.series.clear();
    this.zoomed = false;
    this.changed = true;
  }

  setLook(grid: string, text: string): void {
    this.chart.look = { grid, text };
    this.chart.draw();
  }

  /** Drag to zoom, double click to follow again: drawn at once, while the plots are held, too. */
  private listen(canvas: HTMLCanvasElement): void {
    const at = (event: MouseEvent) => event.clientX - canvas.getBoundingClientRect().left;
    const tell = (kind: "down" | "move" | "up" | "leave") => (event: PointerEvent) => {
      if (kind === "down") canvas.setPointerCapture(event.pointerId);
      if (this.chart.pointer(kind, at(event))) this.zoomed = true;
      this.chart.draw();
    };
    canvas.onpointerdown = tell("down");
    canvas.onpointermove = tell("move");
    canvas.onpointerup = canvas.onpointercancel = tell("up");
    canvas.onpointerleave = tell("leave");
    canvas.ondblclick = () => { this.zoomed = false; this.redraw(); };
  }

  /** True when there was something to draw. */
  draw(): boolean {
    if (!this.changed || this.element.hidden) return false;
    this.redraw();
    return true;
  }

  private redraw(): void {
    this.changed = false;
    const data = this.chart.data = this.series.read(), x = data[0] as number[];
    this.values.forEach((value, i) => { value.data = shown(data[i + 1].at(-1) ?? NaN); });
    if (!this.zoomed && x.length > 0) this.chart.follow(windowOf(x[0], x[x.length - 1], WINDOW_S));
    this.chart.draw();
  }

  resize(): void {
    this.chart.resize(Math.max(180, this.element.clientWidth - 8), devicePixelRatio);
    this.chart.draw();
  }
}

export class Plots {
  paused = false;
  private readonly plots: Map<string, Plot>;
  private readonly turn: Plot[];
  private drawn = 0;
  private next = 0;
  private shownAtAll = true;

  constructor(readonly panel: HTMLElement, private readonly draw_ms: number, plain: boolean) {
    this.plots = new Map(PLOTS.map((spec) => [spec.key, new Plot(spec, plain)]));
    this.turn = [...this.plots.values()];
    for (const plot of this.plots.values()) panel.append(plot.element);
    for (const key of ["joints", "quality", "device", "ledger", "device-link"]) this.plots.get(key)!.element.hidden = true;  // until there is something to show
    new ResizeObserver(() => {
      this.shownAtAll = panel.clientWidth > 0;
      for (const plot of this.plots.values()) plot.resize();
    }).observe(panel);
  }

  setTheme(): void {
    const style = getComputedStyle(document.documentElement);
    for (const plot of this.plots.values()) plot.setLook(style.getPropertyValue("--grid").trim(), style.getPropertyValue("--soft").trim());
  }

  add(key: string, time_s: number, values: readonly number[]): void {
    if (this.paused) return;
    const plot = this.plots.get(key);
    if (!plot) return;
    if (plot.element.hidden) plot.element.hidden = false;
    plot.add([time_s, ...values]);
  }

  /** The lines of a plot are others now, as many at most; none hides it until something comes. */
  name(key: string, lines: string[]): void {
    const plot = this.plots.get(key);
    plot?.name(lines);
    if (plot && lines.length === 0) plot.element.hidden = true;
  }

  clear(): void { for (const plot of this.plots.values()) plot.clear(); }

  /** Some plots a call, in turn, so that no frame has to draw them all; `few`: with so few pictures that each must take two. */
  draw(now_ms: number, few: boolean): void {
    if (this.paused || !this.shownAtAll || (!few && now_ms < this.drawn + this.draw_ms / this.turn.length)) return;
    this.drawn = now_ms;
    for (let drawn = 0, looked = 0; drawn < (few ? 2 : 1) && looked < this.turn.length; ++looked)
      if (this.turn[this.next = (this.next + 1) % this.turn.length].draw()) ++drawn;
  }
}
