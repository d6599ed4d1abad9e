// The viewer's home: joins the connection, the scene, the picture and the plots. Knows no document: what stands on the page it tells through
// the board, what the user does it is told (seam.ts).
import * as THREE from "three";
import { Event_Kind, type Event, type SceneDescription, type Statistics } from "../generated/control_pb";
import type { ToolPacket } from "../generated/haptic_pb";
import { StatusBit, type StatePacket } from "../generated/realtime_pb";
import { Connection, type Phase, type Socket } from "./connection";
import { Contacts } from "./contacts";
import { Devices } from "./devices";
import { whyNotLetIn } from "./door";
import { Joints } from "./joints";
import { Lease } from "./leases";
import { Playback } from "./playback";
import { Plots } from "./plots";
import { Push } from "./push";
import { commanderOf, eventWords, factsOf, holdersOf, marksOf, plotted } from "./readout";
import { Scene } from "./scene";
import type { Look } from "./chart";
import { Board, type HomePort, type Input, type Kind, type Setup, type Theme, type ToHome } from "./seam";
import { shown } from "./series";
import { Stage } from "./stage";
import { fetchMesh, Stream } from "./stream";
import { summaryOf } from "./summary";
import { Trails } from "./trails";
import { verdictWords } from "./verdicts";
import { streamHz } from "./view";
import { clientWords, factorWords, heldWords, LOOKS_ON, timeWords } from "./words";

const KEEP_WORLD_MS = 4000, DOOR_MS = 2000, CALM_MS = 500, WORDS_MS = 50, JOINTS_MS = 100, STATE_MS = 200;
/** Wishes of the user that change the world. */
const DRIVES = new Set<ToHome["type"]>(["pause", "step", "reset", "scene", "model", "setting", "jointStep", "jointMode", "jointRelease", "recover", "seek", "sought", "speed"]);
function viewerName(): string { return `viewer-${Math.floor(Math.random() * 1e6).toString(36)}`; }

export class App {
  readonly board: Board;
  readonly stage: Stage;
  readonly plots: Plots;
  readonly contacts: Contacts;
  readonly trails = new Trails();
  readonly devices = new Devices();
  readonly connection: Connection;
  readonly stream: Stream;
  readonly push: Push;
  readonly joints: Joints;
  readonly playback: Playback;
  current: Scene | null = null;
  newest: StatePacket | null = null;
  statistics: Statistics | null = null;
  /** For judging: frames, milliseconds of each of the last ones (messages included), pictures, states and bytes; the first picture's time since the page began. */
  readonly measured = { frames: 0, work_ms: new Float64Array(600), pictures: 0, states: 0, stateBytes: 0, firstPicture_ms: 0, verdict: "" };
  readonly world: Lease;
  private readonly shows = { points: true, normals: false, forces: true };
  private theme: Theme = "light";
  private jointsOpen = false;
  private jointed_ms = 0;
  private drewScene = false;
  private canDraw = false;
  private fresh = false;
  private marked: StatePacket | null = null;  // the newest state with contacts that are not shown yet
  private worded_ms = 0;
  private statesSeen = 0;
  private roundTrip_ms = NaN;
  private asked_ms = -Infinity;
  private loading = Promise.resolve();

  constructor(private readonly port: HomePort, private readonly setup: Setup, software: boolean, open: () => Socket) {
    this.board = new Board(port);
    this.stage = new Stage(setup.view, software);
    this.plots = new Plots(setup.plots, 200, software);
    this.contacts = new Contacts(software);
    this.connection = new Connection(open, {
      onPhase: (phase, why) => this.onPhase(phase, why), onState: (packet, bytes) => this.onState(packet, bytes), onEvent: (event) => this.onEvent(event),
      onTool: (packet) => this.onTool(packet),
    }, viewerName());
    this.stream = new Stream(this.connection, streamHz(software, setup.search));
    this.world = new Lease(this.connection, ["world"], () => void this.showLeases());
    const say = (text: string, kind: Kind) => this.say(text, kind);
    this.push = new Push({ connection: this.connection, stage: this.stage, scene: () => this.current, step_s: () => this.current?.description.stepS ?? 0.001,
      say, changed: () => this.onPushChanged() });
    this.joints = new Joints({ connection: this.connection, epoch: () => this.current?.description.sceneEpoch ?? 0, say, changed: () => this.showJoints() });
    this.playback = new Playback((value) => this.driveOrThrow(async () => { await this.connection.request({ case: "setPlayback", value }); }));
    this.stage.world.add(this.contacts.group, this.trails.lines, this.push.tool.group, this.devices.group);
    this.contacts.show(true, false, true);
    this.contacts.group.visible = false;
  }

