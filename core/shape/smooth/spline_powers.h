// Pieces of uniform cubic B-splines by powers of what they are functions of: a third of the work that control points
// and their basis functions are, and the same for the first and second derivatives that come with a value.
#pragma once

#include <array>
#include <cstddef>

#include "core/math/two.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

// The four functions that are not zero on a cell, by powers of s in [0, 1] of it, times 6: [power][function].
inline constexpr double kSplinePowers[4][4] = {{1, 4, 1, 0}, {-3, 0, 3, 0}, {3, -6, 3, 0}, {-1, 3, -3, 1}};

// A cubic and its derivatives, each from the one before: the second one's half.
template <typename T>
struct CubicJet {
  T f, df, half_ddf;
  CubicJet(const T& c0, const T& c1, const T& c2, const T& c3, const T& s) noexcept {
    const T top = c3 * s, a = top + c2, da = top + a, b = a * s + c1;
    f = b * s + c0;
    df = da * s + b;
    half_ddf = top + da;
  }
};

// S(u, v) over [0, 1]^2 by powers of both.
class BicubicPatch {
 public:
  // Of a uniform B-spline: net[a][b].
  explicit BicubicPatch(const std::array<std::array<Vec3, 4>, 4>& net) {
    std::array<std::array<Vec3, 4>, 4> c;  // of u^k v^l
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t l = 0; l < 4; ++l) {
        c[k][l].setZero();
        for (std::size_t a = 0; a < 4; ++a)
          for (std::size_t b = 0; b < 4; ++b) c[k][l] += kSplinePowers[k][a] * kSplinePowers[l][b] / 36 * net[a][b];
      }
    for (std::size_t l = 0; l < 4; ++l) {
      for (std::size_t k = 0; k < 4; ++k) xy_[k][l] = Two{c[k][l].x(), c[k][l].y()};
      z_[0][l] = Two{c[0][l].z(), c[1][l].z()}, z_[1][l] = Two{c[2][l].z(), c[3][l].z()};
    }
  }
  [[nodiscard]] PatchJet at(double u, double v) const noexcept {
    const Two uu = two(u), vv = two(v);
    using Jet = CubicJet<Two>;
    const auto along_v = [&](const Two* c) { return Jet(c[0], c[1], c[2], c[3], vv); };
    const Jet r0 = along_v(xy_[0]), r1 = along_v(xy_[1]), r2 = along_v(xy_[2]), r3 = along_v(xy_[3]);
    const Jet S(r0.f, r1.f, r2.f, r3.f, uu), Sv(r0.df, r1.df, r2.df, r3.df, uu);
    const Two Svv = ((r3.half_ddf * uu + r2.half_ddf) * uu + r1.half_ddf) * uu + r0.half_ddf;
    // z of two rows at a time, then z and its derivative by v.
    const Jet z01 = along_v(z_[0]), z23 = along_v(z_[1]);
    const Jet z(Two{z01.f[0], z01.df[0]}, Two{z01.f[1], z01.df[1]}, Two{z23.f[0], z23.df[0]}, Two{z23.f[1], z23.df[1]},
                uu);
    const double zvv = ((z23.half_ddf[1] * u + z23.half_ddf[0]) * u + z01.half_ddf[1]) * u + z01.half_ddf[0];
    return {{S.f[0], S.f[1], z.f[0]},      {S.df[0], S.df[1], z.df[0]},
            {Sv.f[0], Sv.f[1], z.f[1]},    {2 * S.half_ddf[0], 2 * S.half_ddf[1], 2 * z.half_ddf[0]},
            {Sv.df[0], Sv.df[1], z.df[1]}, {2 * Svv[0], 2 * Svv[1], 2 * zvv}};
  }

 private:
  Two xy_[4][4];  // [k][l]: x and y of u^k v^l's coefficient
  Two z_[2][4];   // z of k = 0 and 1, and of 2 and 3
};

// A value over [0, 1]^3, and its derivatives there.
struct CellJet {
  Vec3 f, x, y, z, xx, yy, zz, xy, xz, yz;
};

