// What haptic devices hold: their tools and the coupling in the scene, force, ledger and link in the plots, and their state in words.
import * as THREE from "three";
import { DeviceBit, ToolBit, ToolMode, type ToolPacket } from "../generated/haptic_pb";
import { shown } from "./series";
import { Tool } from "./tool";

const FORGET_MS = 1000;  // a tool that is not heard of for so long is not held any more

const TOOL_WORDS: [number, string][] = [[ToolBit.TOOL_LOST, "let go by the watchdog"], [ToolBit.TOOL_RAMP_IN, "ramping in"],
  [ToolBit.TOOL_RAMP_OUT, "ramping out"], [ToolBit.TOOL_FORCE_LIMITED, "force limited"], [ToolBit.TOOL_SPEED_LIMITED, "speed limited"],
  [ToolBit.TOOL_SWEPT, "swept"], [ToolBit.TOOL_GAINS_LIMITED, "gains limited by the body"], [ToolBit.TOOL_GATE_ACTED, "passivity gate at the server"],
  [ToolBit.TOOL_SLOW, "slow model"],
  [ToolBit.TOOL_DOUBTED, "its word on the force is doubted"]];
const DEVICE_WORDS: [number, string][] = [[DeviceBit.DEVICE_LINK_LOST, "device lost the link"], [DeviceBit.DEVICE_FAULT, "device fault"],
  [DeviceBit.DEVICE_SLEW_LIMITED, "slew limited"], [DeviceBit.DEVICE_GATE_ACTED, "passivity gate"], [DeviceBit.DEVICE_CLUTCHED, "clutched"],
  [DeviceBit.DEVICE_STALLED, "device stalled"]];

/** Length of three components of a column, 0 where it has none. */
const length = (column: readonly number[], first = 0) => (column.length < first + 3 ? 0 : Math.hypot(column[first], column[first + 1], column[first + 2]));

/** What a device and its tool do now. */
export function deviceWords(p: ToolPacket): string[] {
  const said = [...TOOL_WORDS.filter(([bit]) => (p.bits & bit) !== 0), ...DEVICE_WORDS.filter(([bit]) => (p.deviceBits & bit) !== 0)];
  return [(p.bits & ToolBit.TOOL_ENGAGED) !== 0 ? "engaged" : "not engaged", ...said.map(([, text]) => text)];
}

/** One line for people. */
export function deviceLine(p: ToolPacket, name: string): string {
  const mode = p.mode === ToolMode.TOOL_WAVE ? "wave" : p.mode === ToolMode.TOOL_DIRECT ? "direct" : "local";
  const saved = (seen: bigint, sent: bigint) => (seen > 0n ? `${shown(100 * (1 - Number(sent) / Number(seen)))} %` : "");
  const band = p.bandSeen > 0n ? `; deadband saves ${saved(p.deviceBandSeen, p.deviceBandSent)} up, ${saved(p.bandSeen, p.bandSent)} down` : "";
  return `${name} (${mode}): hand ${shown(length(p.deviceWrench))} N, tool ${shown(length(p.wrench))} N; ledger ${shown(1e3 * p.givenJ)} mJ out, ` +
    `${shown(1e3 * p.takenJ)} mJ in; age ${p.ageTicks} ticks${band}; ${deviceWords(p).join(", ")}`;
}

/** Columns of the plots. */
export function devicePlots(p: ToolPacket, step_s: number): [string, number[]][] {
  return [["device", [length(p.deviceWrench), length(p.wrench)]], ["ledger", [1e3 * (p.givenJ - p.takenJ), 1e3 * p.storedJ]],
    ["device-link", [1e3 * p.roundTripS, 1e3 * step_s * p.ageTicks]]];
}

interface Held { view: Tool; arrow: THREE.ArrowHelper; packet: ToolPacket; at_ms: number }

export class Devices {
  readonly group = new THREE.Group();
  size_m = 0.03;
  drawn = 0;  // tools that are shown
  words = "";  // of them, a line each
  private readonly held = new Map<number, Held>();

  take(packet: ToolPacket, now_ms: number): void {
    if (packet.pose.length !== 7 || packet.wrench.length !== 6) return;
    let held = this.held.get(packet.tool);
    if (!held) {
      const arrow = new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), new THREE.Vector3(), 1, 0xf5b301);
      held = { view: new Tool(), arrow, packet, at_ms: now_ms };
      this.group.add(held.view.group, arrow);
      this.held.set(packet.tool, held);
    }
    held.packet = packet;
    held.at_ms = now_ms;
  }

  /** Draws the newest; says it in words. name: of a body's id. The plots get the first tool. */
  show(now_ms: number, time_s: number, step_s: number, name: (id: number) => string, plots: { add(key: string, time_s: number, values: readonly number[]): void } | null, mouse = ""): void {
    const lines: string[] = [];
    for (const [tool, held] of [...this.held].sort(([a], [b]) => a - b)) {
      if (now_ms - held.at_ms > FORGET_MS) {
        this.group.remove(held.view.group, held.arrow);
        this.held.delete(tool);
        continue;
      }
      this.place(held);
      if (lines.length === 0 && plots) for (const [key, values] of devicePlots(held.packet, step_s)) plots.add(key, time_s, values);
      lines.push(deviceLine(held.packet, name(held.packet.bodyId)));
    }
    this.drawn = lines.length;
    if (mouse) lines.push(mouse);
    this.words = lines.join("\n");
  }

  private place({ view, arrow, packet }: Held): void {
    const at = new THREE.Vector3(...packet.pose.slice(0, 3) as [number, number, number]);
    const engaged = (packet.bits & (ToolBit.TOOL_ENGAGED | ToolBit.TOOL_RAMP_OUT)) !== 0 && packet.devicePose.length === 7;
    const hand = engaged ? new THREE.Vector3(...packet.devicePose.slice(0, 3) as [number, number, number]) : at;
    const force = new THREE.Vector3(...packet.wrench.slice(0, 3) as [number, number, number]), newtons = force.length();
    view.size_m = this.size_m;
    view.set(at, hand, force.toArray());
    arrow.visible = newtons > 1e-3;
    if (!arrow.visible) return;
    arrow.position.copy(at);
    arrow.setDirection(force.divideScalar(newtons));
    arrow.setLength(this.size_m * (1 + Math.min(20, newtons)), this.size_m, 0.6 * this.size_m);
  }

  clear(): void {
    for (const held of this.held.values()) this.group.remove(held.view.group, held.arrow);
    this.held.clear();
    this.drawn = 0;
    this.words = "";
  }
}
