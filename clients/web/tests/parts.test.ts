// The mouse's spring, the plots' memory, the stream's budget, shapes as unit shapes.
import { strict as assert } from "node:assert";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { JointDescriptionSchema, ShapeDescriptionSchema } from "../generated/control_pb";
import { JointMode } from "../generated/realtime_pb";
import type { Connection } from "../src/connection";
import { modesOf, rangeOf, unitOf } from "../src/joints";
import { Lease } from "../src/leases";
import { clock, Newest } from "../src/playback";
import { unitParts, withNormals } from "../src/scene";
import { atLeast, Series, shown, ticks, upTo, windowOf } from "../src/series";
import { length, limited, OMEGA_RAD_PER_S, springForce, turnTorque, type Vec } from "../src/spring";
import { contactsEvery } from "../src/thinning";

const body = { mass_kg: 3, force_limit_n: Infinity, torque_limit_n_m: Infinity };

test("a free body on the spring comes to the target, without growing swings: up to gain 1 at 50 ms of delay, gain 4 at 15 ms", () => {
  for (const [gain, delay] of [[0.125, 50], [1, 50], [4, 15]]) {
    const h = 0.001, past: [number, number][] = [];
    let x = 0, v = 0, f = 0, largest = 0;
    for (let tick = 0; tick < 12_000; ++tick) {
      past.push([x, v]);
      if (tick % 16 === 0 && tick >= delay) f = springForce(body, [past[tick - delay][0], 0, 0], [past[tick - delay][1], 0, 0], [1, 0, 0], gain)[0];
      v += (h * f) / body.mass_kg;
      x += h * v;
      largest = Math.max(largest, x);
    }
    assert.ok(Math.abs(x - 1) < 0.01, `gain ${gain}: ends at ${x}`);
    assert.ok(largest < 2, `gain ${gain}: swings to ${largest}`);
  }
});

test("the static pull of the spring is m omega^2 per metre, and it brakes", () => {
  assert.ok(Math.abs(springForce(body, [0, 0, 0], [0, 0, 0], [0.1, 0, 0], 1)[0] - 0.1 * 3 * OMEGA_RAD_PER_S ** 2) < 1e-12);
  assert.ok(springForce(body, [0, 0, 0], [0, 2, 0], [0, 0, 0], 1)[1] < 0);
});

test("limits cut the length and keep the direction", () => {
  const cut = limited([3, 4, 0], 1);
  assert.ok(Math.abs(length(cut) - 1) < 1e-12 && Math.abs(cut[0] / cut[1] - 0.75) < 1e-12);
  assert.deepEqual(limited([3, 4, 0], 0), [3, 4, 0]);
  assert.deepEqual(limited([3, 4, 0], Infinity), [3, 4, 0]);
  assert.ok(Math.abs(length(springForce({ ...body, force_limit_n: 5 }, [0, 0, 0], [0, 0, 0], [9, 9, 9], 4)) - 5) < 1e-12);
});

test("a drag to the right turns about the view's up, a drag up about its left", () => {
  const right: Vec = [1, 0, 0], up: Vec = [0, 0, 1];
  const t = turnTorque(body, 0.1, 0.5, 0, right, up, 1);
  assert.ok(t[2] > 0 && t[0] === 0 && t[1] === 0);
  assert.ok(turnTorque(body, 0.1, 0, 0.5, right, up, 1)[0] < 0);
});

test("a series keeps its newest rows in order, gaps as null", () => {
  const s = new Series(2, 4);
  for (let i = 0; i < 6; ++i) s.add([i, i === 4 ? NaN : 10 * i]);
  assert.deepEqual(s.read(), [[2, 3, 4, 5], [20, 30, null, 50]]);
  s.clear();
  assert.deepEqual(s.read(), [[], []]);
});

test("numbers are short", () => {
  assert.deepEqual([0, 1.5, 12.345, 123.4, 0.00001234, 1e6, NaN].map(shown), ["0", "1.5", "12.3", "123", "1.2e-5", "1.0e+6", "-"]);
});

test("the stream keeps to 300 kB/s: a hundred bodies with 300 contacts, and none is thinned without need", () => {
  assert.equal(contactsEvery(10, 20, 60), 1);
  for (const [bodies, contacts] of [[100, 300], [36, 130], [30, 100], [60, 500]]) {
    const n = contactsEvery(bodies, contacts, 60);
    assert.ok(60 * (190 + 32 * bodies) + (60 / n) * 49 * contacts < 300_000, `${bodies} bodies, ${contacts} contacts: every ${n}`);
    assert.ok(60 / n >= 4);
    const few = contactsEvery(bodies, contacts, 22);
    assert.ok(22 / few >= 4 && 22 * (190 + 32 * bodies) + (22 / few) * 49 * contacts < 200_000, `22 Hz, ${bodies} bodies: every ${few}`);
  }
});

test("unit shapes have the sizes of the shape: half edges, radius, half height", () => {
  const parts = (init: object) => unitParts(create(ShapeDescriptionSchema, init));
  assert.deepEqual(parts({ kind: "box", halfM: { x: 1, y: 2, z: 3 } }), [{ unit: "box", z: 0, scale: [1, 2, 3] }]);
  assert.deepEqual(parts({ kind: "sphere", radiusM: 0.5 }), [{ unit: "sphere", z: 0, scale: [0.5, 0.5, 0.5] }]);
  assert.deepEqual(parts({ kind: "capsule", radiusM: 0.1, halfLengthM: 0.4 }).map((p) => p.z), [0, 0.4, -0.4]);
  assert.deepEqual(parts({ kind: "half_space" }), []);
});

