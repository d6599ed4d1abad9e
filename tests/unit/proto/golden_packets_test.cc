// The golden packets of proto/golden decode to what their descriptions say, with the framing and keys of
// proto/cpp/seal.h.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control.pb.h"
#include "doctest/doctest.h"
#include "haptic.pb.h"
#include "proto/cpp/seal.h"
#include "realtime.pb.h"

namespace {

namespace wire = tactus::wire;
namespace pb = google::protobuf;
using Bytes = std::vector<std::uint8_t>;
using Fields = pb::Map<std::string, pb::Value>;

Bytes from_hex(const std::string& hex) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return out;
}

template <class Array>
Array array_from_hex(const std::string& hex) {
  const Bytes bytes = from_hex(hex);
  Array out{};
  REQUIRE(bytes.size() == out.size());
  std::memcpy(out.data(), bytes.data(), out.size());
  return out;
}

pb::Struct read_entry(const std::string& name) {
  std::ifstream file(std::string(TACTUS_SOURCE_DIR) + "/proto/golden/" + name + ".json");
  REQUIRE_MESSAGE(file.good(), name);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  pb::Struct out;
  REQUIRE_MESSAGE(pb::util::JsonStringToMessage(text, &out).ok(), name);
  return out;
}

const std::string& text(const Fields& fields, const std::string& key) {
  return fields.at(key).string_value();
}
std::uint32_t number(const Fields& fields, const std::string& key) {
  return static_cast<std::uint32_t>(fields.at(key).number_value());
}

std::unique_ptr<pb::Message> new_message(const std::string& type) {
  const pb::Descriptor* descriptor = pb::DescriptorPool::generated_pool()->FindMessageTypeByName("tactus.v1." + type);
  REQUIRE_MESSAGE(descriptor != nullptr, type);
  return std::unique_ptr<pb::Message>(pb::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
}

// The payload decodes to the message that the entry describes.
void check_message(const Fields& entry, std::span<const std::uint8_t> payload) {
  const auto found = new_message(text(entry, "message_type"));
  const auto expected = new_message(text(entry, "message_type"));
  std::string json;
  REQUIRE(pb::util::MessageToJsonString(entry.at("message").struct_value(), &json).ok());
  REQUIRE(pb::util::JsonStringToMessage(json, expected.get()).ok());
  REQUIRE(found->ParseFromArray(payload.data(), static_cast<int>(payload.size())));
  std::string difference;
  pb::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  CHECK_MESSAGE(differencer.Compare(*expected, *found), difference);
  CHECK(found->ByteSizeLong() > 0);
}

wire::DatagramType datagram_type(const std::string& name) {
  static const std::map<std::string, wire::DatagramType> types = {
      {"STATE", wire::DatagramType::state},     {"COMMAND", wire::DatagramType::command},
      {"PING", wire::DatagramType::ping},       {"PONG", wire::DatagramType::pong},
      {"GRANT", wire::DatagramType::grant},     {"SHADOW", wire::DatagramType::shadow},
      {"GRANTED", wire::DatagramType::granted}, {"DEVICE", wire::DatagramType::device},
      {"TOOL", wire::DatagramType::tool},       {"VERDICTS", wire::DatagramType::verdicts}};
  return types.at(name);
}

void check_datagram(const std::string& name) {
  INFO(name);
  const pb::Struct file = read_entry(name);
  const Fields& entry = file.fields();
  const Bytes datagram = from_hex(text(entry, "bytes"));
  wire::DatagramHeader header;
  REQUIRE(wire::read_header(datagram, header) == wire::HeaderError::none);
  CHECK(header.type == datagram_type(text(entry, "type")));
  CHECK(header.session == number(entry, "session"));
  CHECK(header.sequence == std::stoull(text(entry, "sequence")));

  wire::Sealer sealer(array_from_hex<wire::Key>(text(entry, "key")));
  REQUIRE(sealer.open_datagram(datagram.data(), datagram.size()));
  const std::span payload =
      std::span(datagram).subspan(wire::kHeaderBytes, datagram.size() - wire::kHeaderBytes - wire::kMacBytes);
  check_message(entry, payload);

  Bytes sealed(datagram.size());
  wire::write_header(sealed.data(), header);
  std::memcpy(sealed.data() + wire::kHeaderBytes, payload.data(), payload.size());
  CHECK(sealer.seal_datagram(sealed.data(), sealed.size() - wire::kMacBytes) == datagram.size());
  CHECK(sealed == datagram);
}

void check_control_frames(const std::string& name) {
  INFO(name);
  const pb::Struct file = read_entry(name);
  const Fields& entry = file.fields();
  wire::Sealer sealer(array_from_hex<wire::Key>(text(entry, "key")));
  const char direction = text(entry, "direction")[0];
  REQUIRE(entry.at("frames").list_value().values_size() > 0);
  for (const pb::Value& value : entry.at("frames").list_value().values()) {
    const Fields& frame = value.struct_value().fields();
    const Bytes bytes = from_hex(text(frame, "bytes"));
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    REQUIRE(bytes.size() == sizeof length + length);
    std::span<const std::uint8_t> payload = std::span(bytes).subspan(sizeof length);
    if (frame.at("mac").bool_value()) {
      const std::span<const std::uint8_t> mac = payload.last(wire::kMacBytes);
      payload = payload.first(payload.size() - wire::kMacBytes);
      CHECK(wire::equal(sealer.control_mac(direction, number(frame, "counter"), payload), mac));
      CHECK_FALSE(wire::equal(sealer.control_mac(direction, number(frame, "counter") + 1, payload), mac));
    }
    check_message(frame, payload);
  }
}

// The first check that a datagram fails, in the order that proto/README.md gives.
std::string refusal(const Bytes& datagram, std::uint32_t session, wire::Sealer& sealer) {
  wire::DatagramHeader header;
  switch (wire::read_header(datagram, header)) {
    case wire::HeaderError::too_short:
    case wire::HeaderError::too_long:
      return "size";
    case wire::HeaderError::magic:
      return "magic";
    case wire::HeaderError::version:
      return "version";
    case wire::HeaderError::type:
      return "type";
    case wire::HeaderError::none:
      break;
  }
  if (header.session != session) return "session";
  return sealer.open_datagram(datagram.data(), datagram.size()) ? "" : "mac";
}

}  // namespace

