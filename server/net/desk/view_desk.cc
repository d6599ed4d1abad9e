#include "server/net/desk/view_desk.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/actuation/robot_sensors.h"
#include "server/net/desk/find_parts.h"
#include "server/net/scene/drawn_shape.h"
#include "server/net/scene/end_effectors.h"
#include "server/net/udp/state_encoder.h"

namespace tactus::net {

// Names to indices; empty = all that move, unless parts of robots are named. False: says which name is unknown.
bool ViewDesk::find_bodies(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec) const {
  const SceneView& scene = uses_.scene;
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

bool ViewDesk::find_robot_parts(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec) const {
  const Model& model = uses_.scene.model();
  std::vector<std::uint32_t> sensors;
  const auto one_coordinate = [](const Joint& joint) { return position_count(joint.kind) == 1; };
  const auto all = [](const auto&) { return true; };
  if (!find_parts(x, request.joints(), model.joints, "joint or robot", one_coordinate, uses_.scene.name, spec.joints) ||
      !find_parts(x, request.sensors(), model.sensors, "sensor or robot", all, uses_.scene.name, sensors) ||
      !find_parts(x, request.end_effectors(), model.frames, "link", all, uses_.scene.name, spec.end_effectors))
    return false;
  std::uint32_t first = 0;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < model.sensors.size() && next < sensors.size(); ++i) {
    const std::uint32_t count = value_count(model.sensors[i].kind);
    if (sensors[next] == i) {
      spec.sensors.push_back({i, first, count});
      ++next;
    }
    first += count;
  }
  spec.jacobian = request.jacobian();
  return true;
}

void ViewDesk::subscribe(const Exchange& x, const v1::Subscribe& request) {
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
  const std::size_t limit = uses_.options.subscriptions_per_client;
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
      packets_per_tick(subscriber->spec(), jacobian_columns(uses_.scene.model(), subscriber->spec())));
  x.reply(std::move(reply));
}

void ViewDesk::unsubscribe(const Exchange& x, const v1::Unsubscribe& request) {
  if (x.session()->unsubscribe(request.id())) return x.done();
  x.error(v1::ERROR_NOT_FOUND, "this client has no subscription " + std::to_string(request.id()));
}

void ViewDesk::get_mesh(const Exchange& x, const v1::GetMesh& request) {
  const SceneView& scene = uses_.scene;
  if (request.scene_epoch() != scene.epoch)
    return x.error(v1::ERROR_STALE_EPOCH, "the scene has changed since; DescribeScene gives the present one");
  const Model& model = scene.model();
  if (request.body() >= model.bodies.size() || request.shape() >= model.bodies[request.body()].shape_count)
    return x.error(v1::ERROR_NOT_FOUND, "no shape " + std::to_string(request.shape()) + " of body " +
                                            std::to_string(request.body()) + "; DescribeScene lists them");
  const Shape& shape = model.shapes[model.bodies[request.body()].first_shape + request.shape()].shape;
  const DrawnShape drawn(shape);
  const std::uint32_t total = drawn.triangles();
  if (total == 0)
    return x.error(v1::ERROR_BAD_VALUE,
                   std::string("a ") + to_string(shape.kind) + " has no triangles; its sizes say all");
  const std::uint32_t wanted = request.count() == 0 ? kTrianglesMax : std::min(request.count(), kTrianglesMax);
  const std::uint32_t first = std::min(request.first(), total), end = first + std::min(wanted, total - first);
  v1::Reply reply;
  v1::Mesh& out = *reply.mutable_mesh();
  out.set_triangles(total);
  out.set_first(first);
  drawn.add(first, end, out);
  x.reply(std::move(reply));
}

}  // namespace tactus::net
