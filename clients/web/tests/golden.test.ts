// The golden packets of proto/golden decode to what their descriptions say, and their macs are right.
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fromBinary, fromJson, toBinary, type DescMessage } from "@bufbuild/protobuf";
import { hmac } from "@noble/hashes/hmac";
import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import * as control from "../generated/control_pb";
import * as haptic from "../generated/haptic_pb";
import * as realtime from "../generated/realtime_pb";
import { proof, Sealer, sessionKey, tokenBytes, type Direction } from "../src/wire";

declare const TACTUS_PROTO: string;
const HEADER = 16, MAC = 16;
const folder = join(TACTUS_PROTO, "golden");
const entries = readdirSync(folder).filter((n) => n.endsWith(".json")).map((n) => ({ name: n, ...JSON.parse(readFileSync(join(folder, n), "utf8")) }));
const schema = (type: string) => ({ ...control, ...haptic, ...realtime } as Record<string, unknown>)[`${type}Schema`] as DescMessage;
const decodes = (type: string, payload: Uint8Array, json: never) =>
  assert.equal(bytesToHex(toBinary(schema(type), fromBinary(schema(type), payload))), bytesToHex(toBinary(schema(type), fromJson(schema(type), json))));

test("all kinds are there", () => {
  assert.ok(entries.filter((e) => e.kind === "datagram").length >= 24);
  assert.equal(entries.filter((e) => e.kind === "control_frames").length, 2);
});

for (const entry of entries.filter((e) => e.kind === "datagram")) {
  test(`${entry.name} decodes, and its mac is right`, () => {
    const bytes = hexToBytes(entry.bytes), end = bytes.length - MAC;
    assert.equal(bytesToHex(hmac(sha256, hexToBytes(entry.key), bytes.subarray(0, end)).subarray(0, MAC)), bytesToHex(bytes.subarray(end)));
    decodes(entry.message_type, bytes.subarray(HEADER, end), entry.message as never);
  });
}

for (const entry of entries.filter((e) => e.kind === "control_frames")) {
  test(`${entry.name}: frames without their length are a WebSocket's`, () => {
    const key = hexToBytes(entry.key), reader = new Sealer(key, entry.direction as Direction), writer = new Sealer(key, entry.direction as Direction);
    for (const frame of entry.frames) {
      const bytes = hexToBytes(frame.bytes).subarray(4);
      const payload = frame.mac ? reader.open(bytes) : bytes;
      assert.ok(payload, "the mac is wrong");
      if (frame.mac) assert.equal(bytesToHex(writer.seal(payload)), bytesToHex(bytes));
      decodes(frame.message_type, payload, frame.message as never);
    }
  });
}

test("handshake", () => {
  const entry = entries.find((e) => e.kind === "handshake");
  const token = tokenBytes(Buffer.from(hexToBytes(entry.token_file)).toString("latin1"));
  const nonces = [hexToBytes(entry.nonce_client), hexToBytes(entry.nonce_server)] as const;
  assert.equal(bytesToHex(sessionKey(token, ...nonces)), entry.session_key);
  assert.equal(bytesToHex(proof(token, "client", ...nonces)), entry.client_proof);
  assert.equal(bytesToHex(proof(token, "server", ...nonces)), entry.server_proof);
});

test("a frame that was changed, cut, repeated or reordered does not open", () => {
  const key = new Uint8Array(32).fill(7), make = () => new Sealer(key, "S"), writer = make();
  const first = writer.seal(new Uint8Array([1, 2, 3])), second = writer.seal(new Uint8Array([4]));
  assert.equal(make().open(second), null);
  const reader = make();
  assert.deepEqual([...(reader.open(first) ?? [])], [1, 2, 3]);
  assert.equal(reader.open(first), null);
  for (let i = 0; i < first.length; ++i) {
    const changed = first.slice();
    changed[i] ^= 1;
    assert.equal(make().open(changed), null);
    assert.equal(make().open(first.subarray(0, i)), null);
  }
  assert.equal(new Sealer(key, "C").open(first), null);
});
