// Grab a body and pull it, or turn it: a lease of its wrench, commands with a deadline, the same verdicts as any client.
import { create, toBinary } from "@bufbuild/protobuf";
import * as THREE from "three";
import { CommandPacketSchema, type StatePacket } from "../generated/realtime_pb";
import type { Connection } from "./connection";
import { Lease } from "./leases";
import type { Scene } from "./scene";
import { springForce, turnTorque, type Grabbed, type Vec } from "./spring";
import type { Stage } from "./stage";
import { Tool } from "./tool";

const DEADLINE_US = 120_000;
const STREAM_HZ = 125;

export interface PushHost {
  readonly connection: Connection;
  readonly stage: Stage;
  scene(): Scene | null;
  step_s(): number;
  say(text: string, kind: "info" | "error"): void;
  changed(): void;
}

export class Push {
  body = -1;                    // row of the scene; -1: nothing grabbed
  turning = false;
  gain = 1;
  sent = 0;
  force: Vec = [0, 0, 0];
  readonly tool = new Tool();
  lease: Lease | null = null;
  private subscription = 0;
  private readonly p_BP = new THREE.Vector3();
  private readonly target_W = new THREE.Vector3();
  private readonly plane = new THREE.Plane();
  private readonly start = { x: 0, y: 0 };
  private readonly now = { x: 0, y: 0 };
  private velocity: { v: Vec; w: Vec } = { v: [0, 0, 0], w: [0, 0, 0] };

  constructor(private readonly host: PushHost) {}

  /** What is under the mouse, if it can be pushed. */
  hit(x: number, y: number): { row: number; p_W: THREE.Vector3 } | null {
    const scene = this.host.scene();
    if (!scene) return null;
    for (const found of this.host.stage.ray(x, y).intersectObjects(scene.batches.map((b) => b.mesh), false)) {
      const batch = scene.batches.find((b) => b.mesh === found.object);
      const part = batch?.parts[found.instanceId ?? 0];
      if (!part) continue;
      const mode = scene.bodies[part.body].mode;
      return mode === "free" || mode === "link" ? { row: part.body, p_W: found.point } : null;
    }
    return null;
  }

  /** Takes the lease and begins; false when nothing that can be pushed is there. */
  grab(x: number, y: number, turning: boolean): boolean {
    const found = this.hit(x, y), scene = this.host.scene();
    if (!found || !scene || this.host.connection.phase !== "open") return false;
    this.body = found.row;
    this.turning = turning;
    this.sent = 0;
    this.p_BP.copy(found.p_W).applyMatrix4(scene.X_WB[found.row].clone().invert());
    this.target_W.copy(found.p_W);
    const towards = this.host.stage.camera.getWorldDirection(new THREE.Vector3());
    this.plane.setFromNormalAndCoplanarPoint(towards, found.p_W);
    Object.assign(this.start, { x, y });
    Object.assign(this.now, { x, y });
    this.velocity = { v: [0, 0, 0], w: [0, 0, 0] };
    void this.begin(scene, found.row);
    return true;
  }

  private async begin(scene: Scene, row: number): Promise<void> {
    const name = scene.names[row];
    this.lease = new Lease(this.host.connection, [`body/${name}/wrench`], () => this.host.changed());
    const lease = this.lease;
    try {
      await lease.take(60_000);
      const decimation = Math.max(1, Math.round(1 / STREAM_HZ / this.host.step_s()));
      const body = await this.host.connection.request({ case: "subscribe", value: { bodies: [name], velocity: true, singlePrecision: true, decimation } });
      if (body.case === "subscription") this.subscription = body.value.id;
      if (this.lease !== lease) void this.end(lease);  // let go meanwhile
    } catch (error) {
      this.host.say(`cannot push ${name}: ${(error as Error).message}`, "error");
      if (this.lease === lease) this.drop();
      void lease.release();
    }
  }

  move(x: number, y: number): void {
    if (this.body < 0) return;
    Object.assign(this.now, { x, y });
    if (!this.turning) this.host.stage.ray(x, y).ray.intersectPlane(this.plane, this.target_W);
    this.host.stage.dirty = true;
  }

  /** A state of the grabbed body's own stream: answers with a command. True when it was one. */
  onState(packet: StatePacket): boolean {
    if (this.subscription === 0 || packet.subscription !== this.subscription) return false;
    const scene = this.host.scene();
    if (this.body < 0 || !scene || packet.sceneEpoch !== scene.description.sceneEpoch) return true;
    const v = packet.velocityF;
    if (v.length >= 6) this.velocity = { v: [v[0], v[1], v[2]], w: [v[3], v[4], v[5]] };
    scene.setPoses(packet.bodyId, packet.poseF);
    this.lease?.tend();
    if (this.lease?.held) this.command(scene);
    return true;
  }

  private command(scene: Scene): void {
    const description = scene.bodies[this.body];
    const limit = (x: number) => (x > 0 ? x : Infinity);
    const grabbed: Grabbed = { mass_kg: Math.max(description.massKg, 1e-3), force_limit_n: limit(description.forceLimitN),
      torque_limit_n_m: limit(description.torqueLimitNM) };
    const p_WP = this.p_BP.clone().applyMatrix4(scene.X_WB[this.body]);
    let force: Vec = [0, 0, 0], torque: Vec = [0, 0, 0];
    if (this.turning) {
      const e = this.host.stage.camera.matrixWorld.elements, h = Math.max(1, this.host.stage.surface.clientHeight);
      const size = this.p_BP.length();
      torque = turnTorque(grabbed, size, (this.now.x - this.start.x) / h, (this.start.y - this.now.y) / h, [e[0], e[1], e[2]], [e[4], e[5], e[6]], this.gain);
    } else {
      const r = p_WP.clone().sub(new THREE.Vector3().setFromMatrixPosition(scene.X_WB[this.body]));
      const w = new THREE.Vector3(...this.velocity.w), v = new THREE.Vector3(...this.velocity.v).add(w.cross(r));
      force = springForce(grabbed, p_WP.toArray() as Vec, v.toArray() as Vec, this.target_W.toArray() as Vec, this.gain);
    }
    this.force = this.turning ? torque : force;
    this.tool.set(p_WP, this.turning ? p_WP : this.target_W, force);
    const packet = create(CommandPacketSchema, {
      sceneEpoch: scene.description.sceneEpoch, deadlineUs: DEADLINE_US, clientSendNs: BigInt(Math.round(performance.now() * 1e6)),
      bodyId: [description.id], wrench: [...force, ...torque], frame: [0], point: this.turning ? [] : this.p_BP.toArray(),
    });
    this.host.connection.command(toBinary(CommandPacketSchema, packet));
    ++this.sent;
  }

  release(): void {
    const lease = this.lease;
    this.drop();
    if (lease) void this.end(lease);
  }

  private async end(lease: Lease): Promise<void> {
    const id = this.subscription;
    this.subscription = 0;
    if (id !== 0) await this.host.connection.request({ case: "unsubscribe", value: { id } }).catch(() => undefined);
    await lease.release();  // its channel ramps to zero
  }

  /** Forgets without talking to the server: the connection, the lease or the scene is gone. */
  lost(): void {
    this.lease?.lost();
    this.subscription = 0;
    this.drop();
  }

  private drop(): void {
    this.body = -1;
    this.lease = null;
    this.tool.hide();
    this.host.stage.dirty = true;
    this.host.changed();
  }
}
