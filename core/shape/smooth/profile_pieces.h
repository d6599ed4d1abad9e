// A profile in pieces, whose (rho^2, z^2, z) are known as polynomials in Bernstein's form: a bound that is their linear
// function lies below its largest coefficient on each.
#pragma once

#include <array>
#include <vector>

#include "core/shape/smooth/ellipsoid_form.h"
#include "core/shape/smooth/smooth_profile.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

class ProfilePieces {
 public:
  ProfilePieces() = default;
  ProfilePieces(const ProfileCurve& curve, bool closed);

  // Do all circles that the curve makes about z lie in e, which p, on the circle at t, touches from within? There what
  // bounds e is 1 and level; on the pieces about t it must be concave, on all others some bound below 1.
  [[nodiscard]] bool lie_in(const EllipsoidForm& e, const Vec3& p, double t) const noexcept;
  // Is no point of those circles higher along n than p, on the circle at t, which has the normal n, but for those in
  // far balls? Heights are those of the curve, where n points away from the axis: concave about t, lower elsewhere.
  [[nodiscard]] bool lie_below(const Vec3& n, const Vec3& p, double t, const FarFromHull& far) const noexcept;
  // Is the curve's point at t with all its circle farther along its own normal than all others?
  [[nodiscard]] bool on_hull(double t) const noexcept {
    const auto i = static_cast<std::size_t>(t * (kParts * kHullParts));
    return i < on_hull_.size() && on_hull_[i] != 0;
  }

 private:
  static constexpr int kParts = 4;       // of a segment
  static constexpr int kHullParts = 4;   // of a piece
  using Values = std::array<double, 8>;  // degree 6, padded
  using Second = std::array<double, 5>;  // of their second derivatives, times a positive factor
  struct Piece {
    double most_r2, least_z, most_z;  // the box around it
    Values r2, z2, z;
    Second ddr2, ddz2, ddz;
    std::array<double, 4> rho, height;  // Bezier points
  };
  struct Row;
  [[nodiscard]] static bool below(const Piece& piece, const CircleBound& bound) noexcept;
  [[nodiscard]] static bool concave(const Piece& piece, const CircleBound& bound) noexcept;
  [[nodiscard]] bool part_on_hull(int piece, double s0, double s1) const;

  std::vector<Piece> pieces_;
  std::vector<std::uint8_t> on_hull_;  // of parts
  bool closed_ = false;
};

}  // namespace tactus
