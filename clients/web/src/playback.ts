// The bar of a server that plays a recording: where it stands, a slider to anywhere, and the speed.
import type { Playback as Told } from "../generated/control_pb";

/** Offered; the server takes any from 0.001 to 1,000. */
const SPEEDS = [0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];

export interface Change { positionS?: number; speed?: number }

function element<T extends HTMLElement>(id: string): T { return document.getElementById(id) as T; }

/** Seconds as m:ss.cc. */
export function clock(seconds: number): string {
  const hundredths = Math.max(0, Math.round(100 * seconds)), minutes = Math.floor(hundredths / 6000);
  return `${minutes}:${((hundredths - 6000 * minutes) / 100).toFixed(2).padStart(5, "0")}`;
}

/** One wish at a time; while it is under way only the newest of those that follow is kept. */
export class Newest<Wish> {
  private waiting: Wish | undefined;
  private busy = false;
  constructor(private readonly act: (wish: Wish) => Promise<void>) {}

  ask(wish: Wish): void {
    this.waiting = wish;
    if (!this.busy) void this.run();
  }

  get pending(): boolean { return this.busy; }

  private async run(): Promise<void> {
    this.busy = true;
    while (this.waiting !== undefined) {
      const wish = this.waiting;
      this.waiting = undefined;
      await this.act(wish).catch(() => undefined);
    }
    this.busy = false;
  }
}

export class Playback {
  told: Told | null = null;
  position_s = 0;
  private readonly box = element<HTMLFormElement>("playback");
  private readonly slider = element<HTMLInputElement>("play-slider");
  private readonly speed = element<HTMLSelectElement>("play-speed");
  private readonly seeks: Newest<number>;
  private dragging = false;

  /** change: asks the server. */
  constructor(private readonly change: (change: Change) => Promise<void>) {
    this.seeks = new Newest((positionS) => this.change({ positionS }));
    this.box.onsubmit = (event) => event.preventDefault();
    this.slider.oninput = () => { this.dragging = true; this.seek(Number(this.slider.value)); };
    this.slider.onchange = () => { this.dragging = false; };
    this.speed.replaceChildren(...SPEEDS.map((speed) => new Option(`${speed}x`, String(speed))));
    this.speed.onchange = () => { void this.change({ speed: Number(this.speed.value) }).catch(() => undefined); };
  }

  get playing(): boolean { return this.told !== null; }

  seek(position_s: number): void {
    if (!this.told) return;
    this.position_s = Math.min(Math.max(position_s, 0), this.told.durationS);
    this.seeks.ask(this.position_s);
    this.draw();
  }

  /** What the statistics say; undefined: the world is live. */
  show(told: Told | undefined): void {
    this.told = told ?? null;
    this.box.hidden = !told;
    document.body.classList.toggle("plays", this.playing);
    if (!told) return;
    this.slider.max = String(told.durationS);
    this.box.title = `${told.file}, recorded by ${told.recordedBy}`;
    const speed = String(told.speed);
    if (![...this.speed.options].some((option) => option.value === speed)) this.speed.add(new Option(`${speed}x`, speed));
    if (document.activeElement !== this.speed) this.speed.value = speed;
    element("play-end").textContent = clock(told.durationS);
    this.draw();
  }

  onState(playTimeNs: bigint): void {
    if (!this.told || playTimeNs === 0n || this.dragging || this.seeks.pending) return;
    this.position_s = Number(playTimeNs - this.told.beginNs) * 1e-9;
  }

  draw(): void {
    if (!this.told) return;
    const words = clock(this.position_s), output = element("play-position");
    if (output.textContent === words) return;
    output.textContent = words;
    if (!this.dragging) this.slider.value = String(this.position_s);
  }
}