TEST_CASE("golden datagrams decode to what they describe, and are sealed to the same bytes") {
  for (const char* name : {"device",
                           "tool",
                           "state_double",
                           "state_float",
                           "state_contacts",
                           "state_exact",
                           "state_verdicts",
                           "state_joints",
                           "state_play",
                           "command_joints",
                           "command_robot",
                           "state_empty",
                           "state_part_0_of_2",
                           "state_part_1_of_2",
                           "command",
                           "command_heartbeat",
                           "ping",
                           "pong",
                           "grant",
                           "shadow"})
    check_datagram(name);
}

TEST_CASE("golden control frames, without and with a mac") {
  check_control_frames("control_client");
  check_control_frames("control_server");
}

TEST_CASE("golden handshake: session key and proofs") {
  const pb::Struct file = read_entry("handshake");
  const Fields& entry = file.fields();
  const Bytes token_file = from_hex(text(entry, "token_file"));
  std::string token(token_file.begin(), token_file.end());
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  const auto client = array_from_hex<wire::Nonce>(text(entry, "nonce_client"));
  const auto server = array_from_hex<wire::Nonce>(text(entry, "nonce_server"));
  CHECK(wire::derive_session_key(token, client, server) == array_from_hex<wire::Key>(text(entry, "session_key")));
  CHECK(wire::handshake_proof(token, "client", client, server) ==
        array_from_hex<wire::Proof>(text(entry, "client_proof")));
  CHECK(wire::handshake_proof(token, "server", client, server) ==
        array_from_hex<wire::Proof>(text(entry, "server_proof")));
}

TEST_CASE("golden datagrams that must be refused, each for its reason") {
  const pb::Struct file = read_entry("refused");
  const Fields& entry = file.fields();
  wire::Sealer sealer(array_from_hex<wire::Key>(text(entry, "key")));
  REQUIRE(entry.at("refused").list_value().values_size() > 0);
  for (const pb::Value& value : entry.at("refused").list_value().values()) {
    const Fields& item = value.struct_value().fields();
    CHECK(refusal(from_hex(text(item, "bytes")), number(entry, "session"), sealer) == text(item, "reason"));
  }
}
