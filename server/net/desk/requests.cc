#include "server/net/desk/requests.h"

#include <algorithm>
#include <utility>

#include "proto/cpp/ranges.h"
#include "server/net/desk/modes.h"
#include "server/net/desk/play_desk.h"
#include "server/net/desk/record_desk.h"
#include "server/net/desk/request_table.h"
#include "server/net/udp/state_encoder.h"
#include "server/net/desk/statistics.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

void list_scenes(const Exchange& x) {
  v1::Reply reply;
  v1::SceneList* list = reply.mutable_scene_list();
  for (const SceneEntry& scene : x.hub().library.list()) {
    v1::SceneList::Entry* entry = list->add_scenes();
    entry->set_name(scene.name);
    entry->set_title(scene.title);
  }
  list->set_current(x.hub().scene.name);
  x.reply(std::move(reply));
}

void describe_scene(const Exchange& x) {
  v1::Reply reply;
  describe(x.hub().scene, *reply.mutable_scene());
  x.reply(std::move(reply));
}

// Names to indices; empty = all that move, unless parts of robots are named. False: says which name is unknown.
bool find_bodies(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec) {
  const SceneView& scene = x.hub().scene;
  spec.has_body.assign(scene.model().bodies.size(), 0);
  const bool parts = request.joints_size() + request.sensors_size() + request.end_effectors_size() > 0;
  bool all = request.bodies().empty() && !parts;
  for (const std::string& name : request.bodies()) {
    all = all || name == "*";
    if (name == "*") continue;
    const auto it = scene.body_ids.find(name);
    if (it == scene.body_ids.end()) {
      x.error(v1::ERROR_NOT_FOUND, "no body '" + name + "' in scene '" + scene.name + "'; DescribeScene lists them");
      return false;
    }
    spec.has_body[it->second] = 1;
  }
  for (BodyIndex b = 0; b < spec.has_body.size(); ++b) {
    if (all && scene.model().bodies[b].mode != BodyMode::fixed) spec.has_body[b] = 1;
    if (spec.has_body[b] != 0) spec.bodies.push_back(b);
  }
  return true;
}

void subscribe(const Exchange& x, const v1::Subscribe& request) {
  SubscriptionSpec spec;
  if (!find_bodies(x, request, spec) || !find_robot_parts(x, request, spec)) return;
  spec.velocity = request.velocity();
  spec.wrench = request.wrench();
  spec.contacts = request.contacts();
  spec.single_precision = request.single_precision();
  spec.shadow = request.shadow();
  spec.tools = request.tools();
  spec.decimation = std::max(1u, request.decimation());
  spec.contacts_every = std::max(1u, request.contacts_every());
  const std::size_t limit = x.hub().options.subscriptions_per_client;
  const Subscriber* subscriber = x.session()->subscribe(std::move(spec), limit);
  if (subscriber == nullptr)
    return x.error(v1::ERROR_FULL,
                   "a client may have " + std::to_string(limit) + " subscriptions (limits.subscriptions_per_client)");
  v1::Reply reply;
  v1::Subscription* out = reply.mutable_subscription();
  out->set_id(subscriber->spec().id);
  out->set_bodies(static_cast<std::uint32_t>(subscriber->spec().bodies.size()));
  out->set_joints(static_cast<std::uint32_t>(subscriber->spec().joints.size()));
  out->set_sensors(static_cast<std::uint32_t>(subscriber->spec().sensors.size()));
  out->set_end_effectors(static_cast<std::uint32_t>(subscriber->spec().end_effectors.size()));
  out->set_packets_per_tick(
      packets_per_tick(subscriber->spec(), jacobian_columns(x.hub().scene.model(), subscriber->spec())));
  x.reply(std::move(reply));
}

void set_playback(const Exchange& x, const v1::SetPlayback& request) {
  if (x.hub().play != nullptr) return x.hub().play->serve(x, request);
  x.error(v1::ERROR_WRONG_STATE, "this server runs a live world: a recording is played by tactusd --play FILE");
}

void unsubscribe(const Exchange& x, const v1::Unsubscribe& request) {
  if (x.session()->unsubscribe(request.id())) return x.done();
  x.error(v1::ERROR_NOT_FOUND, "this client has no subscription " + std::to_string(request.id()));
}

// The first number or text of the request that is beyond its range; empty: none.
std::string fault_in(const v1::Request& request) {
  const google::protobuf::Reflection& r = *request.GetReflection();
  const auto* body = r.GetOneofFieldDescriptor(request, v1::Request::descriptor()->oneof_decl(0));
  if (body == nullptr || body->message_type() == nullptr) return {};  // a command: its verdict says
  return wire::out_of_range(r.GetMessage(request, body));
}

}  // namespace

bool is_name(const std::string& text) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), allowed);
}

