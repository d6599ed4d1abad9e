// Where a torus of bicubic patches lies on its own convex hull: found when it is built, cell by cell, so that on the
// tick no support has to be searched for.
#include <algorithm>
#include <cmath>

#include "core/shape/smooth/spline_pieces.h"

namespace tactus {

namespace {

using Net = std::array<Vec3, 16>;  // Bezier points of a bicubic, [4 i + j]

// What is left of a cubic's four points over [a, b]: by blossoms.
std::array<Vec3, 4> between(const std::array<Vec3, 4>& p, double a, double b) {
  const auto blossom = [&](double r, double s, double t) {
    const auto mix = [](const Vec3& x, const Vec3& y, double w) { return Vec3(x + w * (y - x)); };
    const Vec3 x = mix(p[0], p[1], r), y = mix(p[1], p[2], r), z = mix(p[2], p[3], r);
    return mix(mix(x, y, s), mix(y, z, s), t);
  };
  return {blossom(a, a, a), blossom(a, a, b), blossom(a, b, b), blossom(b, b, b)};
}

Net part_of(const Net& net, double u0, double u1, double v0, double v1) {
  Net half, out;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto row = between({net[4 * i], net[4 * i + 1], net[4 * i + 2], net[4 * i + 3]}, v0, v1);
    std::copy(row.begin(), row.end(), half.begin() + static_cast<std::ptrdiff_t>(4 * i));
  }
  for (std::size_t j = 0; j < 4; ++j) {
    const auto column = between({half[j], half[4 + j], half[8 + j], half[12 + j]}, u0, u1);
    for (std::size_t i = 0; i < 4; ++i) out[4 * i + j] = column[i];
  }
  return out;
}

// Unit normals of a part: all are within `spread` of n, as vectors.
struct Cone {
  Vec3 n = Vec3::Zero();
  double spread = 2;
};
Cone normals_of(const Net& net) {
  std::array<Vec3, 12> du, dv;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      du[4 * i + j] = net[4 * i + 4 + j] - net[4 * i + j];
      dv[4 * i + j] = net[4 * j + i + 1] - net[4 * j + i];
    }
  Vec3 u = Vec3::Zero(), v = Vec3::Zero();
  for (const Vec3& d : du) u += d;
  for (const Vec3& d : dv) v += d;
  Cone out;
  const Vec3 middle = u.cross(v);
  if (!(middle.squaredNorm() > 0)) return out;
  out.n = middle.normalized();
  // Su x Sv is a sum of products of these with factors that are not negative: within their cone. A unit vector at the
  // angle that has this cosine is as far away as its chord is long.
  double least2 = 1;  // its square
  for (const Vec3& a : du)
    for (const Vec3& b : dv) {
      const Vec3 normal = a.cross(b);
      const double height = out.n.dot(normal), length2 = normal.squaredNorm();
      if (!(height > 0)) return out;
      least2 = std::min(least2, height * height / length2);
    }
  out.spread = std::sqrt(2 - 2 * std::sqrt(least2)) + 1e-9;
  return out;
}

// Is all of it at most `top` high along n? By its Bezier points, or those of its quarters.
bool lower(const Net& net, const Vec3& n, double top, int halvings) {
  if (std::all_of(net.begin(), net.end(), [&](const Vec3& p) { return n.dot(p) <= top; })) return true;
  if (halvings == 0 || n.dot(net[0]) > top || n.dot(net[3]) > top || n.dot(net[12]) > top || n.dot(net[15]) > top)
    return false;
  for (const double u : {0.0, 0.5})
    for (const double v : {0.0, 0.5})
      if (!lower(part_of(net, u, u + 0.5, v, v + 0.5), n, top, halvings - 1)) return false;
  return true;
}

constexpr int kHalvings = 2;

enum class OnHull : std::uint8_t { no, unknown, yes };

}  // namespace

