// Whole sessions of valid messages against a whole server in lockstep: what live tests sent, changed field by field
// (talk.h), sealed with the right key, so that all of it gets behind the mac and the decoders. After each talk the
// world is granted a few ticks, and its snapshot must hold finite numbers only. TACTUS_FUZZ_SHARES=1: how much of each
// kind was taken, at the end.
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "control.pb.h"
#include "proto/cpp/ranges.h"
#include "tests/fuzz/count.h"
#include "tests/fuzz/peer.h"
#include "tests/fuzz/talk.h"

using namespace tactus;

namespace {

// Two bodies and an arm: what live tests name. tests/fuzz/run stands in the repository.
constexpr const char* kScenes = "tests/fuzz";
constexpr std::uint32_t kStepMost = 200;  // a sanitized step takes long, and a longer one is no other thing
constexpr std::uint64_t kGrantAhead = 10;
constexpr int kTalksASession = 25;  // subscriptions, tools and bad links last as long

// What only this session knows: small numbers in a talk stand for it.
struct Told {
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> leases, subscriptions;
  std::string snapshot;
};

std::uint32_t meant(std::uint32_t x, const std::vector<std::uint32_t>& told) {
  return x == 0 || x >= 16 || told.empty() ? x : told[told.size() - 1 - (x - 1) % told.size()];
}

// An epoch of 1 is the present one; leases and subscriptions count back from the newest; a state of a few bytes is the
// newest snapshot.
void localise(google::protobuf::Message& m, const Told& told) {
  const auto& r = *m.GetReflection();
  const google::protobuf::Descriptor& d = *m.GetDescriptor();
  if (const auto* field = d.FindFieldByName("scene_epoch"); field != nullptr && r.GetUInt32(m, field) == 1)
    r.SetUInt32(&m, field, told.epoch);
  if (const auto* field = d.FindFieldByName("lease"))
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32)
      r.SetUInt32(&m, field, meant(r.GetUInt32(m, field), told.leases));
  if (d.name() == "Unsubscribe") r.SetUInt32(&m, d.field(0), meant(r.GetUInt32(m, d.field(0)), told.subscriptions));
  if (d.name() == "RestoreSnapshot") {
    auto& restore = static_cast<v1::RestoreSnapshot&>(m);
    if (!restore.state().empty() && restore.state().size() < 16) restore.set_state(told.snapshot);
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  r.ListFields(m, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    localise(*r.MutableMessage(&m, field), told);
  }
}

constexpr wire::Range kTicks = wire::range_of("Step.ticks");

// Ticks of a talk count from where its world stands; what is far beyond is far beyond.
std::uint64_t near(std::uint64_t run_to_tick, std::uint64_t tick) {
  return run_to_tick < 100'000 ? tick + run_to_tick % (kGrantAhead + 1) : run_to_tick;
}

// As it goes to the server; false: not at all.
bool prepare(v1::Request& request, std::uint64_t tick) {
  if (request.has_hello() || request.has_authenticate()) return false;
  if (request.has_step() && request.step().ticks() > kStepMost && kTicks.holds(request.step().ticks()))
    request.mutable_step()->set_ticks(kStepMost);
  if (request.has_grant()) request.mutable_grant()->set_run_to_tick(near(request.grant().run_to_tick(), tick));
  if (request.has_command() && request.id() == 0) request.set_id(9);
  return true;
}

// What became of each kind of message.
struct Shares {
  struct Share {
    std::uint64_t given = 0, taken = 0;
  };
  std::map<std::string, Share> of;
  std::map<std::string, std::uint64_t> verdicts;
  void add(const std::string& kind, bool taken) {
    ++of[kind].given;
    if (taken) ++of[kind].taken;
  }
  void tell() const {
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    for (const auto& [kind, share] : of)
      std::fprintf(stderr, "%s: %llu, taken: %llu\n", kind.c_str(), number(share.given), number(share.taken));
    for (const auto& [verdict, count] : verdicts) std::fprintf(stderr, "%s: %llu\n", verdict.c_str(), number(count));
  }
};
Shares shares;

std::string kind_of(const v1::Request& request) {
  const auto* field = request.GetReflection()->GetOneofFieldDescriptor(request, request.GetDescriptor()->oneof_decl(0));
  return field == nullptr ? "empty" : field->name() + (request.id() == 0 ? " without id" : "");
}

class Speaker {
 public:
  explicit Speaker(test::WholeServer& server) : peer_(server) {}
  // It may drive all there is, whatever it has let go of before. False: the server has cut us off.
  bool begin() {
    v1::Request request;
    request.set_id(7);
    for (const char* channel :
         {"world", "body/block/wrench", "body/ball/wrench", "tool/block", "tool/ball", "joint/arm/*"})
      request.mutable_acquire_lease()->add_channels(channel);
    if (!peer_.request(request.SerializeAsString())) return false;
    if (peer_.reply().has_lease()) told_.leases.push_back(peer_.reply().lease().lease());
    return true;
  }
  // False: the server has cut us off, or the world has ended.
  bool send(fuzz::Sent& sent) {
    told_.epoch = peer_.epoch();
    localise(*sent.message, told_);
    if (sent.door == fuzz::kControl) return request(static_cast<v1::Request&>(*sent.message));
    if (sent.door == static_cast<std::uint8_t>(wire::DatagramType::grant)) {
      auto& grant = static_cast<v1::GrantPacket&>(*sent.message);
      grant.set_run_to_tick(near(grant.run_to_tick(), tick_));
    }
    fuzz::count_message();
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
    const v1::Statistics& statistics = peer_.reply().statistics();
    fuzz::require(std::isfinite(statistics.kinetic_energy_j()), "the energy is not finite");
    look_at_verdicts(statistics);
    return true;
  }