// D(x, y, z) over [0, 1]^3 by powers of all three.
class TricubicCell {
 public:
  // net(a, b, c): control points, of a uniform B-spline.
  template <typename Net>
  explicit TricubicCell(const Net& net) {
    std::array<Vec3, 64> d, c;
    for (std::size_t i = 0; i < 64; ++i) d[i] = net(i / 16, i / 4 % 4, i % 4);
    // Along one axis at a time; 6^3 at the end.
    for (const std::size_t step : {16, 4, 1}) {
      for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t power = i / step % 4, first = i - power * step;
        c[i].setZero();
        for (std::size_t a = 0; a < 4; ++a) c[i] += kSplinePowers[power][a] * d[first + a * step];
      }
      d = c;
    }
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) {
        const auto at = [&](std::size_t i) { return Vec3(d[16 * i + 4 * j + k] / 216); };
        for (std::size_t i = 0; i < 4; ++i) xy_[i][j][k] = Two{at(i).x(), at(i).y()};
        for (std::size_t i = 0; i < 2; ++i) z_[i][j][k] = Two{at(2 * i).z(), at(2 * i + 1).z()};
      }
  }
  [[nodiscard]] CellJet at(const Vec3& p) const noexcept {
    const Two x = two(p.x()), y = two(p.y()), z = two(p.z());
    Sheet xy[4], zz[2];
    for (std::size_t i = 0; i < 4; ++i) xy[i] = sheet(xy_[i], y, z);
    for (std::size_t i = 0; i < 2; ++i) zz[i] = sheet(z_[i], y, z);
    using Jet = CubicJet<Two>;
    const auto along_x = [&](Two Sheet::*what) { return Jet(xy[0].*what, xy[1].*what, xy[2].*what, xy[3].*what, x); };
    const Jet f = along_x(&Sheet::f), fy = along_x(&Sheet::y), fz = along_x(&Sheet::z);
    const Two yy = along_x(&Sheet::half_yy).f, zzz = along_x(&Sheet::half_zz).f, yz = along_x(&Sheet::yz).f;
    // Of z two derivatives at a time.
    const auto both_along_x = [&](Two Sheet::*one, Two Sheet::*other) {
      const auto pair = [&](std::size_t i, int k) { return Two{(zz[i].*one)[k], (zz[i].*other)[k]}; };
      return Jet(pair(0, 0), pair(0, 1), pair(1, 0), pair(1, 1), x);
    };
    const Jet g = both_along_x(&Sheet::f, &Sheet::y), h = both_along_x(&Sheet::z, &Sheet::yz);
    const Two second = both_along_x(&Sheet::half_yy, &Sheet::half_zz).f;
    return {{f.f[0], f.f[1], g.f[0]},
            {f.df[0], f.df[1], g.df[0]},
            {fy.f[0], fy.f[1], g.f[1]},
            {fz.f[0], fz.f[1], h.f[0]},
            {2 * f.half_ddf[0], 2 * f.half_ddf[1], 2 * g.half_ddf[0]},
            {2 * yy[0], 2 * yy[1], 2 * second[0]},
            {2 * zzz[0], 2 * zzz[1], 2 * second[1]},
            {fy.df[0], fy.df[1], g.df[1]},
            {fz.df[0], fz.df[1], h.df[0]},
            {yz[0], yz[1], h.f[1]}};
  }

 private:
  struct Sheet {  // of one power of x
    Two f, y, z, half_yy, half_zz, yz;
  };
  static Sheet sheet(const Two (&c)[4][4], const Two& y, const Two& z) noexcept {
    using Jet = CubicJet<Two>;
    const Jet r0(c[0][0], c[0][1], c[0][2], c[0][3], z), r1(c[1][0], c[1][1], c[1][2], c[1][3], z),
        r2(c[2][0], c[2][1], c[2][2], c[2][3], z), r3(c[3][0], c[3][1], c[3][2], c[3][3], z);
    const Jet f(r0.f, r1.f, r2.f, r3.f, y), fz(r0.df, r1.df, r2.df, r3.df, y);
    const Two half_zz = ((r3.half_ddf * y + r2.half_ddf) * y + r1.half_ddf) * y + r0.half_ddf;
    return {f.f, f.df, fz.f, f.half_ddf, half_zz, fz.df};
  }

  Two xy_[4][4][4];  // [i][j][k]: x and y of x^i y^j z^k's coefficient
  Two z_[2][4][4];   // z of i = 0 and 1, and of 2 and 3
};

}  // namespace tactus