  start(): void {
    this.connection.start();
    this.board.tell("plotNames", this.plots.names());
    requestAnimationFrame((now) => this.frame(now));
    setInterval(() => void this.everySecond(), 1000);
    setInterval(() => void this.showLeases(), 500);
  }

  /** By the newest state. */
  isPaused(): boolean { return ((this.newest?.statusBits ?? 0) & StatusBit.STATUS_PAUSED) !== 0; }
  /** The same, and what an event said since: states come seldom, and who presses pause twice in a moment means pause and resume. */
  private stands(): boolean { return performance.now() < this.paused.until_ms ? this.paused.is : this.isPaused(); }
  private paused = { is: false, until_ms: 0 };

  /** Where a body is: its origin in W, and on the canvas in CSS pixels. */
  whereIs(name: string): { p_W: number[]; x: number; y: number } | null {
    const row = this.current?.rowNamed(name) ?? -1;
    if (row < 0 || !this.current) return null;
    const p = new THREE.Vector3().setFromMatrixPosition(this.current.X_WB[row]), at = this.stage.screenOf(p);
    return { p_W: p.toArray(), x: at.x, y: at.y };
  }

  private say(text: string, kind: Kind): void { this.port.post({ type: "say", text, kind }); }

  // --- the server

  private onPhase(phase: Phase, why: string): void {
    this.board.tell("phase", { phase, why, role: this.connection.role });
    if (phase === "open") this.board.tell("door", "");
    if (phase === "lost" && !why) void this.askAtTheDoor();
    if (phase === "open") return void (this.loading = this.loading.then(() => this.describe(true)));
    this.stream.lost();
    this.world.lost();
    this.push.lost();
    this.joints.lost();
    this.devices.clear();
    this.playback.told = null;
    this.board.tell("playback", null);
  }

  private async askAtTheDoor(): Promise<void> {
    if (performance.now() < this.asked_ms + DOOR_MS) return;
    this.asked_ms = performance.now();
    const why = await whyNotLetIn(location.origin, (url) => fetch(url));
    if (this.connection.phase !== "open") this.board.tell("door", why);
  }

  /** The scene as it is now, and its states. */
  private async describe(again: boolean): Promise<void> {
    try {
      const body = await this.connection.request({ case: "describeScene", value: {} });
      if (body.case !== "scene") return;
      const same = this.current?.description.sceneEpoch === body.value.sceneEpoch;
      this.board.tellAgain("settings", body.value.settings.map(({ key, value }) => ({ key, value })));
      this.board.tell("models", { names: body.value.models, current: body.value.model });
      if (!same) this.build(body.value);
      if (!same || again) await this.stream.subscribe(body.value);
      const list = await this.connection.request({ case: "listScenes", value: {} });
      if (list.case === "sceneList") this.board.tell("scenes", { names: list.value.scenes.map(({ name, title }) => ({ name, title })), current: list.value.current });
      if (!same) await this.everySecond();  // what kind of server it is need not wait for the clock
    } catch (error) {
      if (this.connection.phase === "open") this.say(`cannot read the scene: ${(error as Error).message}`, "error");
    }
  }

