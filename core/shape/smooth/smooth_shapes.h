// The smooth surfaces that there are. A factory returns nothing and says what was found and what is expected in `error`
// when the surface cannot be; those without `error` assert what scene/ has checked.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

// (x/a)^2 + (y/b)^2 + (z/c)^2 = 1; radii > 0 [m]. Convex, implicit.
std::unique_ptr<SmoothSurface> make_ellipsoid(const Vec3& radii);

// The same surface, parametric, over six charts (the faces of a cube seen from its centre). It has its F, too.
std::unique_ptr<SmoothSurface> make_patched_ellipsoid(const Vec3& radii);

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

// A profile turned about z, parametric: the uniform cubic B-spline of control points (rho, z), so twice differentiable,
// and convex where their polygon is. It does not go through its control points, but for the ends' rho = 0.
// Two kinds: with first and last point on the axis (rho = 0) the profile goes from the lower pole to the upper one, is
// continued across the axis by its mirror image, and the surface is a ball, regular at the poles; with none on the axis
// it is closed (the last point is followed by the first), counter-clockwise in the (rho, z) plane, and makes a ring.
// Refused: points fewer than 3 (ball) or 4 (ring) or more than kProfileMax, rho < 0, others on the axis, a profile the
// wrong way (normals would point inwards), with a cusp, across the axis or through itself. Moments are exact (Gauss).
std::unique_ptr<SmoothSurface> make_revolution(const std::vector<Vec2>& profile, std::string& error);
inline constexpr std::size_t kProfileMax = 256;

// Uniform cubic B-splines, parametric, twice differentiable everywhere. grid = [nu, nv]: a torus, control[i nv + j],
// periodic both ways, Su x Sv outwards (i around, j up on the outside). grid = [nx, ny, nz]: a ball, control[(i ny + j)
// nz + k], the lattice that carries the unit sphere of the cube [-1, 1]^3 along (free-form deformation): a regular
// lattice gives a sphere. Moments of a torus are exact (Gauss), of a ball to about 1e-9 (16 x 16 panels a face).
// Refused: fewer than 4 points one way, more than kSplineMax, other numbers than the grid says, surfaces that have no
// normal somewhere, face inwards or cross themselves (looked at on triangles within 1e-4 of the radius).
std::unique_ptr<SmoothSurface> make_spline(const std::vector<Vec3>& control, const std::vector<std::size_t>& grid,
                                           std::string& error);
inline constexpr std::size_t kSplineMax = 4096;

// The same surface with the solid outside of it.
std::unique_ptr<SmoothSurface> make_cavity(std::unique_ptr<SmoothSurface> surface);

}  // namespace tactus
