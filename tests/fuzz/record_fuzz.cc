// The readers of MCAP files and of recordings, with any bytes: they read what is whole, say where they stop, and take
// no more memory than one chunk. Records are read again as they were written.
#include <cstdlib>
#include <sstream>

#include "core/check.h"
#include "proto/cpp/mcap_format.h"
#include "proto/cpp/mcap_reader.h"
#include "proto/cpp/record_file.h"
#include "server/record/play_tape.h"
#include "server/record/record_writer.h"

namespace {

using namespace tactus;

void read(const std::string& bytes) {
  std::istringstream raw(bytes);
  wire::RecordReader reader(raw);
  v1::Record record;
  while (reader.next(record)) {
  }
  if (reader.offset() > bytes.size()) std::abort();
  if (!reader.damaged() && reader.offset() != bytes.size()) std::abort();
}

// As a playback goes through it: to the end, back, and to the middle.
void play(const std::string& bytes) {
  StateSlot slot;
  slot.resize(4, 8);
  try {
    record::PlayTape tape(std::make_unique<std::istringstream>(bytes), "fuzz");
    tape.size(4, 8);
    const std::uint64_t begin = tape.begin_ns(), length = tape.end_ns() - begin;
    for (const std::uint64_t t : {begin + length, begin, begin + length / 2, begin + length / 4 * 3}) {
      tape.at(t, slot);
      if (slot.frame.body_count > 4 || slot.frame.joint_count > 4 || slot.frame.contact_count > 8) std::abort();
    }
  } catch (const InputError&) {
  }
}

// As what a chunk holds, which gets past the CRC.
std::string as_chunk(const std::string& records) {
  std::string out(mcap::kMagic), content;
  for (int i = 0; i < 2; ++i) mcap::put(content, std::uint64_t{0});
  mcap::put(content, static_cast<std::uint64_t>(records.size()));
  mcap::put(content, std::uint32_t{0});
  mcap::put_text(content, "");
  mcap::put(content, static_cast<std::uint64_t>(records.size()));
  content += records;
  mcap::put(out, static_cast<std::uint8_t>(mcap::Op::chunk));
  mcap::put(out, static_cast<std::uint64_t>(content.size()));
  return out + content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(std::string(mcap::kMagic) + bytes);
  read(as_chunk(bytes));
  play(bytes);
  play(as_chunk(bytes));

  v1::Record body, record;
  if (!body.ParseFromString(bytes) || body.body_case() == v1::Record::BODY_NOT_SET) return 0;
  if (body.has_header() || body.has_end()) return 0;
  body.DiscardUnknownFields();
  record::RecordWriter writer{v1::RecordHeader()};
  writer.add(body, 1);
  writer.finish(v1::RecordEnd(), 2);
  std::istringstream sound(writer.take());
  wire::RecordReader again(sound);
  if (!again.next(record) || !again.next(record)) std::abort();
  if (record.SerializeAsString() != body.SerializeAsString()) std::abort();
  if (!again.next(record) || again.next(record) || again.damaged()) std::abort();
  return 0;
}
