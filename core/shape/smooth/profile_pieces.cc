#include "core/shape/smooth/profile_pieces.h"

#include <algorithm>
#include <cmath>

namespace tactus {

namespace {

using Powers = std::array<double, 7>;

double choose(int n, int k) {
  double out = 1;
  for (int i = 0; i < k; ++i) out = out * (n - i) / (i + 1);
  return out;
}

// Coefficients over [0, 1] of a polynomial of degree 6 at least.
std::array<double, 8> bernstein(const Powers& a) {
  std::array<double, 8> out{};
  for (int i = 0; i <= 6; ++i)
    for (int k = 0; k <= i; ++k)
      out[static_cast<std::size_t>(i)] += choose(i, k) / choose(6, k) * a[static_cast<std::size_t>(k)];
  out[7] = out[6];
  return out;
}

Powers product(const std::array<double, 4>& p, const std::array<double, 4>& q) {
  Powers out{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 4; ++k) out[i + k] += p[i] * q[k];
  return out;
}

std::array<double, 5> second_differences(const std::array<double, 8>& b) {
  std::array<double, 5> out{};
  for (std::size_t i = 0; i < 5; ++i) out[i] = b[i + 2] - 2 * b[i + 1] + b[i];
  return out;
}

}  // namespace

ProfilePieces::ProfilePieces(const ProfileCurve& curve, bool closed) : closed_(closed) {
  const double h = 1.0 / kParts;
  for (const ProfileCurve::Segment& segment : curve.segments) {
    for (int i = 0; i < kParts; ++i) {
      const double t = i * h;
      const auto& c = segment.c;  // c(t + h s) in powers of s
      const Vec2 x0 = c[0] + t * (c[1] + t * (c[2] + t * c[3])), x1 = h * (c[1] + t * (2 * c[2] + 3 * t * c[3])),
                 x2 = h * h * (c[2] + 3 * t * c[3]), x3 = h * h * h * c[3];
      const std::array<double, 4> rho{x0.x(), x1.x(), x2.x(), x3.x()}, z{x0.y(), x1.y(), x2.y(), x3.y()};
      Piece piece{};
      piece.r2 = bernstein(product(rho, rho));
      piece.z2 = bernstein(product(z, z));
      piece.z = bernstein(product(z, {1, 0, 0, 0}));
      piece.ddr2 = second_differences(piece.r2);
      piece.ddz2 = second_differences(piece.z2);
      piece.ddz = second_differences(piece.z);
      piece.most_r2 = *std::max_element(piece.r2.begin(), piece.r2.end());
      piece.least_z = *std::min_element(piece.z.begin(), piece.z.end());
      piece.most_z = *std::max_element(piece.z.begin(), piece.z.end());
      for (std::size_t k = 0; k < 4; ++k) {
        // Over powers of s: b_k = sum of C(k, i) / C(3, i) c_i.
        const auto point = [k](const std::array<double, 4>& powers) {
          double out = 0;
          for (std::size_t m = 0; m <= k; ++m)
            out += choose(static_cast<int>(k), static_cast<int>(m)) / choose(3, static_cast<int>(m)) * powers[m];
          return out;
        };
        piece.rho[k] = point(rho), piece.height[k] = point(z);
      }
      pieces_.push_back(piece);
    }
  }
  for (int i = 0; i < static_cast<int>(pieces_.size()); ++i)
    for (int k = 0; k < kHullParts; ++k)
      on_hull_.push_back(part_on_hull(i, k / double{kHullParts}, (k + 1) / double{kHullParts}) ? 1 : 0);
}

// Heights along every normal of the part, which points away from the axis: concave on the pieces about it, and lower by
// more than rounding on all others.
bool ProfilePieces::part_on_hull(int index, double s0, double s1) const {
  const auto count = static_cast<int>(pieces_.size());
  const auto point = [&](int i, std::size_t k) {
    const Piece& piece = pieces_[static_cast<std::size_t>((i + count) % count)];
    return Vec2(piece.rho[k], piece.height[k]);
  };
  const auto blossom = [&](double r, double s, double t) {
    const auto mix = [](const Vec2& x, const Vec2& y, double w) { return Vec2(x + w * (y - x)); };
    const Vec2 x = mix(point(index, 0), point(index, 1), r), y = mix(point(index, 1), point(index, 2), r),
               z = mix(point(index, 2), point(index, 3), r);
    return mix(mix(x, y, s), mix(y, z, s), t);
  };
  const std::array<Vec2, 4> part{blossom(s0, s0, s0), blossom(s0, s0, s1), blossom(s0, s1, s1), blossom(s1, s1, s1)};
  double size = 0, spread = 0, length = 0;
  for (int i = 0; i < count; ++i) size = std::max(size, (point(i, 0) - point(0, 0)).norm());
  const Vec2 way = part[3] - part[0], n = Vec2(way.y(), -way.x()).normalized();
  for (std::size_t k = 0; k < 3; ++k) {
    const Vec2 d = part[k + 1] - part[k], normal = Vec2(d.y(), -d.x()).normalized();
    if (!(normal.x() >= -1e-13 && normal.dot(n) > 0)) return false;
    spread = std::max(spread, (normal - n).norm() + 1e-9);
    length += d.norm();
  }
  const auto bends_away = [&](int i) {
    const Vec2 first = point(i, 0) - 2 * point(i, 1) + point(i, 2),
               second = point(i, 1) - 2 * point(i, 2) + point(i, 3);
    return n.dot(first) + spread * first.norm() <= 0 && n.dot(second) + spread * second.norm() <= 0;
  };
  const int ahead = closed_ ? count - 1 : count - 1 - index, behind = closed_ ? count - 1 : index;
  if (!bends_away(index)) return false;
  int last = 0, first = 0;
  while (last < ahead && bends_away(index + last + 1)) ++last;
  while (first < behind && bends_away(index - first - 1)) ++first;
  double low = std::numeric_limits<double>::infinity();
  for (const Vec2& p : part) low = std::min(low, n.dot(p));
  const auto lower = [&](int i) {
    for (std::size_t k = 0; k < 4; ++k) {
      const Vec2 q = point(i, k);
      const double far = (q - part[0]).norm() + length;
      if (!(n.dot(q) - low + spread * far + 1e-9 * size <= 0)) return false;
    }
    return true;
  };
  const int end = closed_ ? count - first - 1 : ahead;
  for (int i = last + 1; i <= end; ++i)
    if (!lower(index + i)) return false;
  for (int i = first + 1; !closed_ && i <= behind; ++i)
    if (!lower(index - i)) return false;
  return true;
}

bool ProfilePieces::below(const Piece& piece, const CircleBound& bound) noexcept {
  // Convex in z and growing with r^2.
  if (std::max(bound.at(piece.most_r2, piece.least_z), bound.at(piece.most_r2, piece.most_z)) <= 1) return true;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 8; ++i)
    most = std::max(most, bound.mu * piece.r2[i] + bound.q2 * piece.z2[i] + bound.q1 * piece.z[i]);
  return most + bound.q0 <= 1;
}

