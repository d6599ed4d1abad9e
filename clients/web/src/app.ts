// The viewer: joins the connection, the scene, the plots and the bar.
import * as THREE from "three";
import { Event_Kind, type Event, type SceneDescription, type Statistics } from "../generated/control_pb";
import type { ToolPacket } from "../generated/haptic_pb";
import { StatusBit, type StatePacket } from "../generated/realtime_pb";
import { Bar } from "./bar";
import { Connection, type Phase, type Socket } from "./connection";
import { Devices } from "./devices";
import { whyNotLetIn } from "./door";
import { Contacts, FORCE_COLOUR, NORMAL_COLOUR, PHASES } from "./contacts";
import { Joints } from "./joints";
import { Lease } from "./leases";
import { Playback } from "./playback";
import { Plots } from "./plots";
import { Push } from "./push";
import { commanderOf, factsOf, marksOf, plotted } from "./readout";
import { contactsEvery } from "./thinning";
import { Scene } from "./scene";
import { shown } from "./series";
import { Stage } from "./stage";
import { Trails } from "./trails";
import { verdictWords } from "./verdicts";
import { streamHz } from "./view";

const KEEP_WORLD_MS = 4000;
function viewerName(): string { return `viewer-${Math.floor(Math.random() * 1e6).toString(36)}`; }

export class App {
  readonly stage = new Stage(document.getElementById("view") as HTMLCanvasElement);
  readonly plots = new Plots(document.getElementById("plots")!, 200, this.stage.software);
  readonly contacts = new Contacts(this.stage.software);
  readonly trails = new Trails();
  readonly devices = new Devices(document.getElementById("devices")!);
  readonly bar: Bar;
  readonly connection: Connection;
  readonly push: Push;
  readonly joints: Joints;
  readonly playback: Playback;
  current: Scene | null = null;
  newest: StatePacket | null = null;
  statistics: Statistics | null = null;
  /** For judging: frames, main-thread milliseconds of each of the last ones (messages included), pictures drawn, states and bytes received, first picture [ms]. */
  readonly measured = { frames: 0, work_ms: new Float64Array(600), pictures: 0, states: 0, stateBytes: 0, firstPicture_ms: 0, verdict: "" };
  private readonly streamHz = streamHz(this.stage.software, location.search);
  private world: Lease;
  private subscription = 0;
  private theme: "light" | "dark" = "light";
  private readonly shows = { points: true, normals: false, forces: true };
  private drewScene = false;
  private fresh = false;
  private statesSeen = 0;
  private roundTrip_ms = NaN;
  private loading = Promise.resolve();

