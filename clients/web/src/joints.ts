// Drives joints of robots: a slider each, a lease `joint/R/J` for each that was touched, a command with every state, verdicts as any
// client has them. Joints that nobody touches are left to the scene, or to whoever holds them.
import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { JointDescription, RobotDescription } from "../generated/control_pb";
import { CommandPacketSchema, JointBit, JointMode, type StatePacket } from "../generated/realtime_pb";
import type { Connection } from "./connection";
import { Lease } from "./leases";
import { JOINT_STEPS, type JointRow, type Kind, type RobotRows } from "./seam";
import { verdictWords } from "./verdicts";

const DEADLINE_US = 120_000, ROW = 4;  // q, dq, effort, external effort
export const MODES: { mode: JointMode; name: string }[] = [
  { mode: JointMode.JOINT_POSITION, name: "position" }, { mode: JointMode.JOINT_VELOCITY, name: "velocity" }, { mode: JointMode.JOINT_EFFORT, name: "effort" },
];
const ACTS: [number, string, boolean][] = [
  [JointBit.JOINT_FAULT, "fault", true], [JointBit.JOINT_VELOCITY_LIMITED, "rate limit", true], [JointBit.JOINT_EFFORT_LIMITED, "effort limit", true],
  [JointBit.JOINT_RATE_LIMITED, "effort's rate limit", true], [JointBit.JOINT_SAFE, "safe state", false], [JointBit.JOINT_EXTRAPOLATED, "extrapolated", false],
];

export function isLinear(joint: JointDescription): boolean { return joint.kind === "prismatic"; }

/** What a joint can be told: a position needs the drive's kp, a rate its kd. The first is the one to begin with. */
export function modesOf(joint: JointDescription): JointMode[] {
  const modes = [JointMode.JOINT_EFFORT];
  if (joint.driveDamping > 0) modes.unshift(JointMode.JOINT_VELOCITY);
  if (joint.stiffness > 0) modes.unshift(JointMode.JOINT_POSITION);
  return modes;
}

/** Ends of a slider: the joint's limits, where it has some. */
export function rangeOf(joint: JointDescription, mode: JointMode): [number, number] {
  const most = (limit: number, otherwise: number): [number, number] => (Number.isFinite(limit) && limit > 0 ? [-limit, limit] : [-otherwise, otherwise]);
  if (mode === JointMode.JOINT_EFFORT) return most(joint.effortLimit, 20);
  if (mode === JointMode.JOINT_VELOCITY) return most(joint.velocityLimit, isLinear(joint) ? 1 : Math.PI);
  if (Number.isFinite(joint.lower) && Number.isFinite(joint.upper) && joint.lower < joint.upper) return [joint.lower, joint.upper];
  return isLinear(joint) ? [-1, 1] : [-Math.PI, Math.PI];
}

/** Which of its numbers in the state a target of this mode answers to. */
export function columnOf(mode: JointMode): number { return mode === JointMode.JOINT_POSITION ? 0 : mode === JointMode.JOINT_VELOCITY ? 1 : 2; }

export function unitOf(joint: JointDescription, mode: JointMode): string {
  const units = isLinear(joint) ? ["m", "m/s", "N"] : ["rad", "rad/s", "N m"];
  return units[columnOf(mode)];
}

function fixed(x: number): string { return (Math.abs(x) < 5e-4 ? 0 : x).toFixed(3); }

export interface Target { id: number; mode: JointMode; value: number }

export function commandOf(sceneEpoch: number, targets: readonly Target[], send_ns: bigint): MessageInitShape<typeof CommandPacketSchema> {
  return { sceneEpoch, deadlineUs: DEADLINE_US, clientSendNs: send_ns, jointId: targets.map((t) => t.id), jointMode: targets.map((t) => t.mode),
    jointValue: targets.map((t) => t.value) };
}

class Row implements Target {
  readonly id: number;
  mode: JointMode;
  value = 0;
  lease: Lease | null = null;
  private readonly last = [0, 0, 0, 0];
  private bits = 0;

  constructor(readonly joint: JointDescription) {
    this.id = joint.id;
    this.mode = modesOf(joint)[0];
  }

  /** The user moved the slider, to one of its steps. */
  slide(step: number): void {
    const [low, high] = rangeOf(this.joint, this.mode);
    this.value = low + ((high - low) * step) / JOINT_STEPS;
  }

  choose(mode: JointMode): void {
    this.mode = mode;
    this.value = this.last[columnOf(mode)];  // goes on as it is
  }

  /** The joint's row of a state. */
  state(values: ArrayLike<number>, at: number, bits: number): void {
    for (let i = 0; i < ROW; ++i) this.last[i] = values[at + i];
    this.bits = bits;
  }

  shown(): JointRow {
    const is = this.last[columnOf(this.mode)], unit = unitOf(this.joint, this.mode), [low, high] = rangeOf(this.joint, this.mode);
    const found = ACTS.filter(([bit]) => (this.bits & bit) !== 0);
    return { words: this.lease ? `${fixed(is)} \u2192 ${fixed(this.value)} ${unit}` : `${fixed(is)} ${unit}`,
      step: this.lease ? -1 : Math.round((JOINT_STEPS * (is - low)) / (high - low)), acts: found.map(([, name]) => name).join(", "),
      bad: found.some(([, , bad]) => bad), held: this.lease !== null };
  }
}