  private build(description: SceneDescription): void {
    this.push.lost();
    this.current?.dispose();
    this.newest = this.marked = null;
    this.trails.clear();
    this.contacts.clear();
    this.devices.clear();
    this.board.tellAgain("joints", this.joints.build(description.robots));
    this.board.tellAgain("jointRows", this.joints.shown());
    this.namePlots(description);
    this.stream.guess(description);
    this.plots.clear();
    const epoch = description.sceneEpoch;
    this.current = new Scene(description, this.stage.software, (body, shape) => fetchMesh(this.connection, epoch, body, shape), () => this.onMesh());
    this.stage.world.add(this.current.group);
    this.stage.setTheme(this.theme, this.current);
    void this.prepare(this.current);
    this.board.tell("title", `${description.name} - Tactus`);
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

  /** The first six joints have their torques plotted. */
  private namePlots(description: SceneDescription): void {
    const joints = description.robots.flatMap((robot) => robot.joints.filter((joint) => joint.dofs === 1));
    this.plots.name("joints", joints.slice(0, 6).map((joint) => joint.name.slice(joint.name.indexOf("/") + 1)));
  }

  private onState(packet: StatePacket, bytes: number): void {
    const scene = this.current;
    ++this.measured.states;
    this.measured.stateBytes += bytes;
    if (scene && packet.sceneEpoch === scene.description.sceneEpoch) {
      if (packet.verdictCode.length > 0) this.measured.verdict = verdictWords(packet.verdictCode[0]);
      if (this.stream.isStill(packet)) this.takeStill(scene, packet);
      else if (!this.push.onState(packet)) this.takeState(scene, packet);
    }
  }

  private showDevices(scene: Scene, t: number, standing: boolean): void {
    const name = (id: number) => scene.bodies.find((b) => b.id === id)?.name ?? `body ${id}`;
    const pulls = this.push.body >= 0 ? `mouse on ${scene.names[this.push.body]}: ${shown(Math.hypot(...this.push.force))} ${this.push.turning ? "N m" : "N"}` : "";
    this.devices.show(performance.now(), t, scene.description.stepS, name, standing ? null : this.plots, pulls);
    this.board.set("devices", this.devices.words);
  }

  private onTool(packet: ToolPacket): void {
    if (packet.sceneEpoch !== this.current?.description.sceneEpoch) return;
    this.devices.take(packet, performance.now());
    this.stage.dirty = true;
  }

  private takeStill(scene: Scene, packet: StatePacket): void {
    scene.setPoses(packet.bodyId, packet.poseF);
    this.fresh = true;
  }

  private takeState(scene: Scene, packet: StatePacket): void {
    if (!this.stream.isMine(packet)) return;
    const first = this.newest === null, last = this.newest;
    this.newest = packet;
    this.fresh = true;
    ++this.statesSeen;
    // Without rows although there are contacts: this state came without them, the last ones stay.
    if (packet.contact.length > 0 || packet.contacts === 0) this.marked = packet;
    scene.setPoses(packet.bodyId, packet.poseF);
    this.world.tend();
    this.playback.onState(packet.playTimeNs);
    this.joints.onState(packet);
    void this.stream.thin(scene.description, packet, true);
    if (first) {
      this.stage.frame(scene);
      this.contacts.size_m = Math.min(0.05, Math.max(0.004, scene.radius_m * 0.012));
      this.push.tool.size_m = this.devices.size_m = this.contacts.size_m * 1.6;
    }
    const t = packet.simTimeS;
    if (last && t < last.simTimeS) this.plots.clear();  // reset or restored: time begins anew
    this.showDevices(scene, t, last !== null && t === last.simTimeS);
    if (last && t === last.simTimeS) return;
    if (this.plots.held) return;
    for (const [key, values] of plotted(packet)) this.plots.add(key, t, values);
    // 4 numbers a joint, the drive's effort is the third; of the first six joints.
    if (packet.jointF.length > 0) this.plots.add("joints", t, packet.jointF.filter((_, i) => i % 4 === 2).slice(0, 6));
  }

  private onEvent(event: Event): void {
    switch (event.kind) {
      case Event_Kind.SCENE_CHANGED:
        this.loading = this.loading.then(() => this.describe(true));
        break;
      case Event_Kind.MODEL_CHANGED: case Event_Kind.RESTORED:
        this.loading = this.loading.then(() => this.describe(false));
        break;
      case Event_Kind.PAUSED: case Event_Kind.RESUMED:
        this.paused = { is: event.kind === Event_Kind.PAUSED, until_ms: performance.now() + STATE_MS };
        break;
      case Event_Kind.LEASE_LOST:
        if (event.text === "world") this.world.lost();
        else if (this.joints.lostChannel(event.text)) break;
        else if (this.push.lease?.channels.includes(event.text)) {
          this.push.lost();
          this.say(`the lease of ${event.text} is lost: let go and grab again`, "error");
        }
        break;
      default: {
        const told = eventWords(event);
        if (told) this.say(told.text, told.kind);
      }
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
      this.playback.told = body.value.playback ?? null;
      this.board.tell("playback", this.playback.shown());
      this.board.set("models", { names: this.current?.description.models ?? [], current: body.value.model });
    } catch { return; }
    const t = this.newest?.simTimeS ?? 0;
    this.plots.add("trip", t, [this.roundTrip_ms]);
    this.plots.add("states", t, [this.statesSeen]);
    this.statesSeen = 0;
    const commander = commanderOf(this.statistics, this.connection.name);
    if (commander) this.plots.add("quality", t, [100 * commander.successRate, 100 * commander.lostUp]);
    const clients = this.statistics?.clients ?? [], self = this.connection.name;
    this.board.set("clients", clients.map((c) => ({ name: c.name === self ? `${c.name} (this page)` : c.name, words: clientWords(c), why: c.quality?.explanation ?? "" })));
    this.showStatus();
    if (this.newest && this.current) await this.stream.thin(this.current.description, this.newest, false);
  }

  private async showLeases(): Promise<void> {
    const body = this.connection.phase === "open" ? await this.connection.request({ case: "listLeases", value: {} }).catch(() => null) : null;
    if (this.connection.phase === "open" && body?.case !== "leases") return;
    const { world, rest } = holdersOf(body?.case === "leases" ? body.value.leases : [], this.connection.name);
    this.board.tell("holders", { world, rows: heldWords(rest), all: rest.map(({ what, who }) => `${what}: ${who}`).join("\n") });
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
      this.say((error as Error).message, "error");
      this.board.again("models", "scenes", "playback");  // what the user chose there is not so
      throw error;
    }
  }