Exchange::Exchange(Hub& hub, Conversation& connection, std::uint32_t id)
    : hub_(hub), connection_(connection.weak_from_this()), id_(id), client_(connection.session()->slot()) {}

void Exchange::error(v1::ErrorCode code, const std::string& text) const {
  if (const auto c = connection_.lock()) c->send_error(id_, code, text);
}

void Exchange::done() const {
  v1::Reply reply;
  reply.mutable_done();
  this->reply(std::move(reply));
}

void Exchange::reply(v1::Reply&& body) const {
  body.set_id(id_);
  if (const auto c = connection_.lock()) c->send(body);
}

Session* Exchange::session() const {
  return hub_.sessions.find(client_);
}

bool Exchange::needs_world() const {
  const std::uint64_t now = hub_.lease_now();
  if (hub_.authority.holds(client_, kWorldChannel, now)) return true;
  if (hub_.authority.is_held(kWorldChannel, now)) {
    error(v1::ERROR_LEASED_BY_OTHER,
          "the lease 'world' is held by " + hub_.client_name(hub_.authority.holder(kWorldChannel)));
  } else {
    error(v1::ERROR_NOT_LEASED, "this needs the lease 'world': AcquireLease first");
  }
  return false;
}

void handle_request(Hub& hub, Conversation& connection, const v1::Request& request) {
  const Exchange x(hub, connection, request.id());
  if (request.id() == 0) return x.error(v1::ERROR_BAD_VALUE, "a request's id must not be 0: that marks events");
  if (x.session()->role == Role::observe && request.body_case() != 0 && changes_something(request))
    return x.error(v1::ERROR_READ_ONLY,
                   std::string("this session may only look on (role \"observe\"); ") + hub.how_to_drive());
  if (hub.play != nullptr && !PlayDesk::allows(request.body_case()) && request.body_case() != 0)
    return x.error(v1::ERROR_WRONG_STATE, hub.play->why());
  if (const std::string fault = fault_in(request); !fault.empty()) return x.error(v1::ERROR_BAD_VALUE, fault);
  using Body = v1::Request;
  // Without a default, so that the compiler names a request that nobody answers.
  // clang-format off
  switch (request.body_case()) {
    case Body::kHello:
    case Body::kAuthenticate: return x.error(v1::ERROR_WRONG_STATE, "the handshake is done already");
    case Body::kListScenes: return list_scenes(x);
    case Body::kLoadScene: return load_scene(x, request.load_scene());
    case Body::kDescribeScene: return describe_scene(x);
    case Body::kSubscribe: return subscribe(x, request.subscribe());
    case Body::kUnsubscribe: return unsubscribe(x, request.unsubscribe());
    case Body::kAcquireLease: return acquire_lease(x, request.acquire_lease());
    case Body::kRenewLease: return renew_lease(x, request.renew_lease());
    case Body::kReleaseLease: return release_lease(x, request.release_lease());
    case Body::kPause: return pause(x, request.pause());
    case Body::kResume: return resume(x, request.resume());
    case Body::kStep: return step(x, request.step());
    case Body::kSetLockstep: return set_lockstep(x, request.set_lockstep());
    case Body::kGrant: return grant(x, request.grant());
    case Body::kReset: return reset(x);
    case Body::kTakeSnapshot: return take_snapshot(x, request.take_snapshot());
    case Body::kRestoreSnapshot: return restore_snapshot(x, request.restore_snapshot());
    case Body::kSetModel: return set_model(x, request.set_model());
    case Body::kSetShadow: return set_shadow(x, request.set_shadow());
    case Body::kSetParameter: return set_parameter(x, request.set_parameter());
    case Body::kSetJointOptions: return set_joint_options(x, request.set_joint_options());
    case Body::kRecoverFault: return recover_fault(x, request.recover_fault());
    case Body::kGetStatistics: return hub.statistics->answer(x);
    case Body::kListLeases: return list_leases(x);
    case Body::kCommand: return take_command(x, request.id(), request.command());
    case Body::kGetMesh: return get_mesh(x, request.get_mesh());
    case Body::kSaveBlackBox:
    case Body::kStartRecording:
    case Body::kStopRecording: return hub.record->serve(x, request);
    case Body::kSetLinkFaults: return set_link_faults(x, request.set_link_faults());
    case Body::kGetLinkFaults: return get_link_faults(x, request.get_link_faults());
    case Body::kAttachTool: return attach_tool(x, request.attach_tool());
    case Body::kDetachTool: return detach_tool(x, request.detach_tool());
    case Body::kSetPlayback: return set_playback(x, request.set_playback());
    case Body::kStop: return stop(x);
    case Body::BODY_NOT_SET: break;  // or of a newer version
  }
  // clang-format on
  x.error(v1::ERROR_UNKNOWN_REQUEST, "this server (version 1.0) does not know the request; is the client newer?");
}

}  // namespace tactus::net
