// Contacts, trails and the view: what is drawn is where the state has it.
import { strict as assert } from "node:assert";
import { test } from "node:test";
import * as THREE from "three";
import { Contacts } from "../src/contacts";
import { PHASES } from "../src/phases";
import { Trails } from "../src/trails";
import { aimAt, coarser, pictureEvery_ms, RATIOS, streamHz, UNJUDGED_MS } from "../src/view";

type Numbers = { getX(i: number): number; getY(i: number): number; getZ(i: number): number };
const at = (a: Numbers, i: number) => [a.getX(i), a.getY(i), a.getZ(i)];
const near = (a: number[], b: number[], within: number, what: string) => assert.ok(Math.hypot(...a.map((x, i) => x - b[i])) < within, `${what}: ${a} and ${b}`);
const minus = (a: number[], b: number[]) => a.map((x, i) => x - b[i]);

// Point, normal from B into A, force on A, depth; the second with a quarter of the first's force.
const ROWS = [1, 2, 3, 0, 0, 1, 0, 0, 8, 0.001, -1, 0, 0, 1, 0, 0, 0, 2, 0, 0.002];

interface Drawn { points: number[]; tip: number[]; colour: THREE.Color; normal: number[] }
/** What stands on the picture for contact `i`, of either kind of marks. */
function drawn(contacts: Contacts, plain: boolean, i: number): Drawn {
  const inside = contacts as unknown as { marks: Record<string, any>; line: THREE.BufferAttribute }, { marks, line } = inside;
  const normal = minus(at(line, 2 * i + 1), at(line, 2 * i));
  if (plain) return { points: at(marks.dot, i), tip: at(marks.line, 2 * i + 1), colour: new THREE.Color(...(at(marks.colour, i) as [number, number, number])), normal };
  const matrix = new THREE.Matrix4(), colour = new THREE.Color(), top = new THREE.Vector3(0, 1, 0), p = new THREE.Vector3();
  marks.shafts[0].getMatrixAt(i, matrix);
  top.applyMatrix4(matrix);  // of the unit cylinder from 0 to 1 along y
  marks.points[0].getMatrixAt(i, matrix);
  marks.points[0].getColorAt(i, colour);
  return { points: p.setFromMatrixPosition(matrix).toArray(), tip: top.toArray(), colour, normal };
}

for (const plain of [true, false]) {
  const kind = plain ? "dots and lines" : "balls and arrows";
  test(`${kind}: points where they are, forces on the body that moves, as long as their square root, normals out of B, colours by phase`, () => {
    const contacts = new Contacts(plain);
    contacts.size_m = 0.02;
    contacts.set(ROWS, [1, 2], [5, 6], (id) => id === 5);
    assert.equal(contacts.count, 2);
    const [a, b] = [drawn(contacts, plain, 0), drawn(contacts, plain, 1)];
    near(a.points, [1, 2, 3], 1e-6, "point");
    const up = minus(a.tip, a.points), right = minus(b.tip, b.points);
    near(up, [0, 0, Math.hypot(...up)], 1e-6, "the force on A, which moves");
    near(right, [0, -Math.hypot(...right), 0], 1e-6, "the force on B, where A does not move");
    assert.ok(Math.abs(Math.hypot(...up) / Math.hypot(...right) - 2) < 1e-5, "a quarter of the force is half as long");
    near(minus(a.normal, [0, 0, Math.hypot(...a.normal)]), [0, 0, 0], 1e-6, "normal of the first");
    near(minus(b.normal, [Math.hypot(...b.normal), 0, 0]), [0, 0, 0], 1e-6, "normal of the second");
    assert.equal(a.colour.getHexString(), new THREE.Color(PHASES[1].colour).getHexString());
    assert.equal(b.colour.getHexString(), new THREE.Color(PHASES[2].colour).getHexString());
  });

  test(`${kind}: no force is no arrow and no NaN, an unknown phase has no phase's colour, more than there is room for is cut`, () => {
    const contacts = new Contacts(plain);
    contacts.set([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], [77], [1], () => true);
    const { points, tip, colour } = drawn(contacts, plain, 0);
    assert.ok(tip.every(Number.isFinite));
    near(tip, points, 1e-9, "no length");
    assert.equal(colour.getHexString(), new THREE.Color(PHASES[0].colour).getHexString());
    contacts.set(new Float64Array(10 * 5000), new Uint8Array(5000), new Uint32Array(5000), () => true);
    assert.equal(contacts.count, 2048);
    contacts.clear();
    assert.equal(contacts.count, 0);
  });
}

test("the largest arrow keeps its length while forces fluctuate: the reference falls slowly, and rises at once", () => {
  const contacts = new Contacts(true);
  const length = (force: number) => {
    contacts.set([0, 0, 0, 0, 0, 1, 0, 0, force, 0], [2], [1], () => true);
    return drawn(contacts, true, 0).tip[2];
  };
  const full = length(100);
  assert.ok(Math.abs(length(25) / full - 0.5) < 0.01);
  assert.ok(Math.abs(length(400) / full - 1) < 1e-6);
});

test("phases have names and colours of their own", () => {
  assert.deepEqual(PHASES.map((p) => p.name), ["no phase", "impacting", "resting"]);
  assert.equal(new Set(PHASES.map((p) => p.colour)).size, 3);
});

