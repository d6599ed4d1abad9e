// Words and numbers that a state or the statistics put on the page.
import { Event_Kind, type Event, type Histogram, type LeaseList_Entry, type LinkQuality, type Statistics } from "../generated/control_pb";
import { StatusBit, type StatePacket } from "../generated/realtime_pb";
import type { Kind } from "./seam";
import { shown } from "./series";

const MARKS: [number, string, boolean][] = [
  [StatusBit.STATUS_PAUSED, "paused", false], [StatusBit.STATUS_LOCKSTEP, "lockstep", false], [StatusBit.STATUS_CONTACTS_DROPPED, "contacts dropped", true],
  [StatusBit.STATUS_UNCONVERGED, "solver not converged", false], [StatusBit.STATUS_BODY_FROZEN, "body frozen", true], [StatusBit.STATUS_SPEED_CUT, "speed cut", true],
  [StatusBit.STATUS_COMMANDS_DROPPED, "commands dropped", true], [StatusBit.STATUS_FAULT, "FAULT", true],
  [StatusBit.STATUS_EXTRAPOLATED, "between solver steps", false], [StatusBit.STATUS_SOLVE_LATE, "solver late", true],
  [StatusBit.STATUS_EXACT_UNRESOLVED, "collision time not found", true], [StatusBit.STATUS_EXACT_EXHAUSTED, "exact step cut short", true],
  [StatusBit.STATUS_RECORD_LOST, "recorder behind", true], [StatusBit.STATUS_RECORD_FAILED, "recording failed", true],
  [StatusBit.STATUS_ROBOT_FAULT, "robot fault", true],
];

/** What the status bits say. */
export function marksOf(bits: number): { text: string; bad: boolean }[] {
  return MARKS.filter(([bit]) => (bits & bit) !== 0).map(([, text, bad]) => ({ text, bad }));
}

/** What an event that the user must know of says. */
export function eventWords(event: Event): { text: string; kind: Kind } | null {
  switch (event.kind) {
    case Event_Kind.BODY_FROZEN: return { text: `body ${event.text} became non-finite and stands at its last good pose`, kind: "error" };
    case Event_Kind.ROBOT_FAULT: return { text: `robot fault: ${event.text}`, kind: "error" };
    case Event_Kind.RECORD_LOST: return { text: `the recording has gaps: ${event.text}`, kind: "error" };
    case Event_Kind.RECORD_FAILED: return { text: `the recording has ended: ${event.text}`, kind: "error" };
    case Event_Kind.SERVER_STOPPING: return { text: `the server stops: ${event.text}`, kind: "info" };
    default: return null;
  }
}

/** Who holds the world, and what else is held: bodies and joints by their names, with who holds them. */
export function holdersOf(entries: Pick<LeaseList_Entry, "channel" | "client">[], self: string): { world: string; rest: { what: string; who: string }[] } {
  const who = (client: string) => (client === self ? "this viewer" : client);
  const world = entries.find((entry) => entry.channel === "world");
  const rest = entries.filter((entry) => entry.channel !== "world").map((entry) => ({
    what: entry.channel.replace(/^(body|joint|tool)\//, "").replace(/\/wrench$/, ""), who: who(entry.client) }));
  return { world: world ? who(world.client) : "nobody", rest };
}

/** The link of whoever commands, other clients first. */
export function commanderOf(statistics: Statistics | null, self: string): LinkQuality | undefined {
  const all = (statistics?.clients ?? []).filter((c) => c.quality && c.quality.cycles > 0n);
  return (all.find((c) => c.name !== self) ?? all[0])?.quality;
}

/** The essentials at one glance; medians and 99th percentiles of the last second. */
export function factsOf(s: Statistics, roundTrip_ms: number): { name: string; value: string; bad: boolean }[] {
  const us = (h: Histogram | undefined) => `${shown(h?.p50 ?? NaN)} / ${shown(h?.p99 ?? NaN)}`;
  const fact = (name: string, value: string, bad = false) => ({ name, value, bad });
  const w = s.solver?.witnesses, pairs = Number((w?.hits ?? 0n) + (w?.misses ?? 0n)), unknown = w?.unknown ?? 0n;
  // How many pairs kept what decided them in the step before; bad where the contact of a smooth pair was not found at all.
  const witnesses = pairs > 0 ? [fact("witnesses", `${(100 * Number(w?.hits ?? 0n) / pairs).toFixed(1)} %`, unknown > 0n)] : [];
  const e = s.solver?.exact;  // discontinuities that the exact stepper found in time; bad where a step did not do what was asked
  const exact = e && e.pieces > 0n ? [fact("events", String(e.collisions + e.breaks + e.stops), e.unresolved + e.exhausted > 0n)] : [];
  return [fact("bodies", String(s.bodies)), fact("rate", `${s.rateHz.toFixed(0)} Hz`), fact("late", `${us(s.wakeLateUs)} us`),
    fact("work", `${us(s.workUs)} us`), fact("missed", String(s.ticksMissed), s.ticksMissed > 0n), fact("contacts", s.contactsMean.toFixed(0)),
    fact("overlap", `${shown(1e3 * s.penetrationMaxM)} mm`), fact("trip", `${shown(roundTrip_ms)} ms`), fact("clients", String(s.clients.length)), ...witnesses, ...exact];
}

/** Columns of the plots that come with each state. */
export function plotted(packet: StatePacket): [string, number[]][] {
  return [["beat", [packet.wakeLateUs, packet.workUs]], ["penetration", [1e3 * packet.penetrationMaxM]], ["energy", [packet.kineticEnergyJ]],
    ["contacts", [packet.contacts, packet.contactsDropped]]];
}
