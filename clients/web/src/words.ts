// What the bar says, apart from where it says it.
import type { ClientStatistics } from "../generated/control_pb";
import type { Phase } from "./seam";

const PHASE_WORDS = { connecting: "connecting", token: "token needed", open: "connected", lost: "connection lost, trying again", refused: "refused" };
const HELD_ROWS = 6;

/** Why a page that may only look on takes no wish to drive. */
export const LOOKS_ON = "this page may only look on (role \"observe\"); to drive, load it anew with a token that may";

export function connectionWords(phase: Phase, why: string, role = ""): string {
  if (phase === "open" && role === "observe") return "connected, looks on only";
  return why && phase !== "open" ? `${PHASE_WORDS[phase]}: ${why}` : PHASE_WORDS[phase];
}

/** Simulated over real time: whether the loop holds. */
export function factorWords(factor: number): { words: string; look: "" | "warn" | "bad" } {
  return { words: `${factor.toFixed(2)}x`, look: factor < 0.9 ? "bad" : factor < 0.99 ? "warn" : "" };
}

export function timeWords(time_s: number): string { return time_s < 1000 ? `${time_s.toFixed(2)} s` : `${time_s.toFixed(0)} s`; }

/** What became of a client's commands, and how well its link keeps up. */
export function clientWords(c: ClientStatistics): string {
  const commands = c.commandsReceived > 0n ? `${c.commandsApplied} applied, ${c.commandsRefused} refused` : "looks on";
  return c.quality && c.quality.cycles > 0n ? `${commands}; ${(100 * c.quality.successRate).toFixed(0)} % good cycles` : commands;
}

/** A line for each body or joint that somebody drives; of many the first, and how many more. */
export function heldWords(held: { what: string; who: string }[]): string[] {
  const rows = held.slice(0, HELD_ROWS).map(({ what, who }) => `${what} held by ${who}`);
  return held.length > HELD_ROWS ? [...rows, `and ${held.length - HELD_ROWS} more`] : rows;
}

export interface Pressed { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean }

/** A key is the page's: not of a field that is typed into, nor the browser's own; a slider moves by some, a button is pressed by space. */
export function isPageKey(event: Pressed, tag: string, isSlider: boolean): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || (["INPUT", "SELECT", "TEXTAREA"].includes(tag) && !isSlider)) return false;
  return !(event.key === " " && tag === "BUTTON");
}
