// The public Foxglove client against a running tactusd: every channel is subscribed to, every message decoded with the schema that came with
// it, parameters are set, an asset is fetched. What was seen goes out as one JSON object; tests/live/test_foxglove.py judges it.
import published from "@foxglove/schemas/internal.js";
import protocol from "@foxglove/ws-protocol";
import * as support from "@mcap/support";
import protobuf from "protobufjs";
import WebSocket from "ws";

const { FoxgloveClient } = protocol;
const { foxgloveEnumSchemas, foxgloveMessageSchemas, generateProto } = published;
const [port, ...flags] = process.argv.slice(2);
const options = { seconds: 2, sets: [], asset: false, protocol: "foxglove.sdk.v1" };
for (let i = 0; i < flags.length; ++i) {
  if (flags[i] === "--seconds") options.seconds = Number(flags[++i]);
  else if (flags[i] === "--protocol") options.protocol = flags[++i];
  else if (flags[i] === "--asset") options.asset = true;
  else if (flags[i] === "--set") {
    const [name, value] = flags[++i].split("=");
    options.sets.push({ name, value: JSON.parse(value) });
  } else throw new Error(`unknown flag ${flags[i]}`);
}

const seen = { channels: {}, server: null, protocol: "", statuses: [], parameters: {}, answers: [], times: 0, times_in_order: true, schema_errors: [], asset: null };
const decoders = new Map(), subscriptions = new Map();

// Fields of ours against the published ones: same name, number, type and repetition.
function compareWithPublished(root) {
  for (const [name, schema] of Object.entries(foxgloveMessageSchemas)) {
    let ours;
    try {
      ours = root.lookupType(`foxglove.${name}`);
    } catch {
      continue;
    }
    const enums = Object.values(foxgloveEnumSchemas).filter((e) => e.parentSchemaName === schema.name);
    const text = generateProto(schema, enums);
    const theirRoot = protobuf.parse(text, { keepCase: true }).root;
    const theirType = theirRoot.lookupType(`foxglove.${name}`);
    for (const field of ours.fieldsArray) {
      const theirs = theirType.fieldsArray.find((f) => f.id === field.id);
      const bare = (type) => type.split(".").pop();
      const same = theirs && theirs.name === field.name && bare(theirs.type) === bare(field.type) && theirs.repeated === field.repeated;
      if (!same) seen.schema_errors.push(`${name}.${field.name} = ${field.id}: published is ${theirs ? `${theirs.type} ${theirs.name}` : "nothing"}`);
    }
    seen.compared = [...(seen.compared ?? []), name];
  }
}

const plain = (type, bytes) => type.toObject(type.decode(bytes), { longs: Number, defaults: true });
const ws = new WebSocket(`ws://127.0.0.1:${port}`, options.protocol.split(","));
const client = new FoxgloveClient({ ws });
const done = new Promise((resolve, reject) => {
  client.on("error", reject);
  ws.on("unexpected-response", (_, response) => {
    let text = "";
    response.on("data", (d) => (text += d));
    response.on("end", () => reject(new Error(`HTTP ${response.statusCode}: ${text}`)));
  });
  client.on("close", (event) => reject(new Error(`closed: ${event.reason ?? ""}`)));
  setTimeout(resolve, 1000 * options.seconds);
});
client.on("serverInfo", (info) => ((seen.server = info), (seen.protocol = ws.protocol)));
client.on("status", (status) => seen.statuses.push(status));
client.on("time", (event) => {
  const t = Number(event.timestamp);
  seen.times_in_order &&= !(t < seen.last_time);
  seen.last_time = t;
  ++seen.times;
});
client.on("parameterValues", (event) => {
  for (const { name, value } of event.parameters) seen.parameters[name] = value;
  seen.answers.push(event.id ?? null);
});
client.on("fetchAssetResponse", (event) => {
  if (event.error !== undefined || event.status !== 0) return (seen.asset = { error: event.error });
  const view = event.data;
  const triangles = view.getUint32(80, true);
  let low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
  for (let t = 0; t < triangles; ++t)
    for (let k = 0; k < 9; ++k) {
      const x = view.getFloat32(84 + 50 * t + 12 + 4 * k, true);
      low[k % 3] = Math.min(low[k % 3], x);
      high[k % 3] = Math.max(high[k % 3], x);
    }
  seen.asset = { bytes: view.byteLength, triangles, low, high };
});
let root_compared = false, model_url = null;
client.on("advertise", (channels) => {
  for (const channel of channels) {
    const root = support.protobufFromBinaryDescriptor(Buffer.from(channel.schema, "base64"));
    const type = root.lookupType(channel.schemaName);
    decoders.set(channel.id, type);
    seen.channels[channel.topic] = { schema: channel.schemaName, messages: 0, bytes: 0, last: null, first: null, in_order: true, last_time: 0, frames: [] };
    subscriptions.set(client.subscribe(channel.id), channel);
    if (channel.schemaName.startsWith("foxglove.")) compareWithPublished(root);
  }
  client.subscribeParameterUpdates([]);
  client.getParameters([], "first");
  if (options.sets.length > 0) setTimeout(() => client.setParameters(options.sets, "set"), 300);
  setTimeout(() => client.getParameters([], "last"), 1000 * options.seconds - 300);
});
client.on("message", ({ subscriptionId, timestamp, data }) => {
  const channel = subscriptions.get(subscriptionId);
  const row = seen.channels[channel.topic];
  const message = plain(decoders.get(channel.id), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  row.messages += 1;
  row.bytes += data.byteLength;
  row.in_order &&= Number(timestamp) >= row.last_time;
  row.last_time = Number(timestamp);
  row.first ??= message;
  row.last = message;
  if (channel.topic === "/tf") for (const t of message.transforms) if (!row.frames.includes(t.child_frame_id ?? t.childFrameId)) row.frames.push(t.child_frame_id ?? t.childFrameId);
  if (channel.topic === "/plot") (row.samples = (row.samples ?? 0) + message.samples.length);
  if (channel.topic === "/log") (row.texts = [...(row.texts ?? []), message.message]);
  if (channel.topic === "/scene" && options.asset && !model_url) {
    model_url = message.entities.flatMap((e) => e.models).map((m) => m.url)[0];
    client.fetchAsset(model_url ?? "package://nothing", 7);
  }
});
try {
  await done;
} catch (error) {
  seen.error = String(error.message ?? error);
}
process.stdout.write(JSON.stringify(seen) + "\n", () => process.exit(seen.error ? 1 : 0));
