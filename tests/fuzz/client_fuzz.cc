// What a server, or somebody in its place, may send to the C++ client: control frames, and states of any content.
#include <cstdlib>
#include <vector>

#include "clients/cpp/src/assembler.h"
#include "clients/cpp/src/control_codec.h"
#include "clients/cpp/src/link_math.h"
#include "control.pb.h"

using namespace tactus;

namespace {

void check(const client::State& state) {
  for (std::size_t i = 1; i < state.bodies.size(); ++i) {
    if (state.bodies[i].id < state.bodies[i - 1].id) std::abort();  // ascending
  }
  for (const client::BodyState& body : state.bodies) {
    if (state.find(body.id) == nullptr) std::abort();
  }
}

}  // namespace

// The first byte chooses: a stream of packets (each with a length of two bytes before it), a control frame, its length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint8_t choice = data[0];
  std::span<const std::uint8_t> rest(data + 1, size - 1);
  if (choice % 4 == 3) {
    client::ControlCodec codec, sealed;
    sealed.set_key(wire::Key{});
    sealed.decode(rest);
    sealed.legal_length(rest.size() < 4 ? 0 : static_cast<std::uint32_t>(rest[0]) << 24 | rest[1]);
    const auto payload = codec.decode(rest);
    v1::Reply reply;
    if (payload && reply.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) reply.SerializeAsString();
    return 0;
  }
  client::Assembler assembler;
  client::VerdictTracker tracker;
  client::Quality quality;
  for (std::uint64_t sequence = 1; sequence < 8; ++sequence) tracker.sent(sequence, 1);
  std::vector<client::Verdict> judged;
  std::uint64_t sequence = 0;
  while (rest.size() > 2) {
    const std::size_t length = std::min<std::size_t>(rest.size() - 2, rest[0] | rest[1] << 8);
    v1::StatePacket packet;
    if (packet.ParseFromArray(rest.data() + 2, static_cast<int>(length))) {
      if (const auto state = assembler.add(packet, ++sequence, 1)) {
        check(*state);
        quality.on_state(*state, choice % 4, 3);
      }
      tracker.receive(packet, 2, judged);
    }
    rest = rest.subspan(2 + length);
  }
  if (judged.size() > 7) std::abort();  // each command is judged once
  client::Link link;
  quality.report(link);
  link.explain();
  return 0;
}
