// The page: shows what its home tells, and tells what the user does. All that knows the document is here and in the parts that it has.
import { Bar } from "./bar";
import { findHome, type Home } from "./homes";
import { JointPanel } from "./joint_panel";
import { FORCE_COLOUR, NORMAL_COLOUR, PHASES } from "./phases";
import { PlaybackBar } from "./playback_bar";
import { PlotPanel } from "./plot_panel";
import type { FromHome, Input, Shown, Theme, ToHome } from "./seam";
import type { Summary } from "./summary";

type Show = { [K in keyof Shown]: (value: Shown[K]) => void };
type Asked<T> = T extends { type: "ask" } ? Omit<T, "type" | "id"> : never;

function element<T extends HTMLElement>(id: string): T { return document.getElementById(id) as T; }

export class Page {
  private home: Home | null = null;
  private readonly view = element<HTMLCanvasElement>("view");
  private readonly tell = (message: ToHome) => this.home?.port.post(message);
  private readonly bar = new Bar({ tell: this.tell, theme: () => this.setTheme(this.theme === "dark" ? "light" : "dark"),
    plots: () => document.body.classList.toggle("no-plots"), jointsOpen: (open) => this.tell({ type: "jointsOpen", open }) });
  private readonly joints = new JointPanel(element("joint-list"), element("joint-verdict"), this.tell);
  private readonly playback = new PlaybackBar(this.tell);
  private readonly plots = new PlotPanel(element("plots"), (key, kind, px) => this.tell({ type: "plot", key, kind, px }));
  private theme: Theme = "light";
  private readonly waiting = new Map<number, (value: unknown) => void>();
  private nextId = 1;
  private started: () => void = () => undefined;
  private readonly hasStarted = new Promise<void>((resolve) => { this.started = resolve; });

  private readonly show: Show = {
    phase: (value) => this.bar.phase(value), door: (why) => this.bar.door(why), title: (title) => { document.title = title; },
    run: (value) => this.bar.run(value), scenes: (value) => this.bar.scenes(value), models: (value) => this.bar.models(value),
    settings: (value) => this.bar.settings(value), holders: (value) => this.bar.holders(value), clients: (value) => this.bar.clients(value),
    times: (value) => this.bar.times(value), marks: (value) => this.bar.marks(value), status: (value) => this.bar.status(value),
    devices: (words) => { element("devices").textContent = words; element("devices").hidden = words === ""; },
    cursor: (name) => { this.view.className = name; },
    joints: (robots) => { this.joints.build(robots); this.bar.joints(robots.length > 0); },
    jointRows: (rows) => this.joints.show(rows), jointSays: (words) => this.joints.say(words),
    playback: (told) => this.playback.show(told), position: (now) => this.playback.position(now),
    plotsHeld: (held) => this.bar.pressed("plots-pause", held), plotNames: (all) => this.plots.name(all), plotValues: (all) => this.plots.show(all),
  };

  constructor() {
    element("legend").innerHTML = PHASES.map((p) => `<i style="background:${p.colour}"></i>${p.name}`).join("") +
      `<i class="bar" style="background:${FORCE_COLOUR}"></i>force<i class="bar" style="background:${NORMAL_COLOUR}"></i>normal (N)`;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.setTheme(dark.matches ? "dark" : "light"));
    this.setTheme(dark.matches ? "dark" : "light");
  }

  async start(url: string, search: string): Promise<void> {
    const home = await findHome(search);
    this.home = home;
    home.port.onmessage = (message) => this.take(message);
    const setup = { view: home.give(this.view), plots: this.plots.canvases(home.give), url, search, origin_ms: performance.timeOrigin };
    home.port.post({ type: "start", setup }, home.kind === "worker" ? [setup.view, ...Object.values(setup.plots)] as Transferable[] : []);
    this.setTheme(this.theme);
    new ResizeObserver(() => this.size()).observe(this.view.parentElement!);
    new ResizeObserver(() => this.tell({ type: "plotsSize", width: this.plots.width(), ratio: devicePixelRatio })).observe(this.plots.box);
    this.size();
    this.listen();
    this.started();
  }

  // --- for the tests and the curious

  get homeKind(): string { return this.home?.kind ?? ""; }
  /** What the home knows, and where its picture is in the window. */
  async summary(): Promise<Summary & { view: number[]; home: string }> {
    const summary = (await this.ask({ what: "summary" })) as Summary, box = this.view.getBoundingClientRect();
    return { ...summary, view: [box.left, box.top, box.width, box.height], home: this.homeKind };
  }
  /** Where a body is: its origin in W, and on the canvas in CSS pixels. */
  whereIs(name: string): Promise<unknown> { return this.ask({ what: "whereIs", name }); }
  /** When the home has taken all that the page told it until now. */
  settled(): Promise<unknown> { return this.ask({ what: "nothing" }); }

  private async ask(question: Asked<ToHome>): Promise<unknown> {
    await this.hasStarted;
    const id = this.nextId++;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.tell({ type: "ask", id, ...question });
    });
  }

  // --- what the home tells

  private take(message: FromHome): void {
    switch (message.type) {
      case "show":
        for (const key of Object.keys(message.shown) as (keyof Shown)[]) this.show[key](message.shown[key] as never);
        return;
      case "say": return this.bar.say(message.text, message.kind);
      case "setting": return this.bar.setting(message.key, message.taken);
      case "answer":
        this.waiting.get(message.id)?.(message.value);
        this.waiting.delete(message.id);
        return;
      default:
    }
  }

  // --- what the user does

  private setTheme(theme: Theme): void {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    const style = getComputedStyle(document.documentElement);
    this.tell({ type: "theme", theme, look: { grid: style.getPropertyValue("--grid").trim(), text: style.getPropertyValue("--soft").trim() } });
  }

  private size(): void {
    const { clientWidth: width, clientHeight: height } = this.view.parentElement!;
    this.tell({ type: "size", width, height, ratio: devicePixelRatio });
  }

  private listen(): void {
    const { view } = this;
    for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "lostpointercapture"] as const) {
      view.addEventListener(kind, (event) => {
        if (kind === "pointerdown") view.setPointerCapture(event.pointerId);
        this.tell({ type: "input", input: { ...inputOf(event, view), pointerId: event.pointerId, pointerType: event.pointerType } });
      });
    }
    view.addEventListener("contextmenu", (event) => event.preventDefault());
    view.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.tell({ type: "input", input: { ...inputOf(event, view), deltaY: event.deltaY, deltaMode: event.deltaMode } });
    }, { passive: false });
    // The controls tell a pinch on a touchpad, which comes as a wheel with Control, from a wheel with that key.
    for (const kind of ["keydown", "keyup"] as const)
      addEventListener(kind, (event) => { if (event.key === "Control") this.tell({ type: "input", input: { ...NOTHING, kind, key: event.key } }); });
  }
}

const NOTHING: Input = { kind: "", x: 0, y: 0, button: 0, buttons: 0, pointerId: 0, pointerType: "", deltaY: 0, deltaMode: 0, key: "", shiftKey: false, ctrlKey: false, metaKey: false };

function inputOf(event: MouseEvent, view: HTMLElement): Input {
  const box = view.getBoundingClientRect(), { type: kind, button, buttons, shiftKey, ctrlKey, metaKey } = event;
  return { ...NOTHING, kind, x: event.clientX - box.left, y: event.clientY - box.top, button, buttons, shiftKey, ctrlKey, metaKey };
}
