// Where the viewer's home begins: in a worker by itself, in the page when the page calls it.
import { App } from "./app";
import type { Canvas } from "./chart";
import { portOf, type HomePort } from "./seam";
import { isSoftware } from "./stage";

/** probe: a canvas that nobody needs, to see what graphics there are here. */
export function serve(port: HomePort, probe: Canvas): void {
  const gl = probe.getContext("webgl2") as WebGL2RenderingContext | null;
  let app: App | null = null;
  port.onmessage = (message) => {
    if (message.type !== "start") return app?.take(message);
    const { setup } = message, software = isSoftware(gl, setup.search);
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
    app = new App(port, setup, software, () => new WebSocket(setup.url, "tactus.v1") as never);
    (globalThis as { tactusHome?: App }).tactusHome = app;  // for the tests and the curious
    app.start();
  };
  port.post({ type: "able", able: gl !== null && typeof requestAnimationFrame === "function" });
}

if (typeof document === "undefined") serve(portOf(globalThis as never), new OffscreenCanvas(1, 1));
