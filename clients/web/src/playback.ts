// A server that plays a recording: where it stands, and seeks, one at a time. Its bar: playback_bar.ts.
import type { Playback as Told } from "../generated/control_pb";
import type { Shown } from "./seam";

export interface Change { positionS?: number; speed?: number }

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
  private readonly seeks: Newest<number>;
  private dragging = false;

  /** change: asks the server. */
  constructor(private readonly change: (change: Change) => Promise<void>) {
    this.seeks = new Newest((positionS) => this.change({ positionS }));
  }

  get playing(): boolean { return this.told !== null; }

  seek(position_s: number): void {
    if (!this.told) return;
    this.position_s = Math.min(Math.max(position_s, 0), this.told.durationS);
    this.seeks.ask(this.position_s);
  }

  /** The slider follows the hand, not the states, until it is let go. */
  drag(position_s: number): void {
    this.dragging = true;
    this.seek(position_s);
  }
  letGo(): void { this.dragging = false; }

  setSpeed(speed: number): void { void this.change({ speed }).catch(() => undefined); }

  onState(playTimeNs: bigint): void {
    if (!this.told || playTimeNs === 0n || this.dragging || this.seeks.pending) return;
    this.position_s = Number(playTimeNs - this.told.beginNs) * 1e-9;
  }

  shown(): Shown["playback"] {
    const { told } = this;
    return told && { file: told.file, by: told.recordedBy, duration_s: told.durationS, end: clock(told.durationS), speed: told.speed };
  }
  position(): Shown["position"] { return { words: clock(this.position_s), at_s: this.position_s }; }
}
