// The seam between the page and its home: who may know what, what is told and how often, and that both ends of one thread keep the order.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Board, localPorts, type FromHome, type Input, type Shown } from "../src/seam";
import { Surface } from "../src/surface";

declare const TACTUS_PROTO: string;
const sources = join(TACTUS_PROTO, "..", "clients", "web", "src");

/** The files that `entry` needs when it runs, and the libraries: types are gone by then. */
function needs(entry: string, found = new Map<string, string>()): Map<string, string> {
  const text = readFileSync(join(sources, `${entry}.ts`), "utf8");
  found.set(entry, text);
  for (const [, what, from] of text.matchAll(/^import (type )?[^;]*?"([^"]+)";/gms)) {
    if (what || from.endsWith(".css")) continue;
    if (!from.startsWith("./")) found.set(from, "");
    else if (!found.has(from.slice(2))) needs(from.slice(2), found);
  }
  return found;
}

test("the home knows no document, window or element: it runs in a worker as it is", () => {
  for (const [name, text] of needs("home")) {
    const code = text.replace(/\/\/.*$/gm, "").replace(/\/\*.*?\*\//gs, "").replace(/typeof document\b/g, "");
    assert.ok(!/\b(document|window|matchMedia|devicePixelRatio|localStorage)\b\s*[.(]/.test(code), name);
  }
});

test("the page needs neither pictures nor packets nor macs: it is small", () => {
  const libraries = [...needs("main").keys()].filter((name) => needs("home").has(name));
  assert.deepEqual([...needs("main").keys()].filter((name) => /three|protobuf|noble|generated/.test(name)), []);
  assert.ok(libraries.every((name) => ["seam", "phases", "plot_specs", "words"].includes(name)), libraries.join(" "));
});

function board() {
  const [page, home] = localPorts(), got: FromHome[] = [];
  page.onmessage = (message) => got.push(message);
  const shown = async () => { await null; await null; return got.splice(0).map((m) => (m.type === "show" ? m.shown : null)); };
  return { board: new Board(home), shown };
}
const times = (time: string): Shown["times"] => ({ factor: "1.00x", look: "", time });

test("what changes is told once, together, with the newest value; what does not change is not told", async () => {
  const { board: b, shown } = board();
  b.set("times", times("1 s"));
  b.set("times", times("2 s"));
  b.set("devices", "a tool");
  assert.deepEqual(await shown(), [], "not before the picture");
  b.flush();
  assert.deepEqual(await shown(), [{ times: times("2 s"), devices: "a tool" }]);
  b.set("times", times("2 s"));
  b.flush();
  assert.deepEqual(await shown(), []);
});

test("what the user waits for is told at once, with what waited; what he changed himself is told again", async () => {
  const { board: b, shown } = board();
  b.set("devices", "a tool");
  b.tell("cursor", "over");
  b.tell("cursor", "over");
  assert.deepEqual(await shown(), [{ devices: "a tool", cursor: "over" }]);
  b.tell("models", { names: ["pm", "st"], current: "pm" });
  b.tell("playback", null);
  await shown();
  b.again("models", "scenes", "playback");
  assert.deepEqual(await shown(), [{ models: { names: ["pm", "st"], current: "pm" } }, { playback: null }], "and what was never told is not");
  b.tellAgain("title", "x");
  b.tellAgain("title", "x");
  assert.deepEqual(await shown(), [{ title: "x" }, { title: "x" }]);
});

test("within one thread messages come later and in order, as from a worker", async () => {
  const [page, home] = localPorts(), got: number[] = [];
  home.onmessage = (message) => { if (message.type === "step") got.push(message.ticks); };
  for (const ticks of [1, 2, 3]) page.post({ type: "step", ticks });
  assert.deepEqual(got, []);
  await null;
  assert.deepEqual(got, [1, 2, 3]);
});

test("the surface has the page's events as its listeners expect them: kind, place, button, keys", () => {
  const surface = new Surface(), got: Record<string, unknown>[] = [];
  surface.addEventListener("wheel", (event) => got.push(event as never));
  const input: Input = { kind: "wheel", x: 3, y: 4, button: 1, buttons: 2, pointerId: 7, pointerType: "mouse", deltaY: -5, deltaMode: 0, key: "", shiftKey: true, ctrlKey: false, metaKey: false };
  surface.take(input);
  surface.take({ ...input, kind: "pointermove" });
  assert.equal(got.length, 1);
  for (const [key, value] of Object.entries({ type: "wheel", clientX: 3, pageY: 4, button: 1, pointerId: 7, deltaY: -5, shiftKey: true })) assert.equal(got[0][key], value, key);
});