  constructor(open: () => Socket) {
    this.connection = new Connection(open, {
      onPhase: (phase, why) => this.onPhase(phase, why), onState: (packet, bytes) => this.onState(packet, bytes), onEvent: (event) => this.onEvent(event),
      onTool: (packet) => this.onTool(packet),
    }, viewerName());
    this.world = new Lease(this.connection, ["world"], () => void this.showLeases());
    this.push = new Push({ connection: this.connection, stage: this.stage, scene: () => this.current, step_s: () => this.current?.description.stepS ?? 0.001,
      say: (text, kind) => this.bar.say(text, kind), changed: () => this.onPushChanged() });
    this.joints = new Joints({ connection: this.connection, epoch: () => this.current?.description.sceneEpoch ?? 0, say: (text, kind) => this.bar.say(text, kind) },
      document.getElementById("joint-list")!, document.getElementById("joint-verdict")!);
    this.bar = new Bar({
      pause: () => this.drive(async () => { await this.connection.request({ case: this.isPaused() ? "resume" : "pause", value: {} }); }),
      step: (ticks) => this.drive(async () => { await this.connection.request({ case: "step", value: { ticks } }); }),
      reset: () => this.drive(async () => { await this.connection.request({ case: "reset", value: {} }); }),
      scene: (name) => this.drive(async () => { await this.connection.request({ case: "loadScene", value: { name } }); }),
      model: (name) => this.drive(async () => { await this.connection.request({ case: "setModel", value: { name } }); }),
      setting: (key, value) => this.driveOrThrow(async () => { await this.connection.request({ case: "setParameter", value: { key, value } }); }),
      token: (text) => this.connection.useToken(text), key: (key, shift) => this.onKey(key, shift),
    });
    this.playback = new Playback((value) => this.driveOrThrow(async () => { await this.connection.request({ case: "setPlayback", value }); }));
    this.stage.world.add(this.contacts.group, this.trails.lines, this.push.tool.group, this.devices.group);
    this.contacts.show(true, false, true);
    this.contacts.group.visible = false;
    document.getElementById("legend")!.innerHTML = PHASES.map((p) => `<i style="background:${p.colour}"></i>${p.name}`).join("") +
      `<i class="bar" style="background:${FORCE_COLOUR}"></i>force<i class="bar" style="background:${NORMAL_COLOUR}"></i>normal (N)`;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.setTheme(dark.matches ? "dark" : "light"));
    this.setTheme(dark.matches ? "dark" : "light");
    this.listen();
  }

  start(): void {
    this.connection.start();
    requestAnimationFrame((now) => this.frame(now));
    setInterval(() => void this.everySecond(), 1000);
    setInterval(() => void this.showLeases(), 500);
  }

  isPaused(): boolean { return ((this.newest?.statusBits ?? 0) & StatusBit.STATUS_PAUSED) !== 0; }
  /** Where a body is: its origin in W, and on the canvas in CSS pixels. */
  whereIs(name: string): { p_W: number[]; x: number; y: number } | null {
    const row = this.current?.rowNamed(name) ?? -1;
    if (row < 0 || !this.current) return null;
    const p = new THREE.Vector3().setFromMatrixPosition(this.current.X_WB[row]), at = this.stage.screenOf(p);
    return { p_W: p.toArray(), x: at.x, y: at.y };
  }

  /** What a test or a curious user wants to know at one glance. */
  summary() {
    const work = this.measured.work_ms.slice(0, this.measured.frames).sort();
    const view = this.stage.canvas.getBoundingClientRect();
    return { phase: this.connection.phase, name: this.connection.name, epoch: this.current?.description.sceneEpoch ?? 0, scene: this.current?.description.name ?? "",
      bodies: this.current?.names ?? [], model: this.statistics?.model ?? "", paused: this.isPaused(), tick: Number(this.newest?.tick ?? 0n),
      factor: this.newest?.realTimeFactor ?? 0, contacts: this.contacts.count, states: this.measured.states, stateBytes: this.measured.stateBytes,
      frames: this.measured.frames, pictures: this.measured.pictures, workMsMedian: work[Math.floor(work.length / 2)] ?? 0, workMsP95: work[Math.floor(work.length * 0.95)] ?? 0,
      firstPictureMs: this.measured.firstPicture_ms, verdict: this.measured.verdict, pushing: this.push.body >= 0, sent: this.push.sent,
      holdsWorld: this.world.held, playing: this.playback.playing, position_s: this.playback.position_s, batches: this.current?.batches.length ?? 0,
      devices: this.devices.drawn, joints: this.joints.held, jointsSent: this.joints.sent, jointVerdict: this.joints.verdict, bytes: this.connection.bytesIn,
      software: this.stage.software, view: [view.left, view.top, view.width, view.height] };
  }

  // --- the server

  private onPhase(phase: Phase, why: string): void {
    this.bar.phase(phase, why);
    if (phase === "lost" && !why) void this.askAtTheDoor();
    if (phase === "open") return void (this.loading = this.loading.then(() => this.describe(true)));
    this.subscription = 0;
    this.world.lost();
    this.push.lost();
    this.joints.lost();
    this.devices.clear();
    this.playback.show(undefined);
  }

  private async askAtTheDoor(): Promise<void> {
    if (performance.now() < this.asked_ms + 2000) return;
    this.asked_ms = performance.now();
    const why = await whyNotLetIn(location.origin, (url) => fetch(url));
    if (this.connection.phase !== "open") this.bar.door(why);
  }

  private asked_ms = -Infinity;

  /** The scene as it is now, and its states. */
  private async describe(again: boolean): Promise<void> {
    try {
      const body = await this.connection.request({ case: "describeScene", value: {} });
      if (body.case !== "scene") return;
      const same = this.current?.description.sceneEpoch === body.value.sceneEpoch;
      this.bar.settings(body.value.settings);
      this.bar.models(body.value.models, body.value.model);
      if (!same) this.build(body.value);
      if (!same || again) await this.subscribe(body.value);
      const list = await this.connection.request({ case: "listScenes", value: {} });
      if (list.case === "sceneList") this.bar.scenes(list.value.scenes, list.value.current);
      if (!same) await this.everySecond();  // what kind of server it is need not wait for the clock
    } catch (error) {
      if (this.connection.phase === "open") this.bar.say(`cannot read the scene: ${(error as Error).message}`, "error");
    }
  }

  private build(description: SceneDescription): void {
    this.push.lost();
    this.current?.dispose();
    this.newest = this.marked = null;
    this.trails.clear();
    this.contacts.clear();
    this.devices.clear();
    this.bar.joints(this.joints.build(description.robots));
    this.namePlots(description);
    const moving = description.bodies.filter((b) => b.mode !== "fixed").length;
    this.contactsEvery = contactsEvery(moving, 4 * moving, this.streamHz);  // a guess, until states tell
    this.plots.clear();
    const epoch = description.sceneEpoch;
    this.current = new Scene(description, this.stage.software, (body, shape) => this.mesh(epoch, body, shape), () => this.onMesh());
    this.stage.world.add(this.current.group);
    this.stage.setTheme(this.theme, this.current);
    void this.prepare(this.current);
    document.title = `${description.name} - Tactus`;
  }

  /** A mesh has come: nobody knew its size when the scene was framed. */
  private onMesh(): void {
    if (this.current && this.newest && !this.stage.touched) this.stage.frame(this.current);
    this.stage.dirty = true;
  }

  /** First what there is to see; the marks on it can come after the first picture. */
  private async prepare(scene: Scene): Promise<void> {
    await this.stage.prepare(scene.group);
    this.canDraw = true;
    if (this.contacts.group.visible) return;
    await this.stage.prepare(this.stage.world);
    this.contacts.group.visible = true;
  }
  private canDraw = false;

  /** The first six joints have their torques plotted. */
  private namePlots(description: SceneDescription): void {
    const joints = description.robots.flatMap((robot) => robot.joints.filter((joint) => joint.dofs === 1));
    this.plots.name("joints", joints.slice(0, 6).map((joint) => joint.name.slice(joint.name.indexOf("/") + 1)));
  }

  private async mesh(sceneEpoch: number, body: number, shape: number): Promise<Float32Array> {
    const parts: number[][] = [];
    let got = 0;
    for (let total = 1; got < total;) {
      const reply = await this.connection.request({ case: "getMesh", value: { body, shape, sceneEpoch, first: got } });
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

  /** Fixed bodies once, as they never move; what moves as often as there can be a picture of it. */
  private async subscribe(description: SceneDescription): Promise<void> {
    const decimation = Math.max(1, Math.round(1 / this.streamHz / description.stepS));
    const fixed = description.bodies.filter((b) => b.mode === "fixed").map((b) => b.name);
    const still = fixed.length === 0 ? null : await this.connection.request({ case: "subscribe", value: { bodies: fixed, singlePrecision: true } });
    this.stillIds = still?.case === "subscription" ? still.value.id : 0;
    const joints = description.robots.length > 0 ? ["*"] : [];
    const value = { bodies: ["*"], joints, singlePrecision: true, contacts: true, tools: true, decimation, contactsEvery: this.contactsEvery };
    const body = await this.connection.request({ case: "subscribe", value });
    if (body.case === "subscription") this.subscription = body.value.id;
  }
  private stillIds = 0;
  private contactsEvery = 1;

  /** Many contacts come less often than poses, so that the stream stays small: asked anew as soon as there are too many, and later when far fewer. */
  private async thin(wanted: number): Promise<void> {
    const scene = this.current;
    if (!scene || this.subscription === 0 || this.thinning || (wanted <= this.contactsEvery && wanted * 1.5 > this.contactsEvery)) return;
    this.thinning = true;
    this.contactsEvery = wanted;
    const old = this.subscription;
    try {
      await this.subscribe(scene.description);
      await this.connection.request({ case: "unsubscribe", value: { id: old } });
    } catch { /* the scene or the connection went; it begins anew */ }
    this.thinning = false;
  }
  private thinning = false;
  private wantedEvery(packet: StatePacket): number { return contactsEvery(packet.bodyId.length, packet.contacts, this.streamHz); }

  private onState(packet: StatePacket, bytes: number): void {
    const scene = this.current;
    ++this.measured.states;
    this.measured.stateBytes += bytes;
    if (scene && packet.sceneEpoch === scene.description.sceneEpoch) {
      this.showVerdict(packet);
      if (this.stillIds !== 0 && packet.subscription === this.stillIds) this.takeStill(scene, packet);
      else if (!this.push.onState(packet)) this.takeState(scene, packet);
    }
  }

  private showDevices(scene: Scene, t: number, standing: boolean): void {
    const name = (id: number) => scene.bodies.find((b) => b.id === id)?.name ?? `body ${id}`;
    const pulls = this.push.body >= 0 ? `mouse on ${scene.names[this.push.body]}: ${shown(Math.hypot(...this.push.force))} ${this.push.turning ? "N m" : "N"}` : "";
    this.devices.show(performance.now(), t, scene.description.stepS, name, standing ? null : this.plots, pulls);
  }

  private onTool(packet: ToolPacket): void {
    if (packet.sceneEpoch !== this.current?.description.sceneEpoch) return;
    this.devices.take(packet, performance.now());
    this.stage.dirty = true;
  }

  private takeStill(scene: Scene, packet: StatePacket): void {
    const id = this.stillIds;
    this.stillIds = 0;
    scene.setPoses(packet.bodyId, packet.poseF);
    void this.connection.request({ case: "unsubscribe", value: { id } }).catch(() => undefined);
    this.fresh = true;
  }

  private takeState(scene: Scene, packet: StatePacket): void {
    if (packet.subscription !== this.subscription) return;
    const first = this.newest === null, last = this.newest;
    this.newest = packet;
    this.fresh = true;
    ++this.statesSeen;
    // Without rows although there are contacts: this state came without them, the last ones stay.
    if (packet.contact.length > 0 || packet.contacts === 0) this.marked = packet;
    scene.setPoses(packet.bodyId, packet.poseF);
    this.world.tend();
    this.playback.onState(packet.playTimeNs);
    this.joints.onState(packet, performance.now());
    if (this.wantedEvery(packet) > this.contactsEvery) void this.thin(this.wantedEvery(packet));
    if (first) {
      this.stage.frame(scene);
      this.contacts.size_m = Math.min(0.05, Math.max(0.004, scene.radius_m * 0.012));
      this.push.tool.size_m = this.devices.size_m = this.contacts.size_m * 1.6;
    }
    const t = packet.simTimeS;
    if (last && t < last.simTimeS) this.plots.clear();  // reset or restored: time begins anew
    this.showDevices(scene, t, last !== null && t === last.simTimeS);
    if (last && t === last.simTimeS) return;
    if (this.plots.paused) return;
    for (const [key, values] of plotted(packet)) this.plots.add(key, t, values);
    // 4 numbers a joint, the drive's effort is the third; of the first six joints.
    if (packet.jointF.length > 0) this.plots.add("joints", t, packet.jointF.filter((_, i) => i % 4 === 2).slice(0, 6));
  }

  private showVerdict(packet: StatePacket): void {
    if (packet.verdictCode.length === 0) return;
    this.measured.verdict = verdictWords(packet.verdictCode[0]);
  }

  private onEvent(event: Event): void {
    switch (event.kind) {
      case Event_Kind.SCENE_CHANGED:
        this.loading = this.loading.then(() => this.describe(true));
        break;
      case Event_Kind.MODEL_CHANGED: case Event_Kind.RESTORED:
        this.loading = this.loading.then(() => this.describe(false));
        break;
      case Event_Kind.LEASE_LOST:
        if (event.text === "world") this.world.lost();
        else if (this.joints.lostChannel(event.text)) break;
        else if (this.push.lease?.channels.includes(event.text)) {
          this.push.lost();
          this.bar.say(`the lease of ${event.text} is lost: let go and grab again`, "error");
        }
        break;
      case Event_Kind.BODY_FROZEN:
        this.bar.say(`body ${event.text} became non-finite and stands at its last good pose`, "error");
        break;
      case Event_Kind.ROBOT_FAULT:
        this.bar.say(`robot fault: ${event.text}`, "error");
        break;
      case Event_Kind.RECORD_LOST:
        this.bar.say(`the recording has gaps: ${event.text}`, "error");
        break;
      case Event_Kind.SERVER_STOPPING:
        this.bar.say(`the server stops: ${event.text}`, "info");
        break;
      default:
    }
    void this.showLeases();
  }

  private async everySecond(): Promise<void> {
    if (this.connection.phase !== "open") return;
    const begin = performance.now();
    try {
      const body = await this.connection.request({ case: "getStatistics", value: {} });
      this.roundTrip_ms = performance.now() - begin;
      if (body.case !== "statistics") return;
      this.statistics = body.value;
      this.playback.show(body.value.playback);
      this.bar.models(this.current?.description.models ?? [], body.value.model);
    } catch { return; }
    const t = this.newest?.simTimeS ?? 0;
    this.plots.add("trip", t, [this.roundTrip_ms]);
    this.plots.add("states", t, [this.statesSeen]);
    this.statesSeen = 0;
    const commander = commanderOf(this.statistics, this.connection.name);
    if (commander) this.plots.add("quality", t, [100 * commander.successRate, 100 * commander.lostUp]);
    this.bar.clients(this.statistics?.clients ?? [], this.connection.name);
    this.showStatus();
    if (this.newest && this.wantedEvery(this.newest) < this.contactsEvery) await this.thin(this.wantedEvery(this.newest));
  }

  private async showLeases(): Promise<void> {
    if (this.connection.phase !== "open") return this.bar.holder([], this.connection.name);
    const body = await this.connection.request({ case: "listLeases", value: {} }).catch(() => null);
    if (body?.case === "leases") this.bar.holder(body.value.leases, this.connection.name);
  }

  /** Does something that needs the lease of the world; says why when it cannot. */
  private drive(act: () => Promise<void>): void {
    this.driveOrThrow(act).catch(() => undefined);
  }

  private async driveOrThrow(act: () => Promise<void>): Promise<void> {
    try {
      await this.world.take(KEEP_WORLD_MS);
      await act();
    } catch (error) {
      this.bar.say((error as Error).message, "error");
      throw error;
    }
  }

  // --- the user

  private listen(): void {
    const { canvas } = this.stage;
    const at = (event: PointerEvent): [number, number] => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.push.grab(...at(event), event.shiftKey)) return;
      canvas.setPointerCapture(event.pointerId);
      this.stage.controls.enabled = false;
      canvas.className = "pulling";
    }, { capture: true });
    canvas.addEventListener("pointermove", (event) => {
      if (this.push.body >= 0) return this.push.move(...at(event));
      if (event.buttons === 0) canvas.className = this.push.hit(...at(event)) ? "over" : "";
    });
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"] as const) canvas.addEventListener(kind, () => { if (this.push.body >= 0) this.push.release(); });
  }

  private onPushChanged(): void {
    if (this.push.body < 0) {
      this.stage.controls.enabled = true;
      this.stage.canvas.className = "";
    }
    void this.showLeases();
  }

  private onKey(key: string, shift: boolean): void {
    const show = this.shows;
    switch (key) {
      case " ": return this.drive(async () => { await this.connection.request({ case: this.isPaused() ? "resume" : "pause", value: {} }); });
      case ".": case ">": return this.drive(async () => { await this.connection.request({ case: "step", value: { ticks: shift ? 10 : 1 } }); });
      case "r": return this.drive(async () => { await this.connection.request({ case: "reset", value: {} }); });
      case "arrowleft": case "arrowright": return this.playback.seek(this.playback.position_s + (key === "arrowleft" ? -1 : 1) * (shift ? 10 : 1));
      case "f": if (this.current) this.stage.frame(this.current); return;
      case "c": show.points = !show.points; break;
      case "n": show.normals = !show.normals; break;
      case "a": show.forces = !show.forces; break;
      case "j": return this.bar.toggleJoints();
      case "t": this.trails.lines.visible = !this.trails.lines.visible; this.trails.clear(); break;
      case "p": this.plots.paused = !this.plots.paused; this.bar.pressed("plots-pause", this.plots.paused); break;
      case "h": document.body.classList.toggle("no-plots"); break;
      case "l": this.setTheme(this.theme === "dark" ? "light" : "dark"); break;
      case "[": case "]":
        this.push.gain = Math.min(4, Math.max(0.125, this.push.gain * (key === "]" ? 2 : 0.5)));
        return this.bar.say(`mouse spring: ${this.push.gain} times`, "info");
      default: return;
    }
    this.contacts.show(show.points, show.normals, show.forces);
    this.stage.dirty = true;
  }

  private setTheme(theme: "light" | "dark"): void {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.stage.setTheme(theme, this.current);
    this.plots.setTheme();
  }

  // --- the picture

  private frame(now_ms: number): void {
    const begin = performance.now(), packet = this.newest, scene = this.current;
    if (this.fresh) this.stage.dirty = true;
    if (this.drewScene && this.measured.firstPicture_ms === 0) this.measured.firstPicture_ms = begin;  // a frame later: it is on the screen
    const draws = this.canDraw && this.stage.isDue(now_ms);
    if (draws) {
      if (scene && this.fresh) this.show(scene, now_ms);
      this.stage.draw(now_ms);
      ++this.measured.pictures;
      this.drewScene ||= packet !== null;
    }
    // Each change on the page costs software graphics a picture of all of it: words and plots change together with the scene.
    const { software } = this.stage;
    if (packet && (!software || draws || now_ms > this.worded_ms + 500) && now_ms > this.worded_ms + 50) {
      this.worded_ms = now_ms;
      this.showPacket(packet);
    }
    if (!software || draws) this.plots.draw(now_ms, software);
    // Software graphics: a frame that draws nothing costs the page as much as many states, so it is not asked for before a picture may be due.
    if (software && !draws) setTimeout(() => this.nextFrame(), this.stage.lookAgain_ms(now_ms));
    else this.nextFrame();
    ++this.measured.frames;
    const work = this.measured.work_ms;
    work[this.measured.frames % work.length] = this.connection.busy_ms + performance.now() - begin;
    this.connection.busy_ms = 0;
  }

  private nextFrame(): void { requestAnimationFrame((next) => this.frame(next)); }

  private show(scene: Scene, now_ms: number): void {
    this.fresh = false;
    scene.place();
    const marks = this.marked;
    if (marks) this.contacts.set(marks.contact, marks.contactPhase, marks.contactBodyA, this.moves);
    this.marked = null;
    this.stage.follow(scene, now_ms);
    this.addTrail(scene);
  }
  private marked: StatePacket | null = null;  // the newest state with contacts that are not shown yet
  private worded_ms = 0;

  private readonly moves = (id: number): boolean => this.current?.isMovable(id) ?? false;

  private addTrail(scene: Scene): void {
    if (!this.trails.lines.visible) return;
    const points: number[] = [];
    scene.bodies.forEach((body, row) => {
      if (body.mode === "free" || body.mode === "link") points.push(...scene.X_WB[row].elements.slice(12, 15));
    });
    this.trails.add(new Float32Array(points));
  }

  private showPacket(packet: StatePacket): void {
    this.bar.times(packet.realTimeFactor, packet.simTimeS);
    this.playback.draw();
    this.bar.paused(this.isPaused(), (packet.statusBits & StatusBit.STATUS_LOCKSTEP) !== 0);
    if (packet.statusBits !== this.bitsShown) this.bar.marks(marksOf(this.bitsShown = packet.statusBits));
    if (this.push.body >= 0) this.showStatus();
  }

  private showStatus(): void {
    const s = this.statistics, scene = this.current;
    if (this.push.body >= 0 && scene) {
      const unit = this.push.turning ? "N m" : "N";
      return this.bar.status(`${this.push.turning ? "turning" : "pulling"} ${scene.names[this.push.body]}: ${shown(Math.hypot(...this.push.force))} ${unit}, ${this.measured.verdict || "no verdict yet"}`);
    }
    if (s) this.bar.facts(factsOf(s, this.roundTrip_ms));
  }
  private bitsShown = -1;
}
