// Finds a home for what is not the page's: a worker where it can draw, else the page's own thread. The same script for both.
import type { Canvas } from "./chart";
import { localPorts, portOf, type FromHome, type PagePort, type ToHome } from "./seam";

declare const TACTUS_HOME: string;  // the script's name, by build.mjs

export interface Home {
  kind: "worker" | "page";
  port: PagePort;
  /** A canvas for the home to draw on. */
  give(canvas: HTMLCanvasElement): Canvas;
}

const address = () => new URL(TACTUS_HOME, import.meta.url).href;

/** Null where there are no workers, or none that can draw. */
async function inWorker(): Promise<Home | null> {
  if (typeof Worker === "undefined" || typeof HTMLCanvasElement.prototype.transferControlToOffscreen !== "function") return null;
  try {
    const worker = new Worker(address(), { type: "module" }), port = portOf<ToHome, FromHome>(worker);
    const able = await new Promise<boolean>((resolve) => {
      port.onmessage = (message) => resolve(message.type === "able" && message.able);
      worker.onerror = () => resolve(false);
    });
    worker.onerror = null;  // what goes wrong later is the console's to say
    if (able) return { kind: "worker", port, give: (canvas) => canvas.transferControlToOffscreen() };
    worker.terminate();
  } catch { /* the browser lets this page have no worker */ }
  return null;
}

async function inPage(): Promise<Home> {
  const [page, home] = localPorts();
  const { serve } = (await import(address())) as typeof import("./home");
  serve(home, document.createElement("canvas"));
  return { kind: "page", port: page, give: (canvas) => canvas };
}

/** `?home=page` in the address asks for the page's own thread. */
export async function findHome(search: string): Promise<Home> {
  const asked = new URLSearchParams(search).get("home");
  return (asked === "page" ? null : await inWorker()) ?? inPage();
}
