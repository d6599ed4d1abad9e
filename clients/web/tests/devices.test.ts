// What the page says of a haptic device is what its packet says.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { create, fromJson } from "@bufbuild/protobuf";
import { DeviceBit, ToolBit, ToolPacketSchema } from "../generated/haptic_pb";
import { deviceLine, devicePlots, deviceWords, Devices } from "../src/devices";

declare const TACTUS_PROTO: string;
const golden = fromJson(ToolPacketSchema, JSON.parse(readFileSync(join(TACTUS_PROTO, "golden", "tool.json"), "utf8")).message);

test("a device's line: force, mode, ledger, age and savings of the golden packet", () => {
  const line = deviceLine(golden, "peg");
  assert.match(line, /^peg \(wave\): hand 4 N, tool 10\.6 N/);  // |(0.5, -9.75, 4)|
  assert.match(line, /0\.244 mJ out, 1\.95 mJ in/);
  assert.match(line, /age 3 ticks; deadband saves 87\.5 % up, 87\.5 % down; engaged, its word on the force is doubted$/);
});

test("each bit of tool and device has its word, and no bit but engaged has none", () => {
  assert.deepEqual(deviceWords(create(ToolPacketSchema, {})), ["not engaged"]);
  for (const bit of Object.values(ToolBit).filter((b): b is ToolBit => typeof b === "number" && b > 1))
    assert.equal(deviceWords(create(ToolPacketSchema, { bits: bit })).length, 2, `ToolBit ${bit}`);
  const silent = [DeviceBit.DEVICE_NONE, DeviceBit.DEVICE_ENGAGED, DeviceBit.DEVICE_ANCHORED, DeviceBit.DEVICE_RAMP_IN, DeviceBit.DEVICE_RAMP_OUT, DeviceBit.DEVICE_FORCE_LIMITED];
  for (const bit of Object.values(DeviceBit).filter((b): b is DeviceBit => typeof b === "number" && !silent.includes(b)))
    assert.equal(deviceWords(create(ToolPacketSchema, { deviceBits: bit })).length, 2, `DeviceBit ${bit}`);
});

test("plots: forces in N, energies in mJ, times in ms; columns that are not there count as zero", () => {
  const rows = new Map(devicePlots(golden, 0.001));
  assert.deepEqual(rows.get("device"), [4, Math.hypot(0.5, -9.75, 4)]);
  assert.deepEqual(rows.get("ledger"), [1e3 * (2 ** -12 - 2 ** -9), 1e3 * 2 ** -14]);
  assert.deepEqual(rows.get("device-link"), [62.5, 3]);
  assert.deepEqual(new Map(devicePlots(create(ToolPacketSchema, {}), 0.001)).get("device"), [0, 0]);
});

test("a tool is drawn while it is heard of, two are two, and a packet without its columns draws nothing", () => {
  const devices = new Devices();
  const name = (id: number) => `b${id}`;
  devices.take(create(ToolPacketSchema, { tool: 1 }), 0);
  devices.show(0, 0, 0.001, name, null);
  assert.equal(devices.drawn, 0);
  assert.equal(devices.words, "");
  devices.take(golden, 0);
  devices.take({ ...golden, tool: 0 }, 500);
  devices.show(600, 0, 0.001, name, null);
  assert.equal(devices.drawn, 2);
  assert.equal(devices.group.children.length, 4);
  assert.equal(devices.words.split("\n").length, 2);
  devices.show(1200, 0, 0.001, name, null);
  assert.equal(devices.drawn, 1);
  devices.show(1700, 0, 0.001, name, null, "mouse on b1: 2 N");
  assert.equal(devices.drawn, 0);
  assert.equal(devices.words, "mouse on b1: 2 N");
  assert.equal(devices.group.children.length, 0);
});
