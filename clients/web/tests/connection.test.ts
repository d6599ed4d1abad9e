// The connection against a server in the same process: handshake with and without a token, macs, requests, loss and return.
import { strict as assert } from "node:assert";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ErrorCode, Event_Kind, ReplySchema, RequestSchema, type Reply } from "../generated/control_pb";
import { StatePacketSchema } from "../generated/realtime_pb";
import { Connection, RequestError, type Phase, type Socket } from "../src/connection";
import { Lease } from "../src/leases";
import { equal, proof, Sealer, sessionKey, tokenBytes } from "../src/wire";

const TOKEN = "correct horse battery staple";
const pause = (ms = 5) => new Promise((next) => setTimeout(next, ms));
async function until(condition: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 10_000; !condition(); await pause()) assert.ok(Date.now() < end, `not in 10 s: ${what}`);
}

/** A server of one client: answers Hello, checks macs, keeps what it was asked. */
class FakeServer implements Socket {
  binaryType = "";
  onopen: (() => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  asked: string[] = [];
  badMacs = 0;
  answer: (request: string) => Partial<Reply> | null = () => ({ body: { case: "done", value: { $typeName: "tactus.v1.Done" } } });
  private inbound: Sealer | null = null;
  private outbound: Sealer | null = null;
  private nonces: [Uint8Array, Uint8Array] = [new Uint8Array(), new Uint8Array(32).fill(9)];

  constructor(private readonly token: string, readonly major = 1, readonly role = "control") { setTimeout(() => this.onopen?.()); }

  reply(init: object): void {
    const payload = toBinary(ReplySchema, create(ReplySchema, init as never));
    const frame = this.outbound ? this.outbound.seal(payload) : payload;
    this.onmessage?.({ data: frame.slice().buffer });
  }

  send(frame: Uint8Array): void {
    const payload = this.inbound ? this.inbound.open(frame) : frame;
    if (!payload) { ++this.badMacs; return; }
    const { id, body } = fromBinary(RequestSchema, payload);
    this.asked.push(body.case ?? "");
    setTimeout(() => this.serve(id, body));
  }

  private serve(id: number, body: ReturnType<typeof fromBinary<typeof RequestSchema>>["body"]): void {
    if (body.case === "hello") {
      if (this.major !== body.value.versionMajor) {
        this.reply({ id, error: { code: ErrorCode.ERROR_VERSION, text: "this server speaks version 2" } });
        return this.drop("version");
      }
      const key = new Uint8Array(32).fill(5);
      this.nonces[0] = body.value.nonce;
      this.reply({ id, body: { case: "hello", value: { needsToken: this.token !== "", nonce: this.nonces[1], key: this.token ? new Uint8Array() : key, role: this.token ? "" : this.role } } });
      if (!this.token) this.seal(key);
    } else if (body.case === "authenticate") {
      const token = tokenBytes(this.token);
      if (!equal(body.value.proof, proof(token, "client", ...this.nonces))) {
        this.reply({ id, error: { code: ErrorCode.ERROR_WRONG_KEY, text: "the proof does not match" } });
        return this.drop("wrong token");
      }
      this.seal(sessionKey(token, ...this.nonces));
      this.reply({ id, body: { case: "authenticate", value: { proof: proof(token, "server", ...this.nonces), role: this.role } } });
    } else if (body.case !== "command") {
      const answer = this.answer(body.case ?? "");
      if (answer) this.reply({ id, ...answer });
    }
  }

  private seal(key: Uint8Array): void {
    this.inbound = new Sealer(key, "C");
    this.outbound = new Sealer(key, "S");
  }

  drop(reason: string): void { this.onclose?.({ code: 1008, reason }); }
  close(): void { setTimeout(() => this.drop("")); }
}

function connect(servers: FakeServer[]) {
  const seen = { phases: [] as Phase[], why: "", states: [] as bigint[], events: [] as Event_Kind[] };
  let next = 0;
  const connection = new Connection(() => servers[Math.min(next++, servers.length - 1)], {
    onPhase: (phase, why) => { seen.phases.push(phase); seen.why = why; },
    onState: (packet) => seen.states.push(packet.tick), onEvent: (event) => seen.events.push(event.kind), onTool: () => undefined,
  }, "test");
  connection.start();
  return { connection, seen };
}

test("without a token: a key from Hello, macs from then on, requests answered by number", async () => {
  const server = new FakeServer(""), { connection, seen } = connect([server]);
  await until(() => connection.phase === "open", "open");
  const [first, second] = await Promise.all([connection.request({ case: "pause", value: {} }), connection.request({ case: "resume", value: {} })]);
  assert.equal(first.case, "done");
  assert.equal(second.case, "done");
  assert.equal(server.badMacs, 0);
  server.reply({ body: { case: "state", value: toBinary(StatePacketSchema, create(StatePacketSchema, { tick: 42n })) } });
  server.reply({ body: { case: "event", value: { kind: Event_Kind.PAUSED } } });
  assert.deepEqual(seen.states, [42n]);
  assert.deepEqual(seen.events, [Event_Kind.PAUSED]);
  connection.stop();
});

test("with a token: it is asked for, proved, and never sent", async () => {
  const server = new FakeServer(TOKEN), { connection } = connect([server]);
  const sent: string[] = [], original = server.send.bind(server);
  server.send = (frame) => { sent.push(Buffer.from(frame).toString("latin1")); original(frame); };
  await until(() => connection.phase === "token", "token");
  connection.useToken(`${TOKEN}\n`);
  await until(() => connection.phase === "open", "open");
  assert.ok(sent.length >= 2 && sent.every((text) => !text.includes(TOKEN)));
  connection.stop();
});

test("who takes longer for the token than the server waits loses nothing: the next connection proves it", async () => {
  const first = new FakeServer(TOKEN), second = new FakeServer(TOKEN), { connection } = connect([first, second]);
  await until(() => connection.phase === "token", "token");
  first.drop("the handshake was not finished within 5 s");
  await pause(120);
  assert.equal(connection.phase, "token");
  connection.useToken(TOKEN);
  second.onopen?.();
  await until(() => connection.phase === "open", "open");
  connection.stop();
});

test("a server that comes back and asks for no token is refused by a page that holds one, and is told nothing", async () => {
  const first = new FakeServer(TOKEN), second = new FakeServer(""), { connection, seen } = connect([first, second]);
  await until(() => connection.phase === "token", "token");
  connection.useToken(TOKEN);
  await until(() => connection.phase === "open", "open");
  first.drop("gone");
  await until(() => connection.phase === "connecting", "connecting");
  second.onopen?.();
  await until(() => connection.phase === "refused", "refused");
  assert.match(seen.why, /says that it needs no token.*--token-file/);
  assert.deepEqual(second.asked, ["hello"]);
  assert.ok(seen.phases.filter((phase) => phase === "open").length === 1);
  connection.stop();
});

test("full is told in the server's words, with a token too, though it comes without a mac", async () => {
  const server = new FakeServer(TOKEN), { connection, seen } = connect([server]);
  await until(() => connection.phase === "token", "token");
  const send = server.send.bind(server);
  server.send = (frame) => {
    const { id, body } = fromBinary(RequestSchema, frame);
    if (body.case !== "authenticate") return send(frame);
    setTimeout(() => { server.reply({ id, error: { code: ErrorCode.ERROR_FULL, text: "all places are taken" } }); server.drop("full"); });
  };
  connection.useToken(TOKEN);
  await until(() => connection.phase === "refused", "refused");
  assert.match(seen.why, /all places are taken/);
  connection.stop();
});

test("the role that the server gives is known, with a token and without", async () => {
  for (const token of ["", TOKEN]) {
    const { connection } = connect([new FakeServer(token, 1, "observe")]);
    if (token) {
      await until(() => connection.phase === "token", "token");
      connection.useToken(token);
    }
    await until(() => connection.phase === "open", "open");
    assert.equal(connection.role, "observe");
    connection.stop();
  }
});

test("a wrong token is refused in the server's words", async () => {
  const { connection, seen } = connect([new FakeServer(TOKEN)]);
  await until(() => connection.phase === "token", "token");
  connection.useToken("something else entirely");
  await until(() => connection.phase === "refused", "refused");
  assert.match(seen.why, /proof does not match/);
  connection.stop();
});

test("another major version is refused in the server's words", async () => {
  const { connection, seen } = connect([new FakeServer("", 2)]);
  await until(() => connection.phase === "refused", "refused");
  assert.match(seen.why, /version 2/);
  connection.stop();
});

test("a refused request rejects with code and text; a frame with a wrong mac ends the connection", async () => {
  const server = new FakeServer(""), { connection, seen } = connect([server]);
  await until(() => connection.phase === "open", "open");
  server.answer = () => ({ error: { $typeName: "tactus.v1.Error", code: ErrorCode.ERROR_LEASED_BY_OTHER, text: "held by arm" } });
  await assert.rejects(connection.request({ case: "pause", value: {} }), (e: RequestError) => e.code === ErrorCode.ERROR_LEASED_BY_OTHER && /arm/.test(e.message));
  server.onmessage?.({ data: new Uint8Array(40).buffer });
  await until(() => connection.phase === "refused", "refused");
  assert.match(seen.why, /mac/);
  connection.stop();
});

test("a lost connection is found again; what waited is rejected; nothing is commanded by itself", async () => {
  const first = new FakeServer(""), second = new FakeServer(""), { connection, seen } = connect([first, second]);
  await until(() => connection.phase === "open", "open");
  first.answer = () => null;
  const waiting = connection.request({ case: "pause", value: {} });
  first.drop("gone");
  await assert.rejects(waiting, /lost/);
  assert.ok(seen.phases.includes("lost"));
  assert.equal(connection.command(new Uint8Array([1])), 0);
  await until(() => connection.phase === "connecting", "connecting");
  second.onopen?.();
  await until(() => connection.phase === "open", "open");
  assert.deepEqual(second.asked, ["hello"]);
  connection.stop();
});

test("a lease is taken once, renewed while used, given back, and forgotten when lost", async () => {
  const server = new FakeServer(""), { connection } = connect([server]);
  await until(() => connection.phase === "open", "open");
  let changes = 0;
  server.answer = (request) => request === "acquireLease" ? { body: { case: "lease", value: { $typeName: "tactus.v1.LeaseReply", lease: 7, durationMs: 2000, heldBy: "test" } } }
    : { body: { case: "done", value: { $typeName: "tactus.v1.Done" } } };
  const lease = new Lease(connection, ["world"], () => { ++changes; });
  await lease.take(1000);
  await lease.take(1000);
  assert.ok(lease.held);
  assert.equal(server.asked.filter((a) => a === "acquireLease").length, 1);
  await until(() => server.asked.includes("renewLease"), "renewed");
  await until(() => server.asked.includes("releaseLease"), "released");
  assert.ok(!lease.held);
  assert.equal(changes, 2);
  connection.stop();
});