bool ProfilePieces::concave(const Piece& piece, const CircleBound& bound) noexcept {
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 5; ++i)
    most = std::max(most, bound.mu * piece.ddr2[i] + bound.q2 * piece.ddz2[i] + bound.q1 * piece.ddz[i]);
  return most <= 0;
}

bool ProfilePieces::lie_in(const EllipsoidForm& e, const Vec3& p, double t) const noexcept {
  const auto n = static_cast<int>(pieces_.size());
  const int at = std::clamp(static_cast<int>(t * kParts), 0, n - 1);
  CircleBound touching, others[std::size(kOtherFactors)];
  if (!bound_circles(e, touching_factor(e, p), touching)) return false;
  if (!concave(pieces_[static_cast<std::size_t>(at)], touching)) return false;
  int count = 0;  // of the other bounds, made when they are needed
  const auto below_any = [&](const Piece& piece) {
    if (below(piece, touching)) return true;
    if (count == 0) {
      const double least = least_factor(e);
      for (const double factor : kOtherFactors) count += bound_circles(e, factor * least, others[count]) ? 1 : 0;
    }
    return std::any_of(others, others + count, [&](const CircleBound& bound) { return below(piece, bound); });
  };
  const auto known = [&](int step, int pieces) {
    bool linked = true;
    for (int i = 1; i <= pieces; ++i) {
      const Piece& piece = pieces_[static_cast<std::size_t>((at + step * i + n) % n)];
      linked = linked && concave(piece, touching);
      if (!linked && !below_any(piece)) return false;
    }
    return true;
  };
  const int ahead = closed_ ? n / 2 : n - 1 - at;
  return known(1, ahead) && known(-1, n - 1 - ahead);
}

