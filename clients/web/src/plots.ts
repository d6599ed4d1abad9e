// Live plots beside the scene. Drag to zoom in time, double click to follow again; a pause keeps what is shown.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Series, shown } from "./series";

export interface PlotSpec { key: string; title: string; unit: string; lines: string[] }

export const PLOTS: PlotSpec[] = [
  { key: "beat", title: "Beat", unit: "us", lines: ["wake late", "work"] },
  { key: "penetration", title: "Deepest overlap", unit: "mm", lines: ["depth"] },
  { key: "energy", title: "Kinetic energy", unit: "J", lines: ["energy"] },
  { key: "contacts", title: "Contacts", unit: "", lines: ["points", "dropped"] },
  { key: "joints", title: "Joint torques", unit: "N m", lines: ["1", "2", "3", "4", "5", "6"] },
  { key: "quality", title: "Cycles of who commands", unit: "%", lines: ["good", "lost on the way"] },
  { key: "link", title: "This viewer's link", unit: "ms, 1/s", lines: ["round trip", "states/s"] },
];
const COLOURS = ["#3b82f6", "#f97316", "#10b981", "#a855f7", "#ef4444", "#64748b"];
const ROOM = 1500, DRAW_MS = 150, WINDOW_S = 20;

class Plot {
  readonly series: Series;
  readonly element = document.createElement("section");
  readonly value = document.createElement("output");
  private chart: uPlot | null = null;
  zoomed = false;

  constructor(readonly spec: PlotSpec) {
    this.series = new Series(spec.lines.length + 1, ROOM);
    const head = document.createElement("h3");
    head.textContent = spec.title;
    this.element.className = "plot";
    this.element.dataset.plot = spec.key;
    head.append(this.value);
    this.element.append(head);
  }

  build(grid: string, text: string): void {
    this.chart?.destroy();
    const axis = { stroke: text, font: "10px system-ui", grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    this.chart = new uPlot({
      width: Math.max(180, this.element.clientWidth - 8), height: 92, legend: { show: false }, padding: [4, 6, 0, 0],
      cursor: { drag: { x: true, y: false }, points: { size: 5 } }, scales: { x: { time: false } },
      axes: [{ ...axis, size: 18, values: (_, at) => at.map((x) => `${x}s`) }, { ...axis, size: 40, values: (_, at) => at.map(shown) }],
      series: [{}, ...this.spec.lines.map((label, i) => ({ label, stroke: COLOURS[i], width: 1.5, points: { show: false } }))],
      hooks: { setSelect: [() => { this.zoomed = true; }] },
    }, [[], ...this.spec.lines.map(() => [])], this.element);
    this.chart.over.addEventListener("dblclick", () => { this.zoomed = false; });
  }

  draw(): void {
    if (!this.chart || this.element.clientWidth === 0) return;
    const data = this.series.read(), x = data[0] as number[];
    this.value.textContent = data.slice(1).map((column) => column.at(-1)).filter((v) => v !== null && v !== undefined).slice(0, 2)
      .map((v) => shown(v as number)).join(" / ") + (this.spec.unit ? ` ${this.spec.unit}` : "");
    this.chart.setData(data as uPlot.AlignedData, !this.zoomed);
    if (!this.zoomed && x.length > 0) this.chart.setScale("x", { min: Math.max(x[0], x[x.length - 1] - WINDOW_S), max: x[x.length - 1] });
  }

  resize(): void { this.chart?.setSize({ width: Math.max(180, this.element.clientWidth - 8), height: 92 }); }
}

export class Plots {
  paused = false;
  private readonly plots = new Map(PLOTS.map((spec) => [spec.key, new Plot(spec)]));
  private drawn = 0;

  constructor(readonly panel: HTMLElement) {
    for (const plot of this.plots.values()) panel.append(plot.element);
    for (const key of ["joints", "quality"]) this.plots.get(key)!.element.hidden = true;  // until there is something to show
    new ResizeObserver(() => { for (const plot of this.plots.values()) plot.resize(); }).observe(panel);
  }

  setTheme(): void {
    const style = getComputedStyle(document.documentElement);
    for (const plot of this.plots.values()) plot.build(style.getPropertyValue("--grid").trim(), style.getPropertyValue("--soft").trim());
  }

  add(key: string, time_s: number, values: number[]): void {
    if (this.paused) return;
    const plot = this.plots.get(key);
    if (!plot) return;
    plot.element.hidden = false;
    plot.series.add([time_s, ...values]);
  }

  clear(): void {
    for (const plot of this.plots.values()) {
      plot.series.clear();
      plot.zoomed = false;
    }
  }

  draw(now_ms: number): void {
    if (this.paused || now_ms < this.drawn + DRAW_MS || this.panel.clientWidth === 0) return;
    this.drawn = now_ms;
    for (const plot of this.plots.values()) plot.draw();
  }
}
