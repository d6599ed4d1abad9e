// The seam between the page, which has the document, and its home, which has connection, scene, picture and plots: a worker, or the page's own
// thread where it cannot be one. Messages are plain data. The home tells at most once a picture, and only what is another than before.
import type { Canvas, Look } from "./chart";

export type Theme = "light" | "dark";
export type Phase = "connecting" | "token" | "open" | "lost" | "refused";
/** Places of a joint's slider, between the joint's limits. */
export const JOINT_STEPS = 400;
export type Kind = "info" | "error";
export type PlotPointer = "down" | "move" | "up" | "leave" | "double";

/** A pointer's, a wheel's or a modifier key's event at the picture, in CSS pixels of it. */
export interface Input {
  kind: string;
  x: number;
  y: number;
  button: number;
  buttons: number;
  pointerId: number;
  pointerType: string;
  deltaY: number;
  deltaMode: number;
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
}

export interface Setup {
  view: Canvas;
  plots: Record<string, Canvas>;
  url: string;       // of the server's WebSocket
  search: string;    // of the page's address
  origin_ms: number; // when the page's clock began, as Date.now() tells it
}

/** What the user does, and how large the page is. */
export type ToHome =
  | { type: "start"; setup: Setup }
  | { type: "size"; width: number; height: number; ratio: number }
  | { type: "plotsSize"; width: number; ratio: number }
  | { type: "theme"; theme: Theme; look: Look }
  | { type: "input"; input: Input }
  | { type: "plot"; key: string; kind: PlotPointer; px: number }
  | { type: "key"; key: string; shift: boolean }
  | { type: "pause" } | { type: "step"; ticks: number } | { type: "reset" } | { type: "scene"; name: string } | { type: "model"; name: string }
  | { type: "setting"; key: string; value: string }
  | { type: "token"; text: string }
  | { type: "jointsOpen"; open: boolean }
  | { type: "jointStep"; id: number; step: number } | { type: "jointMode"; id: number; mode: number } | { type: "jointRelease"; id: number }
  | { type: "recover"; robot: string }
  | { type: "seek"; position_s: number } | { type: "sought" } | { type: "speed"; speed: number }
  | { type: "ask"; id: number; what: "summary" } | { type: "ask"; id: number; what: "whereIs"; name: string } | { type: "ask"; id: number; what: "nothing" };

export interface Fact { name: string; value: string; bad: boolean }
export interface RobotRows { name: string; joints: { id: number; name: string; modes: { mode: number; name: string }[] }[] }
/** step: where the slider stands that nobody moves; -1: where the user put it. */
export interface JointRow { words: string; step: number; acts: string; bad: boolean; held: boolean }

/** What stands on the page. */
export interface Shown {
  phase: { phase: Phase; why: string; role: string };
  door: string;
  title: string;
  run: { paused: boolean; lockstep: boolean };
  scenes: { names: { name: string; title: string }[]; current: string };
  models: { names: string[]; current: string };
  settings: { key: string; value: string }[];
  holders: { world: string; rows: string[]; all: string };
  clients: { name: string; words: string; why: string }[];
  times: { factor: string; look: string; time: string };
  marks: { text: string; bad: boolean }[];
  status: string | Fact[];
  devices: string;
  cursor: "" | "over" | "pulling";
  joints: RobotRows[];
  jointRows: JointRow[];
  jointSays: string;
  playback: { file: string; by: string; duration_s: number; end: string; speed: number } | null;
  position: { words: string; at_s: number };
  plotsHeld: boolean;
  plotNames: Record<string, string[]>;   // of the plots that there are; others have nothing to show yet
  plotValues: Record<string, string[]>;  // the newest of the lines
}

export type FromHome =
  | { type: "able"; able: boolean }
  | { type: "show"; shown: Partial<Shown> }
  | { type: "say"; text: string; kind: Kind }
  | { type: "setting"; key: string; taken: boolean }
  | { type: "answer"; id: number; value: unknown };

export interface Port<Out, In> {
  post(message: Out, transfer?: Transferable[]): void;
  onmessage: ((message: In) => void) | null;
}
export type PagePort = Port<ToHome, FromHome>;
export type HomePort = Port<FromHome, ToHome>;

/** Both ends within one thread: messages come later, in order, as from a worker. */
export function localPorts(): [PagePort, HomePort] {
  const page: PagePort = { onmessage: null, post: (message) => queueMicrotask(() => home.onmessage?.(message)) };
  const home: HomePort = { onmessage: null, post: (message) => queueMicrotask(() => page.onmessage?.(message)) };
  return [page, home];
}

/** What a Worker, and the inside of one, have in common. */
interface Thread { postMessage(message: unknown, transfer: Transferable[]): void; onmessage: ((event: MessageEvent) => void) | null }

export function portOf<Out, In>(thread: Thread): Port<Out, In> {
  const port: Port<Out, In> = { onmessage: null, post: (message, transfer = []) => thread.postMessage(message, transfer) };
  thread.onmessage = (event) => port.onmessage?.(event.data as In);
  return port;
}

/** What stands on the page, as the home knows it: collects changes until they are told. */
export class Board {
  private readonly told = new Map<keyof Shown, string>();
  private changed: Partial<Shown> = {};
  private waiting = false;

  constructor(private readonly port: HomePort) {}

  /** With the next picture. */
  set<K extends keyof Shown>(key: K, value: Shown[K]): void {
    const text = JSON.stringify(value);
    if (this.told.get(key) === text) return;
    this.told.set(key, text);
    this.changed[key] = value;
    this.waiting = true;
  }

  /** At once: what the user waits for. */
  tell<K extends keyof Shown>(key: K, value: Shown[K]): void {
    this.set(key, value);
    if (key in this.changed) this.flush();
  }

  /** At once, and even when nothing has changed: the user may have changed it on the page. */
  tellAgain<K extends keyof Shown>(key: K, value: Shown[K]): void {
    this.told.delete(key);
    this.tell(key, value);
  }

  /** What was told of these stands no more on the page. */
  again(...keys: (keyof Shown)[]): void {
    for (const key of keys) {
      const text = this.told.get(key);
      if (text !== undefined) this.tellAgain(key, JSON.parse(text) as never);
    }
  }

  flush(): void {
    if (!this.waiting) return;
    this.waiting = false;
    this.port.post({ type: "show", shown: this.changed });
    this.changed = {};
  }
}
