// The bar and the other words around the scene: tells what the user wants, shows what the home says.
import type { Kind, Shown, ToHome } from "./seam";
import { connectionWords, isPageKey, LOOKS_ON } from "./words";

/** What the page does by itself, and the home. */
export interface Wishes { tell(message: ToHome): void; theme(): void; plots(): void; jointsOpen(open: boolean): void }

function element<T extends HTMLElement>(id: string): T { return document.getElementById(id) as T; }

export class Bar {
  private toastTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly pauseButton = element<HTMLButtonElement>("pause");
  private readonly stepButton = element<HTMLButtonElement>("step");
  private readonly sceneList = element<HTMLSelectElement>("scene");
  private readonly modelList = element<HTMLSelectElement>("model");
  private readonly gains = element<HTMLFormElement>("gains");
  private readonly help = element<HTMLDialogElement>("help");

  constructor(private readonly wishes: Wishes) {
    this.pauseButton.onclick = () => wishes.tell({ type: "pause" });
    this.stepButton.onclick = (event) => wishes.tell({ type: "step", ticks: event.shiftKey ? 10 : 1 });
    element("reset").onclick = () => wishes.tell({ type: "reset" });
    this.sceneList.onchange = () => wishes.tell({ type: "scene", name: this.sceneList.value });
    this.modelList.onchange = () => wishes.tell({ type: "model", name: this.modelList.value });
    element("gains-toggle").onclick = () => this.toggleGains();
    element("joints-toggle").onclick = () => this.toggleJoints();
    element<HTMLFormElement>("joints").onsubmit = (event) => event.preventDefault();
    element("help-toggle").onclick = () => this.toggleHelp();
    element("theme").onclick = () => wishes.theme();
    element("plots-pause").onclick = () => wishes.tell({ type: "key", key: "p", shift: false });
    // A list that is open is left as it is until the user is done with it.
    for (const list of [this.sceneList, this.modelList]) list.onblur = () => { if (list.dataset.current !== undefined) list.value = list.dataset.current; };
    this.gains.onsubmit = (event) => event.preventDefault();
    element<HTMLFormElement>("token").onsubmit = (event) => {
      event.preventDefault();
      const text = element<HTMLInputElement>("token-text");
      wishes.tell({ type: "token", text: text.value });
      text.value = "";
    };
    addEventListener("keydown", (event) => this.onKey(event));
    // A button that was clicked gives the keys back: space is pause, not that button again.
    addEventListener("click", (event) => { if (event.detail > 0) (event.target as HTMLElement).closest("button")?.blur(); });
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (!isPageKey(event, target.tagName, isSlider(target))) return;
    // A joint's slider has the arrows itself. The recording's would add a step of its own to the second.
    const isArrow = event.key.startsWith("Arrow"), isPlayed = target.id === "play-slider";
    if (isArrow && isSlider(target) && !isPlayed) return;
    if (event.key === " " || (isArrow && isPlayed)) event.preventDefault();
    if (event.key === "?") return this.toggleHelp();
    const key = event.key.toLowerCase();
    switch (key) {
      case "g": return this.toggleGains();
      case "j": return this.toggleJoints();
      case "h": return this.wishes.plots();
      case "l": return this.wishes.theme();
      default: this.wishes.tell({ type: "key", key, shift: event.shiftKey });
    }
  }

  toggleHelp(): void {
    if (!this.help.open) return this.help.showModal();
    this.help.close();
    (document.activeElement as HTMLElement | null)?.blur();  // else its button has the keys until the next picture
  }

  toggleGains(): void { this.show("gains", this.gains.hidden); }

  phase({ phase, why, role }: Shown["phase"]): void {
    const pill = element("connection");
    pill.dataset.phase = phase;
    const words = connectionWords(phase, why, role), looksOn = phase === "open" && role === "observe";
    pill.querySelector("span")!.textContent = words;
    pill.title = looksOn ? LOOKS_ON : why || words;
    element("token").hidden = phase !== "token";
    this.drives = phase === "open" && !looksOn;
    for (const control of [this.pauseButton, this.stepButton, element<HTMLButtonElement>("reset"), this.sceneList, this.modelList]) {
      control.dataset.title ??= control.title;
      control.title = looksOn ? LOOKS_ON : control.dataset.title;
      control.disabled = !this.drives || (control === this.stepButton && this.stepButton.disabled);
    }
    for (const id of ["gains", "joints", "playback"]) {
      element(id).inert = looksOn;
      element(id).classList.toggle("inert", looksOn);
    }
  }
  private drives = false;

  /** Why the server does not let this page in, while it does not. */
  door(why: string): void {
    element("door").hidden = why === "";
    text("door", why);
  }

