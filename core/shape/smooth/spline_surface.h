// What closed spline surfaces have in common: supports, boxes and mass, from what their patches are.
#pragma once

#include <limits>
#include <vector>

#include "core/shape/smooth/smooth_base.h"

namespace tactus {

class Spline : public ParametricSurface {
 public:
  [[nodiscard]] SmoothKind kind() const noexcept final { return SmoothKind::spline; }
  [[nodiscard]] bool convex() const noexcept final { return false; }  // not proved
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept final;
  [[nodiscard]] Vec3 support_beyond(const Vec3& d_S, const Vec3& p_S) const noexcept final;
  [[nodiscard]] Vec3 centre() const noexcept final { return centre_; }
  [[nodiscard]] double radius() const noexcept final { return half_.norm(); }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept final {
    const Vec3 centre_W = X_WS * centre_, e = X_WS.R.cwiseAbs() * half_;
    return {centre_W - e, centre_W + e};
  }
  [[nodiscard]] SolidMoments moments() const noexcept final { return moments_; }

 protected:
  // First in a constructor: where supports start, and from them the box along S's axes.
  void look_around(const LaidOutMesh& mesh);
  // Adds the flux through [u, u + du] x [v, v + dv] of a chart.
  void add_panel(std::int32_t chart, const Vec2& uv, const Vec2& size);

  SolidMoments moments_;

 private:
  static constexpr std::size_t kGroup = 8;
  struct Group {  // points of the cloud that are near each other, and a ball around them
    Vec3 centre = Vec3::Zero();
    double radius = 0;
    std::size_t first = 0, end = 0;  // points
    std::size_t second = 0;          // its other half; the first is the next group; 0: not halved
  };
  struct Highest {
    double height = -std::numeric_limits<double>::infinity();
    const SurfaceSeed* seed = nullptr;
  };
  void gather(std::size_t first, std::size_t end);
  void look(const Vec3& d_S, double length, const Group& group, Highest& best) const noexcept;
  [[nodiscard]] Vec3 climb(const Vec3& d_S, SurfacePoint where) const noexcept;

  Vec3 centre_ = Vec3::Zero(), half_ = Vec3::Zero();  // of the box along S's axes
  std::vector<SurfaceSeed> cloud_;                    // where the search for a support starts
  std::vector<Group> groups_;
  double spacing_ = 0;  // between points of the cloud, at most about [m]
};

}  // namespace tactus