// A cell's points p with normals n: heights along n are concave on a block of pieces about the cell, level at p, so
// that nothing of the block is higher; all other pieces are lower, by more than rounding. Else in quarters.
struct SplinePieces::HullSearch {
  // Of a piece: coefficients of its second derivatives, by u, by v and by both, and their lengths.
  struct Second {
    explicit Second(const Net& net) {
      for (std::size_t k = 0; k < 4; ++k)
        for (std::size_t i = 0; i < 2; ++i) {
          uu[2 * k + i] = 6 * (net[4 * i + k] - 2 * net[4 * i + 4 + k] + net[4 * i + 8 + k]);
          vv[2 * k + i] = 6 * (net[4 * k + i] - 2 * net[4 * k + i + 1] + net[4 * k + i + 2]);
          long_uu[2 * k + i] = uu[2 * k + i].norm(), long_vv[2 * k + i] = vv[2 * k + i].norm();
        }
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
          uv[3 * i + j] = 9 * (net[4 * i + j] - net[4 * i + 4 + j] - net[4 * i + j + 1] + net[4 * i + 5 + j]);
          long_uv[3 * i + j] = uv[3 * i + j].norm();
        }
    }
    // Is their form negative on the whole piece, along every normal of the cone?
    [[nodiscard]] bool bends_away(const Cone& cone) const {
      const double none = -std::numeric_limits<double>::infinity();
      double most_uu = none, most_vv = none, most_uv = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        most_uu = std::max(most_uu, cone.n.dot(uu[k]) + cone.spread * long_uu[k]);
        most_vv = std::max(most_vv, cone.n.dot(vv[k]) + cone.spread * long_vv[k]);
      }
      if (!(most_uu < 0 && most_vv < 0)) return false;
      for (std::size_t k = 0; k < 9; ++k)
        most_uv = std::max(most_uv, std::abs(cone.n.dot(uv[k])) + cone.spread * long_uv[k]);
      return most_uu * most_vv > most_uv * most_uv;
    }
    std::array<Vec3, 8> uu, vv;
    std::array<Vec3, 9> uv;
    std::array<double, 8> long_uu, long_vv;
    std::array<double, 9> long_uv;
  };

  const SplinePieces& all;
  int parts;
  double margin;
  std::vector<bool>& out;
  std::vector<Second> seconds = {};  // of all pieces

  [[nodiscard]] Net net_of(int piece) const {
    const Piece& from = all.pieces_[static_cast<std::size_t>(piece)];
    Net net;
    for (std::size_t k = 0; k < 16; ++k) net[k] = Vec3(from.x[k], from.y[k], from.z[k]);
    return net;
  }
  [[nodiscard]] bool all_bend(const Cone& cone, int u0, int u1, int v0, int v1) const {
    const int nu = all.nu_, nv = all.nv_;
    for (int i = u0; i <= u1; ++i)
      for (int j = v0; j <= v1; ++j)
        if (!seconds[static_cast<std::size_t>((i + nu) % nu * nv + (j + nv) % nv)].bends_away(cone)) return false;
    return true;
  }
  [[nodiscard]] OnHull judge(const Net& cell, int i0, int j0, bool last) const {
    const Cone cone = normals_of(cell);
    if (!(cone.spread < 1)) return OnHull::unknown;
    const Vec3 middle = 0.25 * (cell[0] + cell[3] + cell[12] + cell[15]);
    double low = std::numeric_limits<double>::infinity(), high = -low, around = 0;
    for (const Vec3& p : cell) {
      low = std::min(low, cone.n.dot(p)), high = std::max(high, cone.n.dot(p));
      around = std::max(around, (p - middle).norm());
    }
    int u0 = i0, u1 = i0, v0 = j0, v1 = j0;
    bool sure = all_bend(cone, i0, i0, j0, j0);
    const int nu = all.nu_, nv = all.nv_;
    for (bool grows = sure; grows;) {
      grows = false;
      if (v1 - v0 + 1 < nv && all_bend(cone, u0, u1, v1 + 1, v1 + 1)) ++v1, grows = true;
      if (v1 - v0 + 1 < nv && all_bend(cone, u0, u1, v0 - 1, v0 - 1)) --v0, grows = true;
      if (u1 - u0 + 1 < nu && all_bend(cone, u1 + 1, u1 + 1, v0, v1)) ++u1, grows = true;
      if (u1 - u0 + 1 < nu && all_bend(cone, u0 - 1, u0 - 1, v0, v1)) --u0, grows = true;
    }
    const auto count = static_cast<std::int32_t>(all.groups_.size());
    for (std::int32_t g = 0; g < count && (sure || !last);) {
      const Group& group = all.groups_[static_cast<std::size_t>(g)];
      const double turned = cone.spread * ((group.centre - middle).norm() + group.radius + around) + margin;
      if (cone.n.dot(group.centre) + group.radius - low + turned <= 0) {
        g = group.end;
        continue;
      }
      ++g;
      if (group.piece < 0) continue;
      const Net net = net_of(group.piece);
      if (cone.n.dot(net[0]) - high > turned) return OnHull::no;
      const int i = (group.piece / nv - u0 + 2 * nu) % nu, j = (group.piece % nv - v0 + 2 * nv) % nv;
      if (sure && i <= u1 - u0 && j <= v1 - v0) continue;
      sure = sure && lower(net, cone.n, low - turned, kHalvings);
    }
    return sure ? OnHull::yes : OnHull::unknown;
  }
  // The square cell at (i, j) in units of 1 / parts of a piece.
  void look(const Net& net, int i, int j, int length) const {
    const OnHull on_hull = judge(net, i / parts, j / parts, length == 1);
    if (on_hull == OnHull::unknown && length > 1) {
      const int half = length / 2;
      for (const int a : {0, 1})
        for (const int b : {0, 1})
          look(part_of(net, 0.5 * a, 0.5 * a + 0.5, 0.5 * b, 0.5 * b + 0.5), i + a * half, j + b * half, half);
      return;
    }
    if (on_hull != OnHull::yes) return;
    for (int a = i; a < i + length; ++a)
      for (int b = j; b < j + length; ++b) out[static_cast<std::size_t>(a * all.nv_ * parts + b)] = true;
  }
};

SplinePieces::HullCells SplinePieces::hull_cells() const {
  // As fine as a second of loading allows.
  constexpr int kFinest = 16, kMostCells = 1 << 17;
  int parts = kFinest;
  while (parts > 1 && nu_ * nv_ * parts * parts > kMostCells) parts /= 2;
  HullCells out{kParts * parts, nv_ * parts,
                std::vector<bool>(static_cast<std::size_t>(nu_ * parts * nv_ * parts), false)};
  HullSearch search{*this, parts, 1e-9 * groups_[0].radius, out.on_hull};
  for (int i = 0; i < nu_ * nv_; ++i) search.seconds.emplace_back(search.net_of(i));
  for (int i = 0; i < nu_; ++i)
    for (int j = 0; j < nv_; ++j) search.look(search.net_of(i * nv_ + j), i * parts, j * parts, parts);
  return out;
}

}  // namespace tactus
