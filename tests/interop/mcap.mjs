// Reads MCAP files with the format's own public reader: every record, every CRC, every index, every message decoded by the
// schema in the file. usage: check.mjs [--recover] FILE...   One JSON object a file. --recover: a cut file; up to where it reads.
import fs from "node:fs";
import { McapIndexedReader, McapStreamReader } from "@mcap/core";
import { loadDecompressHandlers, protobufFromBinaryDescriptor } from "@mcap/support";

const decompressHandlers = await loadDecompressHandlers();
const fail = (what) => { throw new Error(what); };
const same = (a, b, what) => a === b || fail(`${what}: found ${a}, expected ${b}`);

class Decoder {
  types = new Map();
  add(channel, schema) {
    same(channel.messageEncoding, "protobuf", channel.topic);
    same(schema.encoding, "protobuf", schema.name);
    this.types.set(channel.id, protobufFromBinaryDescriptor(schema.data).lookupType(schema.name));
  }
  decode(message) {
    const type = this.types.get(message.channelId) ?? fail(`a message of channel ${message.channelId} before it`);
    return type.toObject(type.decode(message.data), { longs: String, arrays: true });
  }
}

// What Foxglove and Lichtblick draw: names of frames and entities, meshes that stand in the file, arrows; stamps must be the messages' times.
function lookAtViewer(topic, message, logTime, seen) {
  const stampOf = (item) => 1_000_000_000n * BigInt(item.timestamp?.seconds ?? 0) + BigInt(item.timestamp?.nanos ?? 0);
  const items = topic === "/tf" ? message.transforms : topic === "/joints" ? [message] : message.entities;
  for (const item of items) if (stampOf(item) > logTime + 2000n || stampOf(item) + 2000n < logTime) seen.late_stamps += 1;
  if (topic === "/tf") seen.frames = message.transforms.map((t) => t.child_frame_id).sort();
  if (topic === "/contacts") seen.arrows += message.entities.reduce((sum, e) => sum + e.arrows.length, 0);
  if (topic !== "/scene") return;
  seen.entities = message.entities.map((e) => e.id);
  const models = message.entities.flatMap((e) => e.models);
  seen.models = models.length;
  // Binary STL: 84 bytes and 50 a triangle.
  seen.stl = models.filter((m) => m.media_type === "model/stl" && m.data?.length > 84 && (m.data.length - 84) % 50 === 0).length;
}

// As a stream: what a program that cannot seek sees, CRCs of chunks, attachments and the data section included.
function readStream(bytes) {
  const reader = new McapStreamReader({ decompressHandlers, validateCrcs: true });
  const schemas = new Map(), topics = new Map(), counts = {}, decoder = new Decoder();
  const out = { messages: 0, states: 0, lastTick: 0, done: false, error: null, counts, kinds: {}, viewer: { frames: [], entities: [], models: 0, stl: 0, arrows: 0, late_stamps: 0 } };
  try {
    reader.append(bytes);
    for (let record; (record = reader.nextRecord()); ) {
      out.kinds[record.type] = (out.kinds[record.type] ?? 0) + 1;
      if (record.type === "Schema") schemas.set(record.id, record);
      if (record.type === "Channel" && !topics.has(record.id)) {
        decoder.add(record, schemas.get(record.schemaId) ?? fail(`no schema ${record.schemaId}`));
        topics.set(record.id, record.topic);
      }
      if (record.type !== "Message") continue;
      const topic = topics.get(record.channelId), message = decoder.decode(record);
      counts[topic] = (counts[topic] ?? 0) + 1;
      same(record.sequence, counts[topic] - 1, `${topic}: sequence`);
      out.messages += 1;
      if (topic.startsWith("/")) lookAtViewer(topic, message, record.logTime, out.viewer);
      if (topic !== "tactus/state") continue;
      out.states += 1;
      out.lastTick = Number(message.tick);
      same(message.pose.length, 7 * message.body_id.length, "a state's poses");
    }
    out.done = reader.done();
  } catch (error) {
    out.error = String(error.message);
  }
  return out;
}

// By the summary: statistics, chunk and message indexes, and a window of time.
async function readIndexed(path, bytes, stream) {
  const readable = { size: async () => BigInt(bytes.length), read: async (at, size) => bytes.subarray(Number(at), Number(at + size)) };
  const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers });
  const statistics = reader.statistics ?? fail("no statistics");
  same(Number(statistics.messageCount), stream.messages, "Statistics.messageCount");
  same(statistics.chunkCount, reader.chunkIndexes.length, "Statistics.chunkCount");
  same(reader.channelsById.size, statistics.channelCount, "channels of the summary");
  const times = [];
  for await (const message of reader.readMessages()) times.push(message.logTime);
  same(times.length, stream.messages, "messages by index");
  for (const [id, channel] of reader.channelsById)
    same(Number(statistics.channelMessageCounts.get(id) ?? 0n), stream.counts[channel.topic] ?? 0, channel.topic);
  const first = statistics.messageStartTime, third = (statistics.messageEndTime - first) / 3n;
  let window = 0;
  for await (const message of reader.readMessages({ startTime: first + third, endTime: first + 2n * third })) window += message ? 1 : 0;
  same(window, times.filter((t) => t >= first + third && t <= first + 2n * third).length, "messages of a window");
  const attachments = [];
  for await (const a of reader.readAttachments()) attachments.push(a.name);
  const metadata = [];
  for await (const m of reader.readMetadata()) metadata.push(m.name);
  return { chunks: reader.chunkIndexes.length, attachments, metadata };
}

let failed = false;
const recover = process.argv.includes("--recover");
for (const path of process.argv.slice(2).filter((a) => a !== "--recover")) {
  const bytes = new Uint8Array(fs.readFileSync(path));
  const stream = readStream(bytes);
  try {
    if (!recover && stream.error) fail(stream.error);
    if (!recover && !stream.done) fail("the file does not end as it should");
    const indexed = recover ? {} : await readIndexed(path, bytes, stream);
    console.log(JSON.stringify({ path, ok: true, ...stream, ...indexed }));
  } catch (error) {
    failed = true;
    console.log(JSON.stringify({ path, ok: false, ...stream, error: String(error.message) }));
  }
}
process.exit(failed ? 1 : 0);
