// The states that this page asks for: fixed bodies once, what moves as often as there can be a picture of it, contacts as the budget allows.
import type { SceneDescription } from "../generated/control_pb";
import type { StatePacket } from "../generated/realtime_pb";
import type { Connection } from "./connection";
import { contactsEvery } from "./thinning";

export class Stream {
  private id = 0;
  private stillId = 0;
  private every = 1;
  private thinning = false;

  constructor(private readonly connection: Connection, readonly hz: number) {}

  /** The connection went, and its subscriptions with it. */
  lost(): void { this.id = 0; }

  /** Before the first state of a scene: how many contacts there will be is a guess, until states tell. */
  guess(description: SceneDescription): void {
    const moving = description.bodies.filter((b) => b.mode !== "fixed").length;
    this.every = contactsEvery(moving, 4 * moving, this.hz);
  }

  async subscribe(description: SceneDescription): Promise<void> {
    const decimation = Math.max(1, Math.round(1 / this.hz / description.stepS));
    const fixed = description.bodies.filter((b) => b.mode === "fixed").map((b) => b.name);
    const still = fixed.length === 0 ? null : await this.connection.request({ case: "subscribe", value: { bodies: fixed, singlePrecision: true } });
    this.stillId = still?.case === "subscription" ? still.value.id : 0;
    const joints = description.robots.length > 0 ? ["*"] : [];
    const value = { bodies: ["*"], joints, singlePrecision: true, contacts: true, tools: true, decimation, contactsEvery: this.every };
    const body = await this.connection.request({ case: "subscribe", value });
    if (body.case === "subscription") this.id = body.value.id;
  }

  isMine(packet: StatePacket): boolean { return packet.subscription === this.id; }

  /** A state of the fixed bodies: there need be no other. */
  isStill(packet: StatePacket): boolean {
    if (this.stillId === 0 || packet.subscription !== this.stillId) return false;
    this.stillId = 0;
    void this.connection.request({ case: "unsubscribe", value: { id: packet.subscription } }).catch(() => undefined);
    return true;
  }

  /** Many contacts come less often than poses, so that the stream stays small: asked anew as soon as there are too many (`more`), and later when far fewer. */
  async thin(description: SceneDescription, packet: StatePacket, more: boolean): Promise<void> {
    const wanted = contactsEvery(packet.bodyId.length, packet.contacts, this.hz);
    if (more ? wanted <= this.every : wanted * 1.5 > this.every) return;
    if (this.id === 0 || this.thinning) return;
    this.thinning = true;
    this.every = wanted;
    const old = this.id;
    try {
      await this.subscribe(description);
      await this.connection.request({ case: "unsubscribe", value: { id: old } });
    } catch { /* the scene or the connection went; it begins anew */ }
    this.thinning = false;
  }
}

/** Triangles of one shape, in parts. */
export async function fetchMesh(connection: Connection, sceneEpoch: number, body: number, shape: number): Promise<Float32Array> {
  const parts: number[][] = [];
  let got = 0;
  for (let total = 1; got < total;) {
    const reply = await connection.request({ case: "getMesh", value: { body, shape, sceneEpoch, first: got } });
    if (reply.case !== "mesh" || reply.value.cornerM.length === 0) break;
    total = reply.value.triangles;
    got += reply.value.cornerM.length / 9;
    parts.push(reply.value.cornerM);
  }
  const out = new Float32Array(9 * got);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
