// What clients look at: subscriptions to states, and triangles to draw.
#pragma once

#include "server/net/desk/exchange.h"
#include "server/net/options.h"
#include "server/net/scene/scene_view.h"

namespace tactus::net {

class ViewDesk {
 public:
  struct Uses {
    const NetOptions& options;
    const SceneView& scene;
  };
  explicit ViewDesk(const Uses& uses) : uses_(uses) {}

  void subscribe(const Exchange& x, const v1::Subscribe& request);
  void unsubscribe(const Exchange& x, const v1::Unsubscribe& request);
  void get_mesh(const Exchange& x, const v1::GetMesh& request);

 private:
  [[nodiscard]] bool find_bodies(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec) const;
  // Joints, sensors and end effectors; false: says which name is unknown.
  [[nodiscard]] bool find_robot_parts(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec) const;

  const Uses uses_;
};

}  // namespace tactus::net
