// The plots' chart: where samples stand, what a drag selects, gaps, and how little a long series takes to draw.
import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Chart, type Canvas } from "../src/chart";
import { steps } from "../src/series";

/** A 2D canvas that keeps its paths: one for each stroke, of moves and lines. */
function paper() {
  const strokes: { colour: string; path: [string, number, number][] }[] = [];
  let path: [string, number, number][] = [];
  const words: string[] = [];
  const context = { strokeStyle: "", beginPath: () => { path = []; }, moveTo: (x: number, y: number) => path.push(["M", x, y]), lineTo: (x: number, y: number) => path.push(["L", x, y]),
    stroke() { strokes.push({ colour: this.strokeStyle, path }); }, fillText: (text: string) => words.push(text) };
  const nothing = () => undefined;
  const proxy = new Proxy(context, { get: (target, key) => (key in target ? target[key as never] : nothing), set: (target, key, value) => Reflect.set(target, key, value) });
  const canvas = { width: 0, height: 0, getContext: () => proxy };
  const chart = new Chart(canvas as unknown as Canvas, 84, true);
  chart.resize(300, 2);
  const lines = () => { strokes.length = words.length = 0; chart.draw(); return strokes.slice(1); };  // the first are the axes
  return { canvas, chart, lines, words };
}

test("time goes from left to right, values upwards, evenly, within the axes; the canvas has the screen's pixels", () => {
  const { canvas, chart, lines } = paper();
  assert.deepEqual([canvas.width, canvas.height], [600, 168]);
  chart.data = [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]];
  chart.follow({ min: 0, max: 4 });
  const path = lines()[0].path;
  assert.equal(path.length, 5);
  assert.ok(path[0][1] >= 30 && path[4][1] <= 300 && path.every(([, , y]) => y >= 0 && y <= 84));
  for (let i = 1; i < 5; ++i) {
    assert.ok(Math.abs(path[i][1] - path[i - 1][1] - (path[4][1] - path[0][1]) / 4) <= 1);
    assert.ok(Math.abs(path[i - 1][2] - path[i][2] - (path[0][2] - path[4][2]) / 4) < 1e-9 && path[i][2] < path[i - 1][2]);
  }
});

test("a drag selects the time that lies under it, from either side; a click, or one that began elsewhere, selects none", () => {
  const { chart, lines } = paper(), where = (t: number) => lines()[0].path[t][1];
  for (const turned of [false, true]) {
    chart.data = [[0, 1, 2, 3, 4], [1, 1, 1, 1, 1]];
    chart.follow({ min: 0, max: 4 });
    const ends = [where(1), where(3)];
    if (turned) ends.reverse();
    assert.equal(chart.pointer("down", ends[0]), false);
    assert.equal(chart.pointer("move", (ends[0] + ends[1]) / 2), false);
    assert.equal(chart.pointer("up", ends[1]), true);
    assert.ok(Math.abs(chart.x.min - 1) < 0.02 && Math.abs(chart.x.max - 3) < 0.02, `${chart.x.min}..${chart.x.max}`);
  }
  chart.pointer("down", 100);
  assert.equal(chart.pointer("up", 101), false);
  assert.equal(chart.pointer("up", 200), false);
});

test("what a selection leaves out does not stretch the axis of values; a gap is not bridged; no data draws none and hangs on nothing", () => {
  const { chart, lines, words } = paper();
  chart.data = [[0, 1, 2, 3, 4], [1, 2, null, 3, 1000]];
  chart.follow({ min: 0, max: 3.5 });
  const path = lines()[0].path;
  assert.deepEqual(path.map(([kind]) => kind), ["M", "L", "M", "L"]);
  assert.ok(Math.abs(path[1][2] - path[2][2]) > 5, "2 and 3 are told apart");
  assert.ok(!words.some((w) => Number(w) > 100));
  chart.data = [[], []];
  assert.deepEqual(lines()[0].path, []);
  chart.data = [[1], [5]];
  chart.follow({ min: 1, max: 1 });
  assert.equal(lines()[0].path.length, 1);
});

test("100,000 samples are drawn as few corners, and their extremes with them", () => {
  const { chart, lines } = paper(), n = 100_000;
  chart.data = [Array.from({ length: n }, (_, i) => i / n), Array.from({ length: n }, (_, i) => (i === 777 ? 9 : i === 55_555 ? -9 : Math.sin(i)))];
  chart.follow({ min: 0, max: 1 });
  const path = lines()[0].path, heights = path.map(([, , y]) => y).sort((a, b) => a - b);
  assert.ok(path.length < 4 * 300);
  assert.ok(heights[0] < heights[2] - 5 && heights.at(-1)! > heights.at(-3)! + 5);
});

test("ticks stand at round places inside the axis, as many as there is room for at most", () => {
  for (const [low, high, most] of [[0, 1, 3], [17.02, 37.02, 5], [-3, 9, 2.5], [0.1518, 0.152, 3], [0, 4e5, 2], [-1e-9, 1e-9, 4]]) {
    const at = steps(low, high, most);
    assert.ok(at.length >= 1 && at.length <= most + 1 && at.every((x) => x >= low && x <= high), `${low}..${high}: ${at}`);
    const step = at.length > 1 ? at[1] - at[0] : Math.abs(at[0]) || 1, lead = Number(step.toExponential(6).split("e")[0]);
    if (at.length > 1) assert.ok([1, 2, 5].some((n) => Math.abs(lead - n) < 1e-3), `${step}`);
  }
  for (const bad of [NaN, Infinity]) assert.deepEqual(steps(0, bad, 3), []);
  assert.deepEqual(steps(1, 1, 3), []);
});