export interface JointsHost {
  readonly connection: Connection;
  epoch(): number;
  say(text: string, kind: Kind): void;
  /** Of rows that are held, or not any more: at once, for the user waits for it. */
  changed(): void;
}

export class Joints {
  sent = 0;
  verdict = "";
  private rows: Row[] = [];
  private readonly rowOf = new Map<number, Row>();
  private readonly targets: Target[] = [];  // of the rows that are held now
  private readonly sequences: number[] = [];  // of the newest commands
  constructor(private readonly host: JointsHost) {}

  get held(): number { return this.rows.filter((row) => row.lease?.held).length; }

  /** What there is to drive. */
  build(robots: readonly RobotDescription[]): RobotRows[] {
    this.lost();
    this.rows = [];
    this.rowOf.clear();
    return robots.map((robot) => ({ name: robot.name, joints: robot.joints.filter((joint) => joint.commanded).map((joint) => this.row(joint)) }))
      .filter(({ joints }) => joints.length > 0);
  }

  private row(joint: JointDescription): RobotRows["joints"][number] {
    const row = new Row(joint), modes = modesOf(joint);
    this.rows.push(row);
    this.rowOf.set(joint.id, row);
    return { id: joint.id, name: joint.name, modes: MODES.filter((m) => modes.includes(m.mode)) };
  }

  slide(id: number, step: number): void {
    const row = this.rowOf.get(id);
    if (!row) return;
    row.slide(step);
    void this.take(row);
  }

  choose(id: number, mode: JointMode): void { this.rowOf.get(id)?.choose(mode); }

  letGo(id: number): void {
    const row = this.rowOf.get(id);
    if (row) this.release(row);
  }

  recover(robot: string): void {
    this.host.connection.request({ case: "recoverFault", value: { robot } })
      .then(() => this.host.say(`${robot} takes commands again`, "info"), (error: Error) => this.host.say(error.message, "error"));
  }

  shown(): JointRow[] { return this.rows.map((row) => row.shown()); }
  words(): string { return this.targets.length === 0 ? "Touch a slider to drive its joint." : `${this.targets.length} driven: ${this.verdict || "no verdict yet"}`; }

  private async take(row: Row): Promise<void> {
    if (row.lease) return;
    const lease: Lease = new Lease(this.host.connection, [`joint/${row.joint.name}`], () => {
      if (!lease.held && row.lease === lease) this.forget(row);
      else this.host.changed();
    });
    row.lease = lease;
    try {
      await lease.take(Infinity);  // until it is released
      if (row.lease !== lease) void lease.release();  // let go meanwhile
    } catch (error) {
      this.host.say(`cannot drive ${row.joint.name}: ${(error as Error).message}`, "error");
      if (row.lease === lease) this.forget(row);
    }
  }

  private release(row: Row): void {
    const lease = row.lease;
    if (lease?.held) this.command([{ id: row.id, mode: JointMode.JOINT_RELEASE, value: 0 }]);
    this.forget(row);
    void lease?.release();
  }

  private forget(row: Row): void {
    row.lease = null;
    this.host.changed();
  }

  /** Answers a state with the targets of all joints that are held. */
  onState(packet: StatePacket): void {
    if (this.rows.length === 0) return;
    this.targets.length = 0;
    for (const row of this.rows) {
      row.lease?.tend();
      if (row.lease?.held) this.targets.push(row);
    }
    if (this.targets.length > 0) this.command(this.targets);
    this.takeVerdicts(packet);
    for (let i = 0; i < packet.jointId.length; ++i) this.rowOf.get(packet.jointId[i])?.state(packet.jointF, ROW * i, packet.jointBits[i] ?? 0);
  }

  private command(targets: readonly Target[]): void {
    const init = commandOf(this.host.epoch(), targets, BigInt(Math.round(performance.now() * 1e6)));
    const sequence = this.host.connection.command(toBinary(CommandPacketSchema, create(CommandPacketSchema, init)));
    if (sequence === 0) return;
    ++this.sent;
    this.sequences.push(sequence);
    if (this.sequences.length > 64) this.sequences.shift();
  }

  private takeVerdicts(packet: StatePacket): void {
    for (let i = 0; i < packet.verdictSequence.length; ++i) {
      if (!this.sequences.includes(Number(packet.verdictSequence[i]))) continue;
      this.verdict = verdictWords(packet.verdictCode[i]);
      return;
    }
  }

  /** A lease was lost by word of the server. True when it was one of these. */
  lostChannel(channel: string): boolean {
    const row = this.rows.find((r) => channel === `joint/${r.joint.name}` && r.lease);
    row?.lease?.lost();
    return row !== undefined;
  }

  /** Forgets without talking to the server: the connection or the scene is gone. */
  lost(): void {
    for (const row of this.rows) {
      row.lease?.lost();
      this.forget(row);  // one that was still being asked for
    }
    this.verdict = "";
  }
}
