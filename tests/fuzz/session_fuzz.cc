// Whole sessions of valid messages against a whole server in lockstep: what live tests sent, changed field by field
// (talk.h), sealed with the right key, so that all of it gets behind the mac and the decoders. After each talk the
// world is granted a few ticks, and its snapshot must hold finite numbers only.
#include <cstring>

#include "control.pb.h"
#include "proto/cpp/ranges.h"
#include "tests/fuzz/count.h"
#include "tests/fuzz/peer.h"
#include "tests/fuzz/talk.h"

using namespace tactus;

namespace {

// Two bodies and an arm: what live tests name.
constexpr const char* kScene = R"(title = "Fuzz: a block, a ball, an arm of two joints"
step_s = 0.001
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 1
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
[[body]]
name = "ball"
position_m = [0.05, 0, 0.3]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1
[[robot]]
name = "arm"
urdf = "config/robots/planar_arm.urdf"
drive = [{joint = "shoulder", kind = "position", target_rad = 0, bandwidth_rad_per_s = 30}, {joint = "elbow", kind = "torque"}]
)";
constexpr std::uint32_t kStepMost = 200;  // a sanitized step takes long, and a longer one is no other thing
constexpr std::uint64_t kGrantAhead = 20;

// Epochs are random: 1 stands for the present one.
void localise(google::protobuf::Message& m, std::uint32_t epoch) {
  const auto& r = *m.GetReflection();
  const google::protobuf::Descriptor& d = *m.GetDescriptor();
  if (const auto* field = d.FindFieldByName("scene_epoch"); field != nullptr && r.GetUInt32(m, field) == 1)
    r.SetUInt32(&m, field, epoch);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  r.ListFields(m, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    localise(*r.MutableMessage(&m, field), epoch);
  }
}

constexpr wire::Range kTicks = wire::range_of("Step.ticks");

// As it goes to the server; false: not at all.
bool prepare(v1::Request& request, std::uint64_t tick) {
  if (request.has_hello() || request.has_authenticate()) return false;
  if (request.has_step() && request.step().ticks() > kStepMost && kTicks.holds(request.step().ticks()))
    request.mutable_step()->set_ticks(kStepMost);
  if (request.has_grant() && request.grant().run_to_tick() < tick + 100'000)
    request.mutable_grant()->set_run_to_tick(std::min(request.grant().run_to_tick(), tick + kGrantAhead));
  if (request.has_command() && request.id() == 0) request.set_id(9);
  return true;
}

class Speaker {
 public:
  explicit Speaker(test::WholeServer& server) : peer_(server) {}
  // False: the server has cut us off, or the world has ended.
  bool send(fuzz::Sent& sent) {
    localise(*sent.message, peer_.epoch());
    fuzz::count_message();
    if (sent.door == fuzz::kControl) {
      auto& request = static_cast<v1::Request&>(*sent.message);
      return !prepare(request, tick_) || peer_.request(request.SerializePartialAsString());
    }
    const std::string payload = sent.message->SerializePartialAsString();
    peer_.datagram(sent.door, {reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()});
    return true;
  }
  // Some ticks, and a look at the state. A talk may have let lockstep go.
  bool run_on() {
    v1::Request request;
    request.set_id(8);
    request.mutable_set_lockstep()->set_on(true);
    if (!peer_.request(request.SerializeAsString())) return false;
    request.mutable_take_snapshot();
    if (!peer_.request(request.SerializeAsString())) return false;
    tick_ = peer_.reply().snapshot().tick();
    request.mutable_grant()->set_run_to_tick(tick_ + kGrantAhead);
    if (!peer_.request(request.SerializeAsString())) return false;
    request.mutable_get_statistics();
    if (!peer_.request(request.SerializeAsString())) return false;
    if (!std::isfinite(peer_.reply().statistics().kinetic_energy_j())) std::abort();
    return true;
  }

 private:
  fuzz::Peer peer_;
  std::uint64_t tick_ = 0;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  fuzz::Random random(seed);
  fuzz::Talk talk = fuzz::read_talk({data, size});
  fuzz::change(talk, random);
  const std::string out = fuzz::write_talk(talk, most);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* server = new test::WholeServer(kScene, test::free_ports());
  static std::unique_ptr<Speaker> session;
  static int uses = 0;
  if (session == nullptr || ++uses % 100 == 0) {  // leases end
    session.reset();
    session = std::make_unique<Speaker>(*server);
  }
  fuzz::Talk talk = fuzz::read_talk({data, size});
  bool going = true;
  for (fuzz::Sent& sent : talk) going = going && session->send(sent);
  if (!going || !session->run_on()) session.reset();
  return 0;
}