/** Pieces of body `b` that have a length, newest first. */
function pieces(trails: Trails, b: number): number[][] {
  const p = trails.lines.geometry.getAttribute("position").array, out: number[][] = [];
  for (let k = 0; k < 180; ++k) {
    const piece = Array.from(p.slice(6 * (180 * b + k), 6 * (180 * b + k) + 6));
    if (piece.some((x) => x !== 0)) out.push(piece);
  }
  return out;
}

test("trails: the path from the newest place back, each body its own, 180 places and 64 bodies at most, gone when cleared", () => {
  const trails = new Trails();
  trails.add(new Float32Array([9, 9, 9]));
  assert.deepEqual(pieces(trails, 0), [], "nothing is kept while hidden");
  trails.lines.visible = true;
  for (let i = 1; i <= 3; ++i) trails.add(new Float32Array([i, 0, 0, 0, 10 * i, 0]));
  assert.deepEqual(pieces(trails, 0), [[3, 0, 0, 2, 0, 0], [2, 0, 0, 1, 0, 0]]);
  assert.deepEqual(pieces(trails, 1), [[0, 30, 0, 0, 20, 0], [0, 20, 0, 0, 10, 0]]);
  assert.equal(trails.lines.geometry.drawRange.count, 2 * 2 * 180);
  for (let i = 1; i <= 500; ++i) trails.add(new Float32Array([i, 0, 0, 0, i, 0]));
  assert.equal(pieces(trails, 0).length, 179);
  assert.deepEqual(pieces(trails, 0).at(-1), [322, 0, 0, 321, 0, 0]);
  trails.clear();
  trails.add(new Float32Array([5, 5, 5]));
  assert.deepEqual(pieces(trails, 0), [], "one place is no path, and what was before is forgotten");
  trails.add(new Float32Array(3 * 200).fill(1));
  assert.equal(trails.lines.geometry.drawRange.count, 2 * 64 * 180);
});

test("a trail fades from the body to its end", () => {
  const colour = new Trails().lines.geometry.getAttribute("color") as THREE.BufferAttribute;
  assert.equal(colour.getW(0), 1);
  for (let k = 1; k < 180; ++k) assert.ok(colour.getW(2 * k) < colour.getW(2 * k - 2));
  assert.equal(colour.getW(360), 1, "the next body's begins anew");
});

test("the camera stands where all balls are in the picture and the largest way across fills most of it, at any aspect", () => {
  const random = (() => { let s = 7; return () => (s = (s * 16807) % 2147483647) / 2147483647; })();
  const back = new THREE.Vector3(0.35, -0.82, 0.5).normalize();
  for (let round = 0; round < 200; ++round) {
    const balls = Array.from({ length: 1 + Math.floor(6 * random()) }, () => ({ p_W: new THREE.Vector3(random(), random(), random()).multiplyScalar(10 * random()), size_m: 0.05 + random() }));
    const centre = balls.reduce((sum, b) => sum.add(b.p_W), new THREE.Vector3()).divideScalar(balls.length), aspect = 0.4 + 2 * random();
    const { target, distance } = aimAt(balls, centre, back, 42, aspect);
    const camera = new THREE.PerspectiveCamera(42, aspect, 0.01, 1000);
    camera.up.set(0, 0, 1);
    camera.position.copy(target).addScaledVector(back, distance);
    camera.lookAt(target);
    camera.updateMatrixWorld();
    let most = 0;
    for (const { p_W, size_m } of balls) {
      const p = p_W.clone().applyMatrix4(camera.matrixWorldInverse), high = Math.tan((42 * Math.PI) / 360), depth = -p.z;
      assert.ok(depth > 0);
      const y = (Math.abs(p.y) + size_m) / (depth * high), x = (Math.abs(p.x) + size_m) / (depth * high * aspect);
      assert.ok(x < 0.901 && y < 0.901, `round ${round}: ${x} ${y}`);
      most = Math.max(most, x, y);
    }
    assert.ok(distance <= 0.3 || most > 0.89, `round ${round}: fills ${most}`);
  }
});

test("pictures get coarser one step at a time where they are slow, finer where they are quick, and stay between; they leave the machine half its time", () => {
  assert.equal(coarser(500, 0), 1);
  assert.equal(coarser(500, RATIOS.length - 1), RATIOS.length - 1);
  assert.equal(coarser(10, 2), 1);
  assert.equal(coarser(10, 0), 0);
  for (let i = 0; i < RATIOS.length; ++i) assert.equal(coarser(UNJUDGED_MS, i), i);
  for (const cost of [1, 20, 100, 200]) assert.ok(pictureEvery_ms(cost) >= 2 * cost);
  assert.ok(pictureEvery_ms(1e6) <= 600, "however slow, it goes on");
  assert.ok(streamHz(true, "") >= 1000 / pictureEvery_ms(0) - 1, "a state for each picture that software graphics can have");
  assert.deepEqual([streamHz(false, ""), streamHz(true, "?hz=60"), streamHz(false, "?hz=0"), streamHz(false, "?hz=x")], [60, 60, 60, 60]);
});
