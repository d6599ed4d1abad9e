// The plots' place on the page: a heading with the lines' names and newest values, and a canvas that the home draws. Tells what the pointer does there.
import type { Canvas } from "./chart";
import { COLOURS } from "./phases";
import { PLOTS, type PlotSpec } from "./plot_specs";
import type { PlotPointer } from "./seam";

type Tell = (key: string, kind: PlotPointer, px: number) => void;

class Panel {
  readonly element = document.createElement("section");
  readonly canvas = document.createElement("canvas");
  private readonly legend = document.createElement("span");
  private values: Text[] = [];
  private named = "";

  constructor(spec: PlotSpec, tell: Tell) {
    const head = document.createElement("h3"), title = document.createElement("span");
    title.textContent = spec.unit ? `${spec.title} [${spec.unit}]` : spec.title;
    head.append(title, this.legend);
    this.element.className = "plot";
    this.element.dataset.plot = spec.key;
    this.element.hidden = true;
    this.element.append(head, this.canvas);
    this.listen(spec.key, tell);
  }

  private listen(key: string, tell: Tell): void {
    const { canvas } = this;
    const by = (kind: PlotPointer) => (event: MouseEvent) => tell(key, kind, event.clientX - canvas.getBoundingClientRect().left);
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointerdown", by("down"));
    canvas.addEventListener("pointermove", by("move"));
    canvas.addEventListener("pointerup", by("up"));
    canvas.addEventListener("pointercancel", by("up"));
    canvas.addEventListener("pointerleave", by("leave"));
    canvas.addEventListener("dblclick", by("double"));
  }

  /** What the lines are called, each in its colour; with room for the newest value where there are at most two. */
  name(lines: string[]): void {
    const key = lines.join("|");
    if (this.named === `${key}.`) return;
    this.named = `${key}.`;
    this.values = [];
    this.legend.replaceChildren(...lines.map((line, i) => {
      const entry = document.createElement("span"), swatch = document.createElement("i");
      swatch.style.background = COLOURS[i];  // the words stay readable: not every line's colour is, as text
      entry.append(swatch, line, line ? " " : "");
      if (lines.length <= 2) {
        const output = document.createElement("output"), value = new Text("");
        output.append(value);
        entry.append(output);
        this.values.push(value);
      }
      return entry;
    }));
  }

  show(values: string[]): void {
    this.values.forEach((value, i) => { if (value.data !== values[i]) value.data = values[i] ?? ""; });
  }
}

export class PlotPanel {
  private readonly panels: Map<string, Panel>;

  constructor(readonly box: HTMLElement, tell: Tell) {
    this.panels = new Map(PLOTS.map((spec) => [spec.key, new Panel(spec, tell)]));
    box.append(...[...this.panels.values()].map((panel) => panel.element));
  }

  canvases(give: (canvas: HTMLCanvasElement) => Canvas): Record<string, Canvas> {
    return Object.fromEntries([...this.panels].map(([key, panel]) => [key, give(panel.canvas)]));
  }

  /** Those with names are there. */
  name(all: Record<string, string[]>): void {
    for (const [key, panel] of this.panels) {
      panel.element.hidden = !(key in all);
      if (all[key]) panel.name(all[key]);
    }
  }

  show(all: Record<string, string[]>): void { for (const [key, values] of Object.entries(all)) this.panels.get(key)?.show(values); }

  /** Of a canvas, in CSS pixels; 0 where they are not in sight. */
  width(): number { return this.box.clientWidth > 0 ? Math.max(180, this.box.clientWidth - 8) : 0; }
}