  run({ paused, lockstep }: Shown["run"]): void {
    const word = paused ? "Resume" : "Pause";
    if (this.pauseButton.textContent !== word) this.pauseButton.textContent = word;
    this.pauseButton.disabled = lockstep || !this.drives;
    this.stepButton.disabled = !paused || !this.drives;
  }

  scenes({ names, current }: Shown["scenes"]): void { fill(this.sceneList, names.map((s) => [s.name, s.title]), current); }
  models({ names, current }: Shown["models"]): void { fill(this.modelList, names.map((m) => [m, m]), current); }

  holders({ world, rows, all }: Shown["holders"]): void {
    const box = element("held");
    text("holder", world);
    box.title = all;
    box.replaceChildren(...rows.map((row) => Object.assign(document.createElement("span"), { textContent: row })));
  }

  /** Everyone who is connected: what became of their commands, and how well their link keeps up. */
  clients(all: Shown["clients"]): void {
    element("clients").replaceChildren(...all.map(({ name, words, why }) => {
      const row = document.createElement("li"), applied = document.createElement("small");
      row.textContent = name;
      row.title = why;
      applied.textContent = words;
      row.append(applied);
      return row;
    }));
  }

  times({ factor, look, time }: Shown["times"]): void {
    text("factor", factor);
    if (element("factor").className !== look) element("factor").className = look;
    text("time", time);
  }

  marks(words: Shown["marks"]): void {
    element("marks").replaceChildren(...words.map((w) => Object.assign(document.createElement("span"), { textContent: w.text, className: w.bad ? "bad" : "" })));
  }

  /** Words, or names and values in a row. */
  status(all: Shown["status"]): void {
    if (typeof all === "string") {
      this.factKey = "";
      return text("status", all);
    }
    const box = element("status"), key = all.map((f) => f.name).join("|");
    if (key !== this.factKey) {
      this.factKey = key;
      box.replaceChildren(...all.map((f) => {
        const fact = document.createElement("span"), name = document.createElement("small"), value = document.createElement("b");
        name.textContent = f.name;
        fact.append(name, value);
        return fact;
      }));
    }
    all.forEach((f, i) => {
      const value = box.children[i].lastElementChild!;
      if (value.textContent !== f.value) value.textContent = f.value;
      if (value.className !== (f.bad ? "warn" : "")) value.className = f.bad ? "warn" : "";
    });
  }
  private factKey = "";

  /** Shows the panel of joints, or hides it where there are none. */
  joints(some: boolean): void {
    element("joints-toggle").hidden = !some;
    if (!some) this.show("joints", false);
  }

  toggleJoints(): void { if (!element("joints-toggle").hidden) this.show("joints", element("joints").hidden); }

  private show(id: "gains" | "joints", on: boolean): void {
    if (id === "joints") this.wishes.jointsOpen(on);
    element(id).hidden = !on;
    element(`${id}-toggle`).setAttribute("aria-expanded", String(on));
  }

  settings(settings: Shown["settings"]): void {
    const box = this.gains.querySelector("div")!;
    box.replaceChildren(...settings.flatMap(({ key, value }) => {
      const label = document.createElement("label"), input = document.createElement("input");
      label.textContent = label.title = key;
      label.htmlFor = input.id = `setting-${key}`;
      input.value = value;
      input.onchange = () => this.wishes.tell({ type: "setting", key, value: input.value });
      return [label, input];
    }));
  }

  /** What became of a setting that the user changed. */
  setting(key: string, taken: boolean): void { document.getElementById(`setting-${key}`)?.classList.toggle("bad", !taken); }

  say(words: string, kind: Kind): void {
    const toast = element("toast");
    toast.textContent = words;
    toast.className = kind;
    toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => { toast.hidden = true; }, kind === "error" ? 6000 : 3000);
  }

  pressed(id: string, on: boolean): void { element(id).setAttribute("aria-pressed", String(on)); }
}

function isSlider(target: HTMLElement): boolean { return target instanceof HTMLInputElement && target.type === "range"; }

function text(id: string, words: string): void {
  const shown = element(id);
  if (shown.textContent !== words) shown.textContent = words;
}

function fill(list: HTMLSelectElement, entries: string[][], current: string): void {
  const known = entries.some(([name]) => name === current) ? entries : [[current, current], ...entries];
  const key = known.map(([name]) => name).join("|");
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    list.replaceChildren(...known.map(([name, title]) => {
      const option = new Option(name, name);
      option.title = title;
      return option;
    }));
  }
  list.dataset.current = current;
  if (document.activeElement !== list) list.value = current;
}
