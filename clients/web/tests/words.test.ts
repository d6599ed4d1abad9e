// Words of readout, verdicts and bar: what they say of a state, the statistics, leases and keys.
import { strict as assert } from "node:assert";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ClientStatisticsSchema, Event_Kind, EventSchema, LinkQualitySchema, StatisticsSchema } from "../generated/control_pb";
import { StatePacketSchema, StatusBit, VerdictCode } from "../generated/realtime_pb";
import { commanderOf, eventWords, factsOf, holdersOf, marksOf, plotted } from "../src/readout";
import { PLOTS } from "../src/plot_specs";
import { verdictWords } from "../src/verdicts";
import { clientWords, connectionWords, factorWords, heldWords, isPageKey, timeWords } from "../src/words";

const quality = (successRate: number, cycles = 100n) => create(LinkQualitySchema, { successRate, cycles });

test("each status bit that a user must see has a mark of its own, the grave ones are bad, and none says nothing", () => {
  assert.deepEqual(marksOf(0), []);
  assert.deepEqual(marksOf(StatusBit.STATUS_PAUSED), [{ text: "paused", bad: false }]);
  const silent = [StatusBit.STATUS_LATE_TICK];  // told by the plot of the beat
  const bits = Object.values(StatusBit).filter((b): b is StatusBit => typeof b === "number" && b !== 0 && !silent.includes(b));
  const texts = bits.map((bit) => marksOf(bit).map((m) => m.text).join("|"));
  assert.ok(texts.every((text) => text !== ""), texts.join(","));
  assert.equal(new Set(texts).size, bits.length);
  assert.ok(marksOf(StatusBit.STATUS_FAULT)[0].bad && marksOf(StatusBit.STATUS_BODY_FROZEN)[0].bad);
  assert.equal(marksOf(StatusBit.STATUS_PAUSED | StatusBit.STATUS_FAULT).length, 2);
});

test("verdicts: every code has words of its own without the enum's prefixes; an unknown one is told by its number", () => {
  const codes = Object.values(VerdictCode).filter((c): c is VerdictCode => typeof c === "number");
  const words = codes.map(verdictWords);
  assert.equal(new Set(words).size, codes.length);
  assert.ok(words.every((w) => w === w.toLowerCase() && !w.includes("verdict") && !w.includes("_")), words.join(","));
  assert.equal(verdictWords(VerdictCode.VERDICT_REFUSED_NOT_LEASED), "refused: not leased");
  assert.match(verdictWords(9999 as VerdictCode), /9999/);
});

test("events that the user must know of are told with what they name, the grave ones as errors; the others say nothing", () => {
  const told = (kind: Event_Kind) => eventWords(create(EventSchema, { kind, text: "the-cause" }));
  for (const kind of [Event_Kind.BODY_FROZEN, Event_Kind.ROBOT_FAULT, Event_Kind.RECORD_LOST, Event_Kind.RECORD_FAILED]) assert.ok(told(kind)?.kind === "error" && told(kind)?.text.includes("the-cause"));
  assert.deepEqual([told(Event_Kind.SERVER_STOPPING)?.kind, told(Event_Kind.PAUSED), told(Event_Kind.MODEL_CHANGED)], ["info", null, null]);
});

test("facts: p50 / p99 of work and lateness as the statistics have them, missed ticks are bad, overlap in mm", () => {
  const s = create(StatisticsSchema, { bodies: 7n, rateHz: 999.6, ticksMissed: 3n, penetrationMaxM: 0.0012, contactsMean: 4.2,
    wakeLateUs: { p50: 12, p99: 340 }, workUs: { p50: 55.5, p99: 120 }, clients: [{ name: "a" }, { name: "b" }] });
  const facts = new Map(factsOf(s, 1.5).map((f) => [f.name, f]));
  const value = (name: string) => facts.get(name)?.value;
  assert.deepEqual(["bodies", "rate", "late", "work", "missed", "contacts", "overlap", "trip", "clients"].map(value),
    ["7", "1000 Hz", "12.0 / 340 us", "55.5 / 120 us", "3", "4", "1.2 mm", "1.5 ms", "2"]);
  assert.ok(facts.get("missed")!.bad && !facts.get("work")!.bad);
  assert.equal(facts.get("witnesses"), undefined);  // no pair was looked at
  const seen = new Map(factsOf(create(StatisticsSchema, { solver: { witnesses: { hits: 3n, misses: 1n, unknown: 1n } } }), NaN).map((f) => [f.name, f]));
  assert.equal(seen.get("witnesses")!.value, "75.0 %");
  assert.ok(seen.get("witnesses")!.bad && !seen.get("missed")!.bad);
  assert.equal(seen.get("events"), undefined);  // the exact stepper has not moved this world
  const told = (exact: object) => factsOf(create(StatisticsSchema, { solver: { exact } }), NaN).find((f) => f.name === "events");
  assert.deepEqual(told({ pieces: 9n, collisions: 4n, breaks: 2n, stops: 1n }), { name: "events", value: "7", bad: false });
  assert.ok(told({ pieces: 9n, exhausted: 1n })!.bad && told({ pieces: 9n, unresolved: 1n })!.bad);
  assert.equal(seen.get("trip")!.value, "- ms");
  assert.equal(seen.get("late")!.value, "- / - us");
});