  // --- the user

  /** What the page tells. */
  take(message: ToHome): void {
    if (this.connection.role === "observe" && DRIVES.has(message.type)) {
      this.say(LOOKS_ON, "error");
      return this.board.again("models", "scenes", "playback", "settings", "jointRows");  // what the user chose there is not so
    }
    const ask = (request: Parameters<Connection["request"]>[0]) => this.drive(async () => { await this.connection.request(request); });
    switch (message.type) {
      case "size": return this.stage.resize(message.width, message.height, message.ratio);
      case "plotsSize": return this.plots.resize(message.width, message.ratio);
      case "theme": return this.setTheme(message.theme, message.look);
      case "input": return this.onInput(message.input);
      case "plot": return this.plots.pointer(message.key, message.kind, message.px);
      case "key": return this.onKey(message.key, message.shift);
      case "pause": return this.drive(async () => { await this.connection.request({ case: this.stands() ? "resume" : "pause", value: {} }); });
      case "step": return ask({ case: "step", value: { ticks: message.ticks } });
      case "reset": return ask({ case: "reset", value: {} });
      case "scene": return ask({ case: "loadScene", value: { name: message.name } });
      case "model": return ask({ case: "setModel", value: { name: message.name } });
      case "setting": return void this.setParameter(message.key, message.value);
      case "token": return this.connection.useToken(message.text);
      case "jointsOpen": this.jointsOpen = message.open; return this.showJoints();
      case "jointStep": return this.joints.slide(message.id, message.step);
      case "jointMode": return this.joints.choose(message.id, message.mode);
      case "jointRelease": return this.joints.letGo(message.id);
      case "recover": return this.joints.recover(message.robot);
      case "seek": return this.seek(() => this.playback.drag(message.position_s));
      case "sought": return this.playback.letGo();
      case "speed": return this.playback.setSpeed(message.speed);
      case "ask": return this.port.post({ type: "answer", id: message.id,
        value: message.what === "summary" ? summaryOf(this) : message.what === "whereIs" ? this.whereIs(message.name) : null });
      default:
    }
  }

  private async setParameter(key: string, value: string): Promise<void> {
    const taken = await this.driveOrThrow(async () => { await this.connection.request({ case: "setParameter", value: { key, value } }); }).then(() => true, () => false);
    this.port.post({ type: "setting", key, taken });
  }

  private seek(act: () => void): void {
    act();
    if (this.playback.playing) this.board.tell("position", this.playback.position());
  }

  /** At the picture: what is under it is grabbed, or the camera's controls have it. */
  private onInput(input: Input): void {
    const { push } = this, { kind, x, y } = input;
    const drives = this.connection.role !== "observe";
    if (kind === "pointerdown" && input.button === 0 && drives && push.grab(x, y, input.shiftKey)) {
      this.stage.controls.enabled = false;
      return this.board.tell("cursor", "pulling");
    }
    if (push.body >= 0) {
      if (kind === "pointermove") push.move(x, y);
      else if (["pointerup", "pointercancel", "lostpointercapture"].includes(kind)) push.release();
      return;
    }
    if (kind === "pointermove" && input.buttons === 0) this.board.tell("cursor", drives && push.hit(x, y) ? "over" : "");
    this.stage.surface.take(input);
  }

