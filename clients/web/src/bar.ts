// The bar and the other words around the scene: reads the user's wishes, shows what is.
import type { ClientStatistics, LeaseList_Entry, Parameter } from "../generated/control_pb";
import type { Phase } from "./connection";
import { holdersOf } from "./readout";
import { clientWords, connectionWords, factorWords, heldWords, isPageKey, timeWords } from "./words";

export interface Wishes {
  pause(): void;
  step(ticks: number): void;
  reset(): void;
  scene(name: string): void;
  model(name: string): void;
  setting(key: string, value: string): Promise<void>;
  token(text: string): void;
  key(key: string, shift: boolean): void;
}

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
    this.pauseButton.onclick = () => wishes.pause();
    this.stepButton.onclick = (event) => wishes.step(event.shiftKey ? 10 : 1);
    element("reset").onclick = () => wishes.reset();
    this.sceneList.onchange = () => wishes.scene(this.sceneList.value);
    this.modelList.onchange = () => wishes.model(this.modelList.value);
    element("gains-toggle").onclick = () => this.toggleGains();
    element("joints-toggle").onclick = () => this.toggleJoints();
    element<HTMLFormElement>("joints").onsubmit = (event) => event.preventDefault();
    element("help-toggle").onclick = () => this.toggleHelp();
    element("theme").onclick = () => wishes.key("l", false);
    element("plots-pause").onclick = () => wishes.key("p", false);
    this.gains.onsubmit = (event) => event.preventDefault();
    element<HTMLFormElement>("token").onsubmit = (event) => {
      event.preventDefault();
      const text = element<HTMLInputElement>("token-text");
      wishes.token(text.value);
      text.value = "";
    };
    addEventListener("keydown", (event) => this.onKey(event));
    // A button that was clicked gives the keys back: space is pause, not that button again.
    addEventListener("click", (event) => { if (event.detail > 0) (event.target as HTMLElement).closest("button")?.blur(); });
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (!isPageKey(event, target.tagName, isSlider(target))) return;
    if (event.key === " ") event.preventDefault();
    if (event.key === "?") return this.toggleHelp();
    if (event.key.toLowerCase() === "g") return this.toggleGains();
    this.wishes.key(event.key.toLowerCase(), event.shiftKey);
  }

  toggleHelp(): void {
    if (!this.help.open) return this.help.showModal();
    this.help.close();
    (document.activeElement as HTMLElement | null)?.blur();  // else its button has the keys until the next picture
  }

  toggleGains(): void { this.show("gains", this.gains.hidden); }

  phase(phase: Phase, why: string): void {
    const pill = element("connection");
    pill.dataset.phase = phase;
    const words = connectionWords(phase, why);
    pill.querySelector("span")!.textContent = words;
    pill.title = why || words;
    if (phase === "open") this.door("");
    element("token").hidden = phase !== "token";
    for (const control of [this.pauseButton, element<HTMLButtonElement>("reset"), this.sceneList, this.modelList]) control.disabled = phase !== "open";
  }

  /** Why the server does not let this page in, while it does not. */
  door(why: string): void {
    element("door").hidden = why === "";
    text("door", why);
  }

  paused(paused: boolean, lockstep: boolean): void {
    const word = paused ? "Resume" : "Pause";
    if (this.pauseButton.textContent !== word) this.pauseButton.textContent = word;
    this.pauseButton.disabled = lockstep;
    this.stepButton.disabled = !paused;
  }

  scenes(names: { name: string; title: string }[], current: string): void { fill(this.sceneList, names.map((s) => [s.name, s.title]), current); }
  models(names: string[], current: string): void { fill(this.modelList, names.map((m) => [m, m]), current); }

  holder(entries: LeaseList_Entry[], self: string): void {
    const { world, rest } = holdersOf(entries, self), box = element("held");
    text("holder", world);
    const rows = heldWords(rest);
    const key = rows.join("\n");
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.title = rest.map(({ what, who }) => `${what}: ${who}`).join("\n");
    box.replaceChildren(...rows.map((row) => Object.assign(document.createElement("span"), { textContent: row })));
  }

  /** Everyone who is connected: what became of their commands, and how well their link keeps up. */
  clients(all: ClientStatistics[], self: string): void {
    element("clients").replaceChildren(...all.map((c) => {
      const row = document.createElement("li"), applied = document.createElement("small");
      row.textContent = c.name === self ? `${c.name} (this page)` : c.name;
      applied.textContent = clientWords(c);
      row.title = c.quality?.explanation ?? "";
      row.append(applied);
      return row;
    }));
  }

  times(factor: number, time_s: number): void {
    const { words, look } = factorWords(factor);
    text("factor", words);
    element("factor").className = look;
    text("time", timeWords(time_s));
  }

  marks(words: { text: string; bad: boolean }[]): void {
    const key = words.map((w) => w.text).join("|"), box = element("marks");
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.replaceChildren(...words.map((w) => {
      const span = document.createElement("span");
      span.textContent = w.text;
      span.className = w.bad ? "bad" : "";
      return span;
    }));
  }

  status(words: string): void {
    this.factKey = "";
    text("status", words);
  }

  /** Names and values in a row. */
  facts(all: { name: string; value: string; bad: boolean }[]): void {
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
      value.className = f.bad ? "warn" : "";
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
    element(id).hidden = !on;
    element(`${id}-toggle`).setAttribute("aria-expanded", String(on));
  }

  settings(settings: Parameter[]): void {
    const box = this.gains.querySelector("div")!;
    box.replaceChildren(...settings.flatMap(({ key, value }) => {
      const label = document.createElement("label"), input = document.createElement("input");
      label.textContent = label.title = key;
      label.htmlFor = input.id = `setting-${key}`;
      input.value = value;
      input.onchange = () => this.wishes.setting(key, input.value).then(() => { input.classList.remove("bad"); }, () => { input.classList.add("bad"); });
      return [label, input];
    }));
  }

  say(words: string, kind: "info" | "error"): void {
    const toast = element("toast");
    toast.textContent = words;
    toast.className = kind;
    toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => { toast.hidden = true; }, kind === "error" ? 6000 : 3000);
  }

  pressed(id: string, on: boolean): void { element(id).setAttribute("aria-pressed", String(on)); }
}

/** Keys that move a slider are its own; the others are the page's. */
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
  if (document.activeElement !== list) list.value = current;
}