test("the commander whose link is plotted is another client before this page, and one that has commanded", () => {
  const s = create(StatisticsSchema, { clients: [{ name: "me", quality: quality(0.5) }, { name: "looks on" }, { name: "new", quality: quality(1, 0n) }] });
  assert.equal(commanderOf(s, "me")?.successRate, 0.5);
  s.clients.push(create(ClientStatisticsSchema, { name: "arm", quality: quality(0.9) }));
  assert.equal(commanderOf(s, "me")?.successRate, 0.9);
  assert.equal(commanderOf(null, "me"), undefined);
});

test("a state's numbers go to plots that exist, a value a line, overlap in mm", () => {
  const rows = plotted(create(StatePacketSchema, { wakeLateUs: 3, workUs: 40, penetrationMaxM: 0.002, kineticEnergyJ: 1.5, contacts: 9, contactsDropped: 1 }));
  assert.deepEqual(Object.fromEntries(rows), { beat: [3, 40], penetration: [2], energy: [1.5], contacts: [9, 1] });
  for (const [key, values] of rows) assert.equal(PLOTS.find((p) => p.key === key)?.lines.length, values.length, key);
});

test("who holds what: the world apart, bodies and joints by their names, oneself by that word", () => {
  const leases = [{ channel: "body/ball/wrench", client: "arm" }, { channel: "world", client: "me" }, { channel: "joint/arm/elbow", client: "me" }];
  assert.deepEqual(holdersOf(leases, "me"), { world: "this viewer", rest: [{ what: "ball", who: "arm" }, { what: "arm/elbow", who: "this viewer" }] });
  assert.deepEqual(holdersOf([], "me"), { world: "nobody", rest: [] });
  assert.deepEqual(heldWords([{ what: "ball", who: "arm" }]), ["ball held by arm"]);
  const many = heldWords(Array.from({ length: 40 }, (_, i) => ({ what: `b${i}`, who: "x" })));
  assert.equal(many.length, 7);
  assert.equal(many.at(-1), "and 34 more");
});

test("the bar's words: connection with its reason, real-time factor with its look, time", () => {
  assert.equal(connectionWords("open", "a reason of before"), "connected");
  assert.equal(connectionWords("open", "", "control"), "connected");
  assert.match(connectionWords("open", "", "observe"), /looks on only/);
  assert.equal(connectionWords("refused", "wrong token"), "refused: wrong token");
  assert.deepEqual([1, 0.98, 0.5].map(factorWords), [{ words: "1.00x", look: "" }, { words: "0.98x", look: "warn" }, { words: "0.50x", look: "bad" }]);
  assert.deepEqual([0, 999.994, 1000.4].map(timeWords), ["0.00 s", "999.99 s", "1000 s"]);
});

test("a client that looks on, one that commands, one whose cycles are judged", () => {
  const c = create(ClientStatisticsSchema, { name: "a" });
  assert.equal(clientWords(c), "looks on");
  Object.assign(c, { commandsReceived: 5n, commandsApplied: 3n, commandsRefused: 2n });
  assert.equal(clientWords(c), "3 applied, 2 refused");
  c.quality = quality(0.987);
  assert.equal(clientWords(c), "3 applied, 2 refused; 99 % good cycles");
});

test("keys are the page's but in fields, with the browser's modifiers, and space on a button", () => {
  const press = (key: string, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });
  assert.ok(isPageKey(press(" "), "BODY", false) && isPageKey(press("r"), "BUTTON", false) && isPageKey(press("."), "INPUT", true));
  assert.ok(!isPageKey(press(" "), "BUTTON", false) && !isPageKey(press("r"), "INPUT", false) && !isPageKey(press("r"), "SELECT", false));
  for (const key of ["ctrlKey", "metaKey", "altKey"]) assert.ok(!isPageKey(press("r", { [key]: true }), "BODY", false), key);
});
