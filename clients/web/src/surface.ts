// The picture's element as the home has it: of the page's size, with the events that the page sends. What the camera's controls listen to.
import type { Input } from "./seam";

export class Surface extends EventTarget {
  clientWidth = 1;
  clientHeight = 1;
  readonly style = {};

  getRootNode(): this { return this; }
  getBoundingClientRect() { return { left: 0, top: 0, width: this.clientWidth, height: this.clientHeight }; }
  // The page's canvas has captured the pointer already.
  setPointerCapture(): void {}
  releasePointerCapture(): void {}

  take({ kind, x, y, ...rest }: Input): void { this.dispatchEvent(Object.assign(new Event(kind), { clientX: x, clientY: y, pageX: x, pageY: y, ...rest })); }
}