  private onPushChanged(): void {
    if (this.push.body < 0) {
      this.stage.controls.enabled = true;
      this.board.tell("cursor", "");
    }
    void this.showLeases();
  }

  private onKey(key: string, shift: boolean): void {
    const show = this.shows;
    switch (key) {
      case " ": return this.take({ type: "pause" });
      case ".": case ">": return this.take({ type: "step", ticks: shift ? 10 : 1 });
      case "r": return this.take({ type: "reset" });
      case "arrowleft": case "arrowright":
        if (this.connection.role === "observe") return this.say(LOOKS_ON, "error");
        return this.seek(() => this.playback.seek(this.playback.position_s + (key === "arrowleft" ? -1 : 1) * (shift ? 10 : 1)));
      case "f": if (this.current) this.stage.frame(this.current); return;
      case "c": show.points = !show.points; break;
      case "n": show.normals = !show.normals; break;
      case "a": show.forces = !show.forces; break;
      case "t": this.trails.lines.visible = !this.trails.lines.visible; this.trails.clear(); break;
      case "p": this.plots.held = !this.plots.held; this.board.tell("plotsHeld", this.plots.held); break;
      case "[": case "]":
        this.push.gain = Math.min(4, Math.max(0.125, this.push.gain * (key === "]" ? 2 : 0.5)));
        return this.say(`mouse spring: ${this.push.gain} times`, "info");
      default: return;
    }
    this.contacts.show(show.points, show.normals, show.forces);
    this.stage.dirty = true;
  }

  private setTheme(theme: Theme, look: Look): void {
    this.theme = theme;
    this.stage.setTheme(theme, this.current);
    this.plots.setLook(look);
  }

  // --- the picture

  private frame(now_ms: number): void {
    const begin = performance.now(), packet = this.newest, scene = this.current;
    if (this.fresh) this.stage.dirty = true;
    if (this.drewScene && this.measured.firstPicture_ms === 0) this.measured.firstPicture_ms = performance.timeOrigin + begin - this.setup.origin_ms;  // a frame later: it is on the screen
    const draws = this.canDraw && this.stage.isDue(now_ms);
    if (draws) {
      if (scene && this.fresh) this.show(scene, now_ms);
      this.stage.draw(now_ms);
      ++this.measured.pictures;
      this.drewScene ||= packet !== null;
    }
    // Each change on the page costs software graphics a picture of all of it: words and plots change together with the scene.
    const { software } = this.stage, calm = now_ms > this.worded_ms + CALM_MS;
    if (!software || draws) this.plots.draw(now_ms, software);
    if ((!software || draws || calm) && now_ms > this.worded_ms + WORDS_MS) {
      this.worded_ms = now_ms;
      if (packet) this.showPacket(packet);
      this.board.set("plotNames", this.plots.names());
      this.board.set("plotValues", this.plots.values());
      this.board.flush();
    }
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
    const { words, look } = factorWords(packet.realTimeFactor);
    this.board.set("times", { factor: words, look, time: timeWords(packet.simTimeS) });
    if (this.playback.playing) this.board.set("position", this.playback.position());
    this.board.set("run", { paused: this.isPaused(), lockstep: (packet.statusBits & StatusBit.STATUS_LOCKSTEP) !== 0 });
    this.board.set("marks", marksOf(packet.statusBits));
    if (this.push.body >= 0) this.showStatus();
    if (!this.jointsOpen || this.worded_ms < this.jointed_ms + JOINTS_MS) return;
    this.jointed_ms = this.worded_ms;
    this.board.set("jointRows", this.joints.shown());
    this.board.set("jointSays", this.joints.words());
  }

  /** At once, for the user has touched one. */
  private showJoints(): void { this.board.tell("jointRows", this.joints.shown()); }

  private showStatus(): void {
    const s = this.statistics, scene = this.current;
    if (this.push.body >= 0 && scene) {
      const { turning, force, body } = this.push, size = `${shown(Math.hypot(...force))} ${turning ? "N m" : "N"}`;
      return this.board.set("status", `${turning ? "turning" : "pulling"} ${scene.names[body]}: ${size}, ${this.measured.verdict || "no verdict yet"}`);
    }
    if (s) this.board.set("status", factsOf(s, this.roundTrip_ms));
  }
}
