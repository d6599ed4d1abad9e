#include "server/net/desk/requests.h"

#include <string>

#include "proto/cpp/ranges.h"
#include "server/net/desk/request_table.h"

namespace tactus::net {
namespace {

// The first number or text of the request that is beyond its range; empty: none.
std::string fault_in(const v1::Request& request) {
  const google::protobuf::Reflection& r = *request.GetReflection();
  const auto* body = r.GetOneofFieldDescriptor(request, v1::Request::descriptor()->oneof_decl(0));
  if (body == nullptr || body->message_type() == nullptr) return {};  // a command: its verdict says
  return wire::out_of_range(r.GetMessage(request, body));
}

// For those who may only look on.
const char* how_to_drive(bool needs_token) {
  return needs_token ? "driving takes the token of [network] token_file (--token-file)"
                     : "who may drive is said by [access] in the server's config (users, groups, others)";
}

}  // namespace

void RequestDesk::serve(const std::shared_ptr<ClientLine>& line, const v1::Request& request) {
  const Exchange x(uses_.sessions, line, request.id());
  if (request.id() == 0) return x.error(v1::ERROR_BAD_VALUE, "a request's id must not be 0: that marks events");
  if (x.session()->role == Role::observe && request.body_case() != 0 && changes_something(request))
    return x.error(v1::ERROR_READ_ONLY, std::string("this session may only look on (role \"observe\"); ") +
                                            how_to_drive(uses_.options.needs_token()));
  if (uses_.status.is_playback() && !PlayDesk::allows(request.body_case()) && request.body_case() != 0)
    return x.error(v1::ERROR_WRONG_STATE, uses_.status.playing);
  if (const std::string fault = fault_in(request); !fault.empty()) return x.error(v1::ERROR_BAD_VALUE, fault);
  using Body = v1::Request;
  // Without a default, so that the compiler names a request that nobody answers.
  // clang-format off
  switch (request.body_case()) {
    case Body::kHello:
    case Body::kAuthenticate: return x.error(v1::ERROR_WRONG_STATE, "the handshake is done already");
    case Body::kListScenes: return desks_.scenes.list(x);
    case Body::kLoadScene: return desks_.scenes.load(x, request.load_scene());
    case Body::kDescribeScene: return reply_scene(x, uses_.scene);
    case Body::kSubscribe: return desks_.views.subscribe(x, request.subscribe());
    case Body::kUnsubscribe: return desks_.views.unsubscribe(x, request.unsubscribe());
    case Body::kAcquireLease: return desks_.leases.acquire(x, request.acquire_lease());
    case Body::kRenewLease: return desks_.leases.renew(x, request.renew_lease());
    case Body::kReleaseLease: return desks_.leases.release(x, request.release_lease());
    case Body::kPause: return desks_.modes.pause(x, request.pause());
    case Body::kResume: return desks_.modes.resume(x, request.resume());
    case Body::kStep: return desks_.modes.step(x, request.step());
    case Body::kSetLockstep: return desks_.modes.set_lockstep(x, request.set_lockstep());
    case Body::kGrant: return desks_.modes.grant(x, request.grant());
    case Body::kReset: return desks_.worlds.reset(x);
    case Body::kTakeSnapshot: return desks_.worlds.take_snapshot(x, request.take_snapshot());
    case Body::kRestoreSnapshot: return desks_.worlds.restore_snapshot(x, request.restore_snapshot());
    case Body::kSetModel: return desks_.models.set_model(x, request.set_model());
    case Body::kSetShadow: return desks_.models.set_shadow(x, request.set_shadow());
    case Body::kSetParameter: return desks_.worlds.set_parameter(x, request.set_parameter());
    case Body::kSetJointOptions: return desks_.joints.set_options(x, request.set_joint_options());
    case Body::kRecoverFault: return desks_.joints.recover(x, request.recover_fault());
    case Body::kGetStatistics: return desks_.statistics.answer(x);
    case Body::kListLeases: return desks_.leases.list(x);
    case Body::kCommand: return take_command(x, request.id(), request.command());
    case Body::kGetMesh: return desks_.views.get_mesh(x, request.get_mesh());
    case Body::kSaveBlackBox:
    case Body::kStartRecording:
    case Body::kStopRecording: return desks_.records.serve(x, request);
    case Body::kSetLinkFaults: return desks_.links.set(x, request.set_link_faults());
    case Body::kGetLinkFaults: return desks_.links.get(x, request.get_link_faults());
    case Body::kAttachTool: return desks_.devices.attach(x, request.attach_tool());
    case Body::kDetachTool: return desks_.devices.detach(x, request.detach_tool());
    case Body::kSetPlayback: return set_playback(x, request.set_playback());
    case Body::kStop: return desks_.leases.stop(x);
    case Body::BODY_NOT_SET: break;  // or of a newer version
  }
  // clang-format on
  x.error(v1::ERROR_UNKNOWN_REQUEST, "this server (version 1.0) does not know the request; is the client newer?");
}

// No reply: the verdict comes with the states, as for a datagram.
void RequestDesk::take_command(const Exchange& x, std::uint64_t sequence, const std::string& packet) {
  Session* session = x.session();
  if (!session->framed)
    return x.error(v1::ERROR_WRONG_STATE,
                   "commands of this connection go as datagrams; in frames over a WebSocket only");
  uses_.realtime.take_command(*session, sequence,
                              {reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()});
}

void RequestDesk::set_playback(const Exchange& x, const v1::SetPlayback& request) {
  if (play_ != nullptr) return play_->serve(x, request);
  x.error(v1::ERROR_WRONG_STATE, "this server runs a live world: a recording is played by tactusd --play FILE");
}

}  // namespace tactus::net
