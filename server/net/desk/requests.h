// What each control request does. Replies at once, or when the tick has done it.
#pragma once

#include "core/shape/smooth/smooth_tessellate.h"
#include "server/net/control/conversation.h"

namespace tactus::net {

// A request of a session whose handshake is done.
void handle_request(Hub& hub, Conversation& connection, const v1::Request& request);

// [A-Za-z0-9_.-]{1,64}: clients, snapshots.
bool is_name(const std::string& text);

// One request being served. Copies live on in completions; a client that has left by then gets nothing.
class Exchange {
 public:
  Exchange(Hub& hub, Conversation& connection, std::uint32_t id);

  void error(v1::ErrorCode code, const std::string& text) const;
  void done() const;
  void reply(v1::Reply&& body) const;
  // The client holds the lease "world"; otherwise says so.
  [[nodiscard]] bool needs_world() const;
  // The channel's present holder, for error texts.
  [[nodiscard]] Session* session() const;
  [[nodiscard]] Hub& hub() const { return hub_; }
  [[nodiscard]] ClientSlot client() const { return client_; }

 private:
  Hub& hub_;
  std::weak_ptr<Conversation> connection_;
  std::uint32_t id_;
  ClientSlot client_;
};

// requests_model.cc
// The tick's processor, which solvers keep off; -1: nowhere.
[[nodiscard]] int tick_cpu(const Hub& hub);
// Builds what moves the world with `kind` beside the tick (null: the tick does it), on the loader's thread; then
// continues on net's. Not continued when the scene has changed meanwhile: the client is told.
void with_solver(const Exchange& x, ContactModelKind kind, std::function<void(SlowSolver*)> then);

// requests_world.cc
// For the tick, from this client.
[[nodiscard]] Command command_of(const Exchange& x, Command::Kind kind);
void load_scene(const Exchange& x, const v1::LoadScene& request);
void pause(const Exchange& x, const v1::Pause& request);
void resume(const Exchange& x, const v1::Resume& request);
void step(const Exchange& x, const v1::Step& request);
void set_lockstep(const Exchange& x, const v1::SetLockstep& request);
void grant(const Exchange& x, const v1::Grant& request);
void reset(const Exchange& x);
void take_snapshot(const Exchange& x, const v1::TakeSnapshot& request);
void restore_snapshot(const Exchange& x, const v1::RestoreSnapshot& request);
void set_model(const Exchange& x, const v1::SetModel& request);
void set_shadow(const Exchange& x, const v1::SetShadow& request);
void set_parameter(const Exchange& x, const v1::SetParameter& request);

// requests_view.cc
void take_command(const Exchange& x, std::uint64_t sequence, const std::string& packet);
void get_mesh(const Exchange& x, const v1::GetMesh& request);
// The triangles of a mesh, a convex polyhedron or a smooth shape (made here); others have none.
class DrawnShape {
 public:
  explicit DrawnShape(const Shape& shape);
  [[nodiscard]] std::uint32_t triangles() const;
  void add(std::uint32_t first, std::uint32_t end, v1::Mesh& out) const;

 private:
  const Shape& shape_;
  SmoothTriangles smooth_;
};
// requests_robot.cc
// Joints, sensors and end effectors of a subscription; false: says which name is unknown.
[[nodiscard]] bool find_robot_parts(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec);
void set_joint_options(const Exchange& x, const v1::SetJointOptions& request);
void recover_fault(const Exchange& x, const v1::RecoverFault& request);

// requests_lease.cc
void acquire_lease(const Exchange& x, const v1::AcquireLease& request);
void renew_lease(const Exchange& x, const v1::RenewLease& request);
void release_lease(const Exchange& x, const v1::ReleaseLease& request);
void list_leases(const Exchange& x);

// requests_tool.cc
void attach_tool(const Exchange& x, const v1::AttachTool& request);
void detach_tool(const Exchange& x, const v1::DetachTool& request);

// requests_link.cc
void set_link_faults(const Exchange& x, const v1::SetLinkFaults& request);
void get_link_faults(const Exchange& x, const v1::GetLinkFaults& request);
void fill_link(const FaultyLink& link, v1::LinkDirection& out);

}  // namespace tactus::net
