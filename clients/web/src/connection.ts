// One connection to tactusd: handshake, requests with promises, events, states. Finds back by itself after a loss, and never commands
// again by itself.
import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { ErrorCode, ReplySchema, RequestSchema, type Event, type HelloReply, type Reply } from "../generated/control_pb";
import { ToolPacketSchema, type ToolPacket } from "../generated/haptic_pb";
import { StatePacketSchema, type StatePacket } from "../generated/realtime_pb";
import type { Phase } from "./seam";
import { equal, NONCE_BYTES, proof, randomBytes, Sealer, sessionKey, tokenBytes, VERSION_MAJOR, VERSION_MINOR } from "./wire";

export type Body = NonNullable<MessageInitShape<typeof RequestSchema>["body"]>;
export type ReplyBody = Reply["body"];
export type { Phase };

/** A request that the server refused, in its words. */
export class RequestError extends Error {
  constructor(readonly code: ErrorCode, text: string) { super(text); }
}

export interface Handlers {
  onPhase(phase: Phase, why: string): void;
  onState(packet: StatePacket, bytes: number): void;
  onEvent(event: Event): void;
  onTool(packet: ToolPacket): void;
}

/** What a WebSocket gives us; tests put another in its place. */
export interface Socket {
  binaryType: string;
  onopen: (() => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null;
  send(data: Uint8Array): void;
  close(): void;
}

interface Waiting { resolve(body: ReplyBody): void; reject(error: Error): void }

/** To a user who has typed a token: a server that does not ask for it may be anyone. */
const NO_PROOF = "this server says that it needs no token, so it cannot show that it is the server you mean. Start tactusd with --token-file, or load this page anew to connect without the token";

const BACKOFF_MS = [50, 100, 200, 400, 800, 1000];

export class Connection {
  phase: Phase = "connecting";
  hello: HelloReply | null = null;
  role = "";    // what the server lets this page do: "control" or "observe"
  bytesIn = 0;
  busy_ms = 0;  // spent on messages, until somebody resets it
  private socket: Socket | null = null;
  private inbound: Sealer | null = null;
  private outbound: Sealer | null = null;
  private nonce = new Uint8Array();
  private token: Uint8Array | null = null;
  private waiting = new Map<number, Waiting>();
  private nextId = 1;
  private attempts = 0;
  private refusal = "";
  private stopped = false;

  constructor(private readonly open: () => Socket, private readonly handlers: Handlers, readonly name: string) {}

  start(): void {
    if (this.stopped) return;
    this.inbound = this.outbound = null;
    this.hello = null;
    this.role = "";
    this.refusal = "";
    this.enter("connecting", "");
    const socket = this.open();
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => void this.shakeHands();
    socket.onmessage = (event) => {
      if (socket !== this.socket) return;
      const begin = performance.now();
      this.take(new Uint8Array(event.data));
      this.busy_ms += performance.now() - begin;
    };
    socket.onclose = (event) => { if (socket === this.socket) this.closed(event.reason); };
  }

  stop(): void {
    this.stopped = true;
    this.socket?.close();
  }

  /** The user's token, when the phase is "token"; kept for reconnecting, in memory only. */
  useToken(text: string): void {
    this.token = tokenBytes(text);
    if (this.socket) void this.authenticate();
    else this.start();
  }

  /** Sends a request; resolves with the reply's body, rejects with the server's words. */
  request(body: Body): Promise<ReplyBody> {
    return new Promise((resolve, reject) => {
      if (this.socket === null) return reject(new Error("not connected"));
      const id = this.send(body);
      this.waiting.set(id, { resolve, reject });
    });
  }

  /** Sends a command; its verdict comes with the states, under the number returned. */
  command(bytes: Uint8Array): number {
    return this.phase === "open" ? this.send({ case: "command", value: bytes }) : 0;
  }