// What some pieces in a row make: their Bezier points' circles.
struct ProfilePieces::Row {
  const ProfilePieces& all;
  int first = 0, count = 0;
  static Vec3 support(const void* row, const Vec3& d) noexcept {
    const auto& self = *static_cast<const Row*>(row);
    const auto n = static_cast<int>(self.all.pieces_.size());
    const double side = std::sqrt(d.x() * d.x() + d.y() * d.y());
    double best = -std::numeric_limits<double>::infinity(), rho = 0, z = 0;
    for (int i = 0; i < self.count; ++i) {
      const Piece& piece = self.all.pieces_[static_cast<std::size_t>((self.first + i) % n)];
      for (std::size_t k = 0; k < 4; ++k) {
        const double height = side * std::abs(piece.rho[k]) + d.z() * piece.height[k];
        if (height > best) best = height, rho = std::abs(piece.rho[k]), z = piece.height[k];
      }
    }
    return side > 0 ? Vec3(rho / side * d.x(), rho / side * d.y(), z) : Vec3(rho, 0, z);
  }
};

bool ProfilePieces::lie_below(const Vec3& n, const Vec3& p, double t, const FarFromHull& far) const noexcept {
  if (n.x() * p.x() + n.y() * p.y() < 0) return false;
  const auto count = static_cast<int>(pieces_.size());
  const int at = std::clamp(static_cast<int>(t * kParts), 0, count - 1);
  const double side = std::sqrt(n.x() * n.x() + n.y() * n.y()), top = n.dot(p);
  bool linked = true;
  const auto low = [&](int i) {
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    double h[4];
    for (std::size_t k = 0; k < 4; ++k) h[k] = side * piece.rho[k] + n.z() * piece.height[k];
    linked = linked && h[2] - 2 * h[1] + h[0] <= 0 && h[3] - 2 * h[2] + h[1] <= 0;
    return linked || std::max(std::max(h[0], h[1]), std::max(h[2], h[3])) <= top;
  };
  if (!low(at)) return false;
  const bool falls = linked;
  // From the touch to both sides, as far as heights fall; then what is higher, row by row.
  const int ahead = closed_ ? count - 1 : count - 1 - at;
  int first = 1, last = closed_ ? count - 1 : at;
  while (first <= ahead && low((at + first) % count) && linked) ++first;
  linked = falls;
  if (closed_) last = count - first;
  int behind = 1;
  while (behind <= last && low((at - behind + count) % count) && linked) ++behind;
  linked = false;
  Row row{*this};
  const int end = closed_ ? count - behind : ahead;
  const auto higher = [&](int from, int to) {
    row.count = 0;
    for (int i = from; i <= to + 1; ++i) {
      const int index = ((at + i) % count + count) % count;
      if (i <= to && !low(index)) {
        if (row.count++ == 0) row.first = index;
      } else if (row.count > 0) {
        if (!far.hull(Row::support, &row)) return false;
        row.count = 0;
      }
    }
    return true;
  };
  return higher(first, end) && (closed_ || higher(-at, -behind));
}

}  // namespace tactus