test("normals have length 1 and point out of the triangle's front, faceted or smooth", () => {
  const corners = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];  // in z = 0 seen from above, in x = 0 seen from x > 0
  for (const smooth of [0, 0.6]) {
    const normal = withNormals(new Float32Array(corners), smooth).getAttribute("normal");
    for (let i = 0; i < 6; ++i) {
      const along = i < 3 ? normal.getZ(i) : normal.getX(i);
      assert.ok(Math.abs(along - 1) < 1e-6, `corner ${i}, smooth ${smooth}: ${along}`);
    }
  }
});

test("a joint can be told what its drive has gains for; its slider ends at its limits", () => {
  const joint = (init: object) => create(JointDescriptionSchema, { kind: "revolute", lower: -1, upper: 2, effortLimit: 5, velocityLimit: Infinity, ...init });
  const { JOINT_POSITION: P, JOINT_VELOCITY: V, JOINT_EFFORT: E } = JointMode;
  assert.deepEqual(modesOf(joint({ stiffness: 10, driveDamping: 1 })), [P, V, E]);
  assert.deepEqual(modesOf(joint({ driveDamping: 1 })), [V, E]);
  assert.deepEqual(modesOf(joint({})), [E]);
  assert.deepEqual([P, V, E].map((mode) => rangeOf(joint({}), mode)), [[-1, 2], [-Math.PI, Math.PI], [-5, 5]]);
  assert.deepEqual(rangeOf(joint({ kind: "continuous", lower: -Infinity, upper: Infinity }), P), [-Math.PI, Math.PI]);
  assert.deepEqual([P, V, E].map((mode) => unitOf(joint({ kind: "prismatic" }), mode)), ["m", "m/s", "N"]);
});

test("an axis shows all of its data, from zero where that is near, and is never so narrow that rounding fills it", () => {
  for (const [low, high] of [[0, 3], [2, 3], [9, 10], [-1, 5], [-3, -2.9], [0.152, 0.152], [0, 0], [-4, 0]]) {
    const [from, to] = upTo(low, high);
    assert.ok(from <= low && to >= high && to - from >= 0.02 * Math.max(Math.abs(low), Math.abs(high)) && to > from, `${low}..${high}: ${from}..${to}`);
  }
  assert.equal(upTo(2, 3)[0], 0);
  assert.ok(upTo(9, 10)[0] > 8);
  assert.deepEqual(upTo(null, null), [0, 1]);
});

test("ticks tell their values apart with no digit too many", () => {
  assert.deepEqual(ticks([0, 0.25, 0.5]), ["0.00", "0.25", "0.50"]);
  assert.deepEqual(ticks([0, 50, 100]), ["0", "50", "100"]);
  assert.deepEqual(ticks([0.1518, 0.152]), ["0.1518", "0.1520"]);
});

test("a lease is renewed by states alone, where timers wait, and not more often than it must", async () => {
  const asked: string[] = [], clock = { now: 0 };
  Object.defineProperty(performance, "now", { value: () => clock.now, configurable: true });  // Node.js 18 does not let it be assigned
  try {
    const connection = { request: async (body: { case: string }) => (asked.push(body.case), { case: "lease", value: { lease: 7 } }) };
    const lease = new Lease(connection as unknown as Connection, ["world"], () => undefined);
    await lease.take(10_000);
    for (clock.now = 0; clock.now <= 4000; clock.now += 16) lease.tend();
    assert.equal(asked.filter((a) => a === "renewLease").length, Math.floor(4000 / 656));  // 650 ms, as states of 16 ms allow
    clock.now = 10_100;
    lease.tend();
    assert.equal(asked.at(-1), "releaseLease");
    lease.tend();
    assert.equal(asked.at(-1), "releaseLease");
  } finally {
    delete (performance as { now?: unknown }).now;  // the prototype's again
  }
});

test("no axis of time is without width, however few the samples and deep the zoom", () => {
  for (const [from, to] of [[1, 1], [17.1, 17.1 + 1e-15], [NaN, NaN], [2, 1]]) {
    const [a, b] = atLeast(from, to, 0.01);
    assert.ok(b - a >= 0.0099, `${from}..${to}: ${a}..${b}`);
  }
  assert.deepEqual(atLeast(1, 3, 0.01), [1, 3]);
  assert.deepEqual(windowOf(8.3, 8.3, 20), { min: 7.800000000000001, max: 8.3 });
  assert.deepEqual(windowOf(0, 50, 20), { min: 30, max: 50 });
});

test("of seeks that come faster than they are answered the newest is asked for last, and none is lost that is the newest", async () => {
  const asked: number[] = [];
  let answer: () => void = () => undefined;
  const seeks = new Newest<number>((wish) => new Promise((resolve) => { asked.push(wish); answer = resolve; }));
  for (const position of [1, 2, 3, 4]) seeks.ask(position);
  assert.deepEqual(asked, [1]);
  answer();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(asked, [1, 4]);
  assert.ok(seeks.pending);
  answer();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.ok(!seeks.pending);
  const refused = new Newest<number>(() => Promise.reject(new Error("held by another")));
  refused.ask(1);
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.ok(!refused.pending, "a refused one does not stop those that follow");
});

test("positions are told in minutes and seconds", () => {
  assert.equal(clock(0), "0:00.00");
  assert.equal(clock(59.994), "0:59.99");
  assert.equal(clock(59.996), "1:00.00");
  assert.equal(clock(-3), "0:00.00");
  assert.equal(clock(3725.5), "62:05.50");
});