 private:
  // What became of its datagrams since the last look.
  void look_at_verdicts(const v1::Statistics& statistics) {
    for (const v1::ClientStatistics& client : statistics.clients()) {
      if (client.session() != peer_.session()) continue;
      count("commands received", client.commands_received());
      fuzz::messages_taken += count("commands applied", client.commands_applied());
      for (const v1::Parameter& reason : client.refused_by_reason())
        count(reason.key(), std::strtoull(reason.value().c_str(), nullptr, 10));
    }
  }
  std::uint64_t count(const std::string& what, std::uint64_t now) {
    const std::uint64_t more = now - std::exchange(counted_[what], now);
    shares.verdicts[what] += more;
    return more;
  }
  bool request(v1::Request& request) {
    if (!prepare(request, tick_)) return true;
    fuzz::count_message();
    if (!peer_.request(request.SerializePartialAsString())) return false;
    if (request.has_command()) return true;
    const v1::Reply& reply = peer_.reply();
    shares.add(kind_of(request), !reply.has_error());
    if (reply.has_error()) return true;
    fuzz::count_taken();
    if (reply.has_lease()) told_.leases.push_back(reply.lease().lease());
    if (reply.has_subscription()) told_.subscriptions.push_back(reply.subscription().id());
    if (reply.has_snapshot()) told_.snapshot = reply.snapshot().state();
    if (reply.has_grant()) tick_ = reply.grant().tick();
    if (reply.has_scene() || request.has_restore_snapshot()) tick_ = 0;  // or later: then a grant runs no tick
    return true;
  }

  fuzz::Peer peer_;
  Told told_;
  std::uint64_t tick_ = 0;
  std::map<std::string, std::uint64_t> counted_;
};

// The scene can be loaded anew.
test::WholeServer* make_server() {
  net::NetOptions options = test::free_ports();
  options.scenes_dir = kScenes;
  const std::string path = std::string(kScenes) + "/session.toml";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return new test::WholeServer(text.str(), options, path);
}

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
  static auto* server = make_server();
  static auto& session = *new std::unique_ptr<Speaker>;  // never destroyed, like the server, which would log of it
  static int uses = 0;
  if (std::getenv("TACTUS_FUZZ_SHARES") != nullptr) fuzz::tell_more = [] { shares.tell(); };
  if (session == nullptr || ++uses % kTalksASession == 0) {
    session.reset();
    session = std::make_unique<Speaker>(*server);
    uses = 0;
  }
  fuzz::Talk talk = fuzz::read_talk({data, size});
  bool going = session->begin();
  for (fuzz::Sent& sent : talk) going = going && session->send(sent);
  if (!going || !session->run_on()) session.reset();
  return 0;
}
