// The smooth surfaces that there are. A factory returns nothing and says what was found and what is expected in `error`
// when the surface cannot be; those without `error` assert what scene/ has checked.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/shape/smooth_surface.h"

namespace tactus {

// (x/a)^2 + (y/b)^2 + (z/c)^2 = 1; radii > 0 [m]. Convex, implicit.
std::unique_ptr<SmoothSurface> make_ellipsoid(const Vec3& radii);

// (|x/a|^(2/e2) + |y/b|^(2/e2))^(e2/e1) + |z/c|^(2/e1) = 1 (Barr 1981); radii > 0 [m], exponents as
// superellipsoid_defect() wants them. Convex, implicit; F is half of the gauge's square times a length, so it is twice
// differentiable everywhere but at the origin, and grows like an ellipsoid's.
std::unique_ptr<SmoothSurface> make_superellipsoid(const Vec3& radii, double e1, double e2);
inline constexpr double kExponentMin = 0.05;
// Why these exponents give no surface that is convex and twice differentiable (kExponentMin <= e2 <= 1, and e1 likewise
// but < 1 unless both are 1); nullptr when they do.
const char* superellipsoid_defect(double e1, double e2) noexcept;

// Around z: centre line of radius `ring`, tube of radius `tube`; 0 < tube < ring [m]. Implicit, the quartic
// (x^2 + y^2 + z^2 + R^2 - r^2)^2 = 4 R^2 (x^2 + y^2), which is smooth also on the axis.
std::unique_ptr<SmoothSurface> make_torus(double ring, double tube);

// c0 x^2 + c1 y^2 + c2 z^2 + c3 xy + c4 xz + c5 yz + c6 x + c7 y + c8 z + c9 = 0, an ellipsoid in any place; of either
// sign. Refuses what is not bounded, by its name.
std::unique_ptr<SmoothSurface> make_quadric(const std::array<double, 10>& c, std::string& error);

// The same surface with the solid outside of it.
std::unique_ptr<SmoothSurface> make_cavity(std::unique_ptr<SmoothSurface> surface);

}  // namespace tactus