  private send(body: Body): number {
    const id = this.nextId++;
    const payload = toBinary(RequestSchema, create(RequestSchema, { id, body }));
    this.socket?.send(this.outbound ? this.outbound.seal(payload) : payload);
    return id;
  }

  private enter(phase: Phase, why: string): void {
    this.phase = phase;
    this.handlers.onPhase(phase, why);
  }

  private async shakeHands(): Promise<void> {
    this.nonce = randomBytes(NONCE_BYTES);
    try {
      const body = await this.request({ case: "hello", value: { versionMajor: VERSION_MAJOR, versionMinor: VERSION_MINOR,
        clientName: this.name, nonce: this.nonce } });
      if (body.case !== "hello") throw new Error("the server did not answer Hello");
      this.hello = body.value;
      if (!body.value.needsToken && this.token) throw new Error(NO_PROOF);
      if (!body.value.needsToken) return this.opened(body.value.key, body.value.role);
      if (this.token) await this.authenticate();
      else this.enter("token", "this server wants its token");
    } catch (error) {
      this.refuse((error as Error).message);
    }
  }

  private async authenticate(): Promise<void> {
    const { hello, token } = this;
    if (!hello || !token) return;
    try {
      const key = sessionKey(token, this.nonce, hello.nonce);
      const reply = this.request({ case: "authenticate", value: { proof: proof(token, "client", this.nonce, hello.nonce) } });
      this.inbound = new Sealer(key, "S");
      const body = await reply;
      if (body.case !== "authenticate" || !equal(body.value.proof, proof(token, "server", this.nonce, hello.nonce)))
        throw new Error("the server does not know the token: not the server you meant");
      this.outbound = new Sealer(key, "C");
      this.opened(null, body.value.role);
    } catch (error) {
      this.token = null;
      this.refuse((error as Error).message);
    }
  }

  private opened(key: Uint8Array | null, role: string): void {
    this.role = role;
    if (key) {
      this.inbound = new Sealer(key, "S");
      this.outbound = new Sealer(key, "C");
    }
    this.attempts = 0;
    this.enter("open", "");
  }

  private refuse(why: string): void {
    this.refusal ||= why;
    this.socket?.close();
  }

  private take(frame: Uint8Array): void {
    this.bytesIn += frame.length;
    let payload: Uint8Array | null = frame;
    // A refusal of the handshake comes without a mac, when there is no key on the server's side yet.
    if (this.inbound) payload = this.inbound.open(frame) ?? (this.outbound ? null : frame);
    if (!payload) return this.refuse("a frame's mac is wrong");
    let reply: Reply;
    try {
      reply = fromBinary(ReplySchema, payload);
    } catch {
      return this.refuse("a frame is not a tactus.v1 Reply");
    }
    this.dispatch(reply);
  }

  private dispatch(reply: Reply): void {
    const { body } = reply;
    if (body.case === "state") return this.handlers.onState(fromBinary(StatePacketSchema, body.value), body.value.length);
    if (body.case === "tool") return this.handlers.onTool(fromBinary(ToolPacketSchema, body.value));
    if (body.case === "event") return this.handlers.onEvent(body.value);
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if (!reply.error) return waiting?.resolve(body);
    if (!waiting || this.phase !== "open") this.refusal = reply.error.text;  // of the connection itself: it will be closed
    waiting?.reject(new RequestError(reply.error.code, reply.error.text));
  }

  private closed(reason: string): void {
    this.socket = null;
    for (const { reject } of this.waiting.values()) reject(new Error("the connection was lost"));
    this.waiting.clear();
    if (this.phase === "token" && this.token === null && !this.refusal && !this.stopped) return;  // the server waits 5 s only: the user may take longer
    const why = this.refusal || reason;
    this.enter(this.refusal ? "refused" : "lost", why);
    if (this.stopped) return;
    const wait = BACKOFF_MS[Math.min(this.attempts++, BACKOFF_MS.length - 1)];
    setTimeout(() => this.start(), this.refusal ? 3000 : wait);
  }
}
