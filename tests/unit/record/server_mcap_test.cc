// MCAP files: what is written is read again; every cut leaves the chunks before it, every flipped byte is found.
#include <doctest/doctest.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include <sstream>

#include "proto/cpp/mcap_format.h"
#include "proto/cpp/mcap_reader.h"
#include "proto/cpp/record_file.h"
#include "server/record/mcap_writer.h"
#include "server/record/record_writer.h"
#include "tests/support/random.h"

using namespace tactus;

namespace {

struct Written {
  std::string bytes;
  std::vector<std::string> messages;
  std::vector<std::size_t> chunk_ends;    // bytes of the file until a chunk was closed
  std::vector<std::size_t> chunk_counts;  // messages until then
};

Written write(bool zstd, int messages, std::size_t chunk_bytes, std::uint32_t seed) {
  test::Random random(seed);
  Written out;
  mcap::WriterOptions options;
  options.library = "a test";
  options.chunk_bytes = chunk_bytes;
  options.zstd = zstd;
  mcap::Writer writer(options);
  const std::uint16_t schema = writer.add_schema("a.Schema", "text", "whatever");
  const std::uint16_t a = writer.add_channel(schema, "a", "text"), b = writer.add_channel(0, "b", "");
  writer.add_attachment("file", "text/plain", 5, "of some text");
  writer.add_metadata("facts", {{"key", "value"}});
  for (int i = 0; i < messages; ++i) {
    std::string data(static_cast<std::size_t>(random.uniform(0, 200)), static_cast<char>('a' + i % 7));
    const std::uint64_t before = writer.bytes();
    writer.add_message(i % 3 == 0 ? b : a, 1000u * static_cast<unsigned>(i), data);
    out.messages.push_back(std::move(data));
    if (writer.bytes() == before) continue;
    out.chunk_ends.push_back(writer.bytes());
    out.chunk_counts.push_back(out.messages.size());
  }
  writer.finish();
  out.bytes = writer.take();
  return out;
}

struct Read {
  std::vector<std::string> messages;
  std::string damage;
};

Read read(const std::string& bytes) {
  std::istringstream in(bytes);
  mcap::Reader reader(in);
  Read out;
  mcap::Message message;
  while (reader.next(message)) out.messages.emplace_back(message.data);
  out.damage = reader.damage();
  return out;
}

bool is_prefix(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

}  // namespace

TEST_CASE("messages come back in order, packed or not, whatever the size of the chunks") {
  for (const bool zstd : {false, true}) {
    for (const std::size_t chunk : {1u, 1000u, 1u << 20}) {
      const Written w = write(zstd, 100, chunk, 3);
      const Read r = read(w.bytes);
      CHECK(r.damage.empty());
      CHECK(r.messages == w.messages);
    }
  }
}

TEST_CASE("a file cut anywhere is read up to its last whole chunk, and said to be cut") {
  for (const bool zstd : {false, true}) {
    const Written w = write(zstd, 60, 700, 4);
    for (std::size_t at = 0; at < w.bytes.size(); ++at) {
      const Read r = read(w.bytes.substr(0, at));
      CHECK(!r.damage.empty());
      REQUIRE(is_prefix(r.messages, w.messages));
      std::size_t whole = 0;  // messages of chunks that ended before; the chunk's own indexes may be missing
      for (std::size_t i = 0; i < w.chunk_ends.size(); ++i)
        if (w.chunk_ends[i] <= at) whole = w.chunk_counts[i];
      CHECK(r.messages.size() >= whole);
    }
  }
}

TEST_CASE("every flipped bit of a file is found, and no message after it is given out as good") {
  for (const bool zstd : {false, true}) {
    const Written w = write(zstd, 40, 900, 5);
    for (std::size_t at = 0; at < w.bytes.size(); ++at) {
      std::string changed = w.bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      const Read r = read(changed);
      CHECK_MESSAGE(!r.damage.empty(), "byte " << at);
      CHECK_MESSAGE(is_prefix(r.messages, w.messages), "byte " << at);
    }
  }
}

TEST_CASE("what is no MCAP file, or asks for more memory than there is, is refused") {
  CHECK(read("").damage.find("empty") != std::string::npos);
  CHECK(read("a text file, and a long one at that").damage.find("not an MCAP file") != std::string::npos);
  std::string huge(mcap::kMagic);
  huge += '\x06';
  huge += std::string(8, '\x7f');
  CHECK(read(huge).damage.find("expected at most") != std::string::npos);
}

TEST_CASE("a recording's schemas are enough to decode it without this program's sources") {
  v1::RecordHeader header;
  header.set_scene("a scene");
  record::RecordWriter writer(header);
  v1::Record state;
  state.mutable_state()->set_tick(7);
  for (int i = 0; i < 7; ++i) state.mutable_state()->add_pose(0.125 * i);
  writer.add(state, 1);
  writer.finish(v1::RecordEnd(), 2);
  const google::protobuf::OneofDescriptor* kinds = v1::Record::descriptor()->oneof_decl(0);
  for (int i = 0; i < kinds->field_count(); ++i) {
    const google::protobuf::Descriptor& type = *kinds->field(i)->message_type();
    google::protobuf::FileDescriptorSet set;
    REQUIRE(set.ParseFromString(record::descriptor_set(type)));
    google::protobuf::DescriptorPool pool;
    for (const auto& file : set.file()) REQUIRE(pool.BuildFile(file) != nullptr);  // dependencies come first
    const google::protobuf::Descriptor* found = pool.FindMessageTypeByName(type.full_name());
    REQUIRE(found != nullptr);
    CHECK(found->field_count() == type.field_count());
    if (type.name() != "StatePacket") continue;
    google::protobuf::DynamicMessageFactory factory;
    const std::unique_ptr<google::protobuf::Message> message(factory.GetPrototype(found)->New());
    REQUIRE(message->ParseFromString(state.state().SerializeAsString()));
    CHECK(message->GetReflection()->GetUInt64(*message, found->FindFieldByName("tick")) == 7);
  }
  std::istringstream in(writer.take());
  wire::RecordReader reader(in);
  v1::Record record;
  REQUIRE(reader.next(record));
  CHECK(record.header().scene() == "a scene");
  REQUIRE(reader.next(record));
  CHECK(record.state().SerializeAsString() == state.state().SerializeAsString());
  REQUIRE(reader.next(record));
  CHECK(record.end().records() == 2);
  CHECK(!reader.next(record));
  CHECK(!reader.damaged());
}

TEST_CASE("an MCAP file of others is said to be no recording") {
  std::istringstream in(write(true, 10, 1000, 1).bytes);
  wire::RecordReader reader(in);
  v1::Record record;
  CHECK_FALSE(reader.next(record));
  CHECK(reader.damage().find("not a recording of Tactus") != std::string::npos);
}
