#include "core/shape/smooth/spline_pieces.h"

#include <algorithm>
#include <cmath>

#include "core/shape/smooth/white_form.h"

namespace tactus {

namespace {

using Four = std::array<Vec3, 4>;

// Bezier points of a uniform cubic B-spline's segment, and of half of it.
Four bezier_points(const Four& p) {
  const Vec3 first = (p[0] + 4 * p[1] + p[2]) / 6, last = (p[1] + 4 * p[2] + p[3]) / 6;
  return {first, (2 * p[1] + p[2]) / 3, (p[1] + 2 * p[2]) / 3, last};
}
Four half_of(const Four& p, bool second) {
  const Vec3 a = 0.5 * (p[0] + p[1]), b = 0.5 * (p[1] + p[2]), c = 0.5 * (p[2] + p[3]);
  const Vec3 ab = 0.5 * (a + b), bc = 0.5 * (b + c), middle = 0.5 * (ab + bc);
  return second ? Four{middle, bc, c, p[3]} : Four{p[0], a, ab, middle};
}

}  // namespace

struct SplinePieces::AsHull final : NormalCells::Body {
  explicit AsHull(const SplinePieces& of) : Body(of.groups_[0].radius, 2e-4, false), pieces(of) {}
  [[nodiscard]] double highest(const Vec3& n) const override { return pieces.highest(n); }
  [[nodiscard]] NormalCells::Place place(const std::array<Vec3, 3>& corners) const override {
    return pieces.touched(corners);
  }
  const SplinePieces& pieces;
};

SplinePieces::SplinePieces(const std::vector<Vec3>& control, int nu, int nv) : nu_(kParts * nu), nv_(kParts * nv) {
  static_assert(kParts == 2);
  const auto piece_of = [&](int i, int j, int parts) {  // the patch itself: parts = 1
    std::array<Four, 4> net;
    const auto part = [parts](const Four& p, int k) { return parts == 1 ? p : half_of(p, k % 2 == 1); };
    for (int a = 0; a < 4; ++a) {
      Four row;
      for (int b = 0; b < 4; ++b)
        row[static_cast<std::size_t>(b)] =
            control[static_cast<std::size_t>((i / parts + a - 1 + nu) % nu * nv + (j / parts + b - 1 + nv) % nv)];
      net[static_cast<std::size_t>(a)] = part(bezier_points(row), j);
    }
    Piece piece;
    for (std::size_t b = 0; b < 4; ++b) {
      const Four column = part(bezier_points({net[0][b], net[1][b], net[2][b], net[3][b]}), i);
      for (std::size_t a = 0; a < 4; ++a) {
        piece.x[4 * a + b] = column[a].x(), piece.y[4 * a + b] = column[a].y(), piece.z[4 * a + b] = column[a].z();
      }
    }
    return piece;
  };
  for (int i = 0; i < nu_; ++i)
    for (int j = 0; j < nv_; ++j) pieces_.push_back(piece_of(i, j, kParts));
  for (int i = 0; i < nu; ++i)
    for (int j = 0; j < nv; ++j) patches_.push_back(piece_of(i, j, 1)), powers_.push_back(as_powers(patches_.back()));
  gather(0, nu_, 0, nv_);
  find_jumps(control, nu, nv);
  if (nu * nv <= kCoarse) hull_ = NormalCells(AsHull(*this));
}

// A uniform cubic B-spline's third derivative jumps by the fourth differences of its points.
void SplinePieces::find_jumps(const std::vector<Vec3>& control, int nu, int nv) {
  const auto point = [&](int i, int j) -> const Vec3& {
    return control[static_cast<std::size_t>((i + nu) % nu * nv + (j + nv) % nv)];
  };
  for (int i = 0; i < nu; ++i)
    for (int j = 0; j < nv; ++j) {
      const auto fourth = [&](int di, int dj) {
        const Vec3 by = point(i - 2 * di, j - 2 * dj) - 4 * point(i - di, j - dj) + 6 * point(i, j) -
                        4 * point(i + di, j + dj) + point(i + 2 * di, j + 2 * dj);
        return Jump{by, (1 + 1e-12) * by.norm()};
      };
      jumps_u_.push_back(fourth(1, 0)), jumps_v_.push_back(fourth(0, 1));
    }
}

// Halves the rectangle the way it is longer, seen along its two middle lines.
void SplinePieces::gather(int i0, int i1, int j0, int j1) {
  const auto point = [&](int i, int j, std::size_t k) {
    const Piece& piece = pieces_[static_cast<std::size_t>(i * nv_ + j)];
    return Vec3(piece.x[k], piece.y[k], piece.z[k]);
  };
  Vec3 lo = point(i0, j0, 0), hi = lo;
  for (int i = i0; i < i1; ++i)
    for (int j = j0; j < j1; ++j)
      for (std::size_t k = 0; k < 16; ++k) lo = lo.cwiseMin(point(i, j, k)), hi = hi.cwiseMax(point(i, j, k));
  Group group{0.5 * (lo + hi), 0, 0, -1, -1};
  for (int i = i0; i < i1; ++i)
    for (int j = j0; j < j1; ++j)
      for (std::size_t k = 0; k < 16; ++k)
        group.radius = std::max(group.radius, (1 + 1e-12) * (point(i, j, k) - group.centre).norm());
  if (i1 - i0 == 1 && j1 - j0 == 1) group.piece = i0 * nv_ + j0;
  if (i1 - i0 == kParts && j1 - j0 == kParts) group.patch = i0 / kParts * (nv_ / kParts) + j0 / kParts;
  const std::size_t index = groups_.size();
  groups_.push_back(group);
  if (group.piece < 0) {
    double along_u = 0, along_v = 0;
    for (int i = i0; i < i1; ++i) along_u += (point(i, j0, 12) - point(i, j0, 0)).norm();
    for (int j = j0; j < j1; ++j) along_v += (point(i0, j, 3) - point(i0, j, 0)).norm();
    // Between patches, as long as there are some.
    const auto halved = [](int k0, int k1) {
      return k1 - k0 > kParts ? (k0 + k1) / (2 * kParts) * kParts : (k0 + k1) / 2;
    };
    const bool whole_u = i1 - i0 <= kParts && j1 - j0 > kParts, whole_v = j1 - j0 <= kParts && i1 - i0 > kParts;
    if (j1 - j0 == 1 || whole_v || (i1 - i0 > 1 && !whole_u && along_u >= along_v)) {
      const int middle = halved(i0, i1);
      gather(i0, middle, j0, j1);
      gather(middle, i1, j0, j1);
    } else {
      const int middle = halved(j0, j1);
      gather(i0, i1, j0, middle);
      gather(i0, i1, middle, j1);
    }
  }
  groups_[index].end = static_cast<std::int32_t>(groups_.size());
}

bool SplinePieces::inside(const Piece& piece, const WhiteForm& e) noexcept {
  double most = 0;
  std::array<double, 16> form;
  for (std::size_t k = 0; k < 16; ++k) {
    form[k] = e.at(piece.x[k], piece.y[k], piece.z[k]);
  }
  for (const double f : form) most = std::max(most, f);
  return most <= 1;
}

// The form of e on the piece: a polynomial of degree 6 both ways, by its Bernstein coefficients.
struct SplinePieces::Form {
  Form(const Piece& piece, const WhiteForm& e) noexcept {
    static constexpr double kOfCubic[4] = {1, 3, 3, 1}, kOfSixth[7] = {1, 1. / 6, 1. / 15, 1. / 20, 1. / 15, 1. / 6, 1};
    double x[16], y[16], z[16];
    for (std::size_t k = 0; k < 16; ++k) {
      const double weight = kOfCubic[k / 4] * kOfCubic[k % 4];
      x[k] = weight * e.x(piece.x[k], piece.y[k], piece.z[k]);
      y[k] = weight * e.y(piece.y[k], piece.z[k]);
      z[k] = weight * e.z(piece.z[k]);
    }
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = i; k < 4; ++k) {
        const double twice = i == k ? 1 : 2;
        double* row = f[i + k];
        for (std::size_t j = 0; j < 4; ++j) {
          const double xj = twice * x[4 * i + j], yj = twice * y[4 * i + j], zj = twice * z[4 * i + j];
          for (std::size_t l = 0; l < 4; ++l) row[j + l] += xj * x[4 * k + l] + yj * y[4 * k + l] + zj * z[4 * k + l];
        }
      }
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < 7; ++j) f[i][j] *= kOfSixth[i] * kOfSixth[j];
  }
  // 1 and how much higher along n than `top` in units of `size`, a bicubic as one of degree 6.
  Form(const Piece& piece, const Vec3& n, double top, double size) noexcept {
    static constexpr double kRaised[7][4] = {
        {1, 0, 0, 0},       {0.5, 0.5, 0, 0}, {0.2, 0.6, 0.2, 0}, {0.05, 0.45, 0.45, 0.05},
        {0, 0.2, 0.6, 0.2}, {0, 0, 0.5, 0.5}, {0, 0, 0, 1}};
    double half[7][4] = {};
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t j = 0; j < 4; ++j)
          half[i][j] +=
              kRaised[i][a] * (n.x() * piece.x[4 * a + j] + n.y() * piece.y[4 * a + j] + n.z() * piece.z[4 * a + j]);
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t k = 0; k < 7; ++k) {
        double height = 0;
        for (std::size_t j = 0; j < 4; ++j) height += kRaised[k][j] * half[i][j];
        f[i][k] = 1 + (height - top) / size;
      }
  }
  Form(const double (&coefficients)[7][8]) noexcept {
    std::copy(&coefficients[0][0], &coefficients[0][0] + 56, &f[0][0]);
  }
  // Parts over [0, s] and [s, 1].
  void split_u(double s, Form& low, Form& high) const noexcept {
    double work[7][8];
    std::copy(&f[0][0], &f[0][0] + 56, &work[0][0]);
    for (std::size_t k = 0; k < 7; ++k) {
      std::copy(work[0], work[0] + 8, low.f[k]);
      std::copy(work[6 - k], work[6 - k] + 8, high.f[6 - k]);
      for (std::size_t i = 0; i + 1 < 7 - k; ++i)
        for (std::size_t j = 0; j < 8; ++j) work[i][j] += s * (work[i + 1][j] - work[i][j]);
    }
  }
  [[nodiscard]] Form transposed() const noexcept {
    Form out(*this);
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < 7; ++j) out.f[i][j] = f[j][i];
    return out;
  }
  [[nodiscard]] bool below() const noexcept {
    double most = 0;
    for (const auto& row : f)
      for (const double value : row) most = std::max(most, value);
    return most <= 1 + kRounding;
  }
  // At most 1, seen from the corner (i, j), 0 or 6, that is nearest to the touch, or is it? Nothing grows from there
  // but by u v: that much of u^2 and v^2 is set against it as makes a form that is not positive. Else in quarters.
  [[nodiscard]] bool below_from(std::size_t i, std::size_t j, int depth) const noexcept {
    if (below()) return true;
    const auto c = [&](std::size_t k, std::size_t l) { return f[i == 0 ? k : 6 - k][j == 0 ? l : 6 - l]; };
    const double uu = c(2, 0) - 2 * c(1, 0) + c(0, 0), vv = c(0, 2) - 2 * c(0, 1) + c(0, 0);
    const double uv = std::max(0.0, c(1, 1) - c(1, 0) - c(0, 1) + c(0, 0));
    // 36 uv u v + share 15 (uu u^2 + vv v^2) <= 0.
    const double share = uv > 0 ? 1.2 * uv / std::sqrt(uu * vv) : 0;
    if (uv == 0 || (uu < 0 && vv < 0 && share <= 1)) {
      double most = 0;
      for (std::size_t k = 0; k < 7; ++k)
        for (std::size_t l = 0; l < 7; ++l) {
          const auto x = static_cast<double>(k), y = static_cast<double>(l);
          most = std::max(most, c(k, l) - x * y * uv - 0.5 * share * (x * (x - 1) * uu + y * (y - 1) * vv));
        }
      if (most <= 1 + kRounding) return true;
    }
    if (depth == 0 || std::max({f[0][0], f[0][6], f[6][0], f[6][6]}) > 1 + kRounding) return false;
    Form low(f), high(f), a(f), b(f);
    split_u(0.5, low, high);
    low.transposed().split_u(0.5, a, b);
    if (!a.below_from(j, i, depth - 1) || !b.below_from(j, i, depth - 1)) return false;
    high.transposed().split_u(0.5, a, b);
    return a.below_from(j, i, depth - 1) && b.below_from(j, i, depth - 1);
  }
  // The same of a piece whose touch lies at (u, v), or beyond its edges: then seen from the highest place on those.
  [[nodiscard]] bool below_about(double u, double v) const noexcept {
    if (below()) return true;
    const bool beyond_u = !(u > 0 && u < 1), beyond_v = !(v > 0 && v < 1);
    u = std::clamp(u, 0.0, 1.0), v = std::clamp(v, 0.0, 1.0);
    if (beyond_u) v = highest_on(f[u < 0.5 ? 0 : 6], v);
    if (beyond_v && (v == 0 || v == 1)) u = highest_on(transposed().f[v < 0.5 ? 0 : 6], u);
    if (u == 0 || u == 1) return below_along(u == 0 ? 0 : 6, v);
    Form low(f), high(f);
    split_u(u, low, high);
    return low.below_along(6, v) && high.below_along(0, v);
  }
  [[nodiscard]] bool below_along(std::size_t i, double v) const noexcept {
    if (v == 0 || v == 1) return below_from(i, v == 0 ? 0 : 6, kDepth);
    Form low(f), high(f);
    transposed().split_u(v, low, high);
    return low.below_from(6, i, kDepth) && high.below_from(0, i, kDepth);
  }
  // By Newton's method from s, for a polynomial of degree 6; where that leaves [0, 1], the end.
  static double highest_on(const double (&c)[8], double s) noexcept {
    for (int k = 0; k < kSteps; ++k) {
      double d[6], dd[5];
      for (std::size_t i = 0; i < 6; ++i) d[i] = c[i + 1] - c[i];
      for (std::size_t i = 0; i < 5; ++i) dd[i] = 5 * (d[i + 1] - d[i]);
      for (std::size_t n = 5; n > 0; --n)
        for (std::size_t i = 0; i < n; ++i) d[i] += s * (d[i + 1] - d[i]);
      for (std::size_t n = 4; n > 0; --n)
        for (std::size_t i = 0; i < n; ++i) dd[i] += s * (dd[i + 1] - dd[i]);
      if (!(dd[0] < 0)) break;
      s = std::clamp(s - d[0] / dd[0], 0.0, 1.0);
    }
    return s;
  }
  static constexpr int kSteps = 3;
  static constexpr int kDepth = 2;
  static constexpr double kRounding = 1e-13;
  double f[7][8] = {};
};

// Where it is touched, seen from a piece: in units of that.
Vec2 SplinePieces::seen_from(std::int32_t piece, const Vec2& uv) const noexcept {
  const auto way = [](int from, int to, int n) {
    const int ahead = (to - from + n) % n;
    return 2 * ahead > n ? ahead - n : ahead;
  };
  const int i = std::clamp(static_cast<int>(kParts * uv.x()), 0, nu_ - 1),
            j = std::clamp(static_cast<int>(kParts * uv.y()), 0, nv_ - 1);
  return kParts * uv - Vec2(i + way(i, piece / nv_, nu_), j + way(j, piece % nv_, nv_));
}

// Heights along one direction of a part of a piece, less what counts, by their Bernstein coefficients.
struct SplinePieces::Heights {
  Heights() = default;
  Heights(const Piece& piece, const Vec3& n, double level) noexcept {
    for (std::size_t k = 0; k < 16; ++k) c[k] = n.x() * piece.x[k] + n.y() * piece.y[k] + n.z() * piece.z[k] - level;
  }
  [[nodiscard]] double most() const noexcept { return *std::max_element(std::begin(c), std::end(c)); }
  // Its four quarters: [2 of u + of v].
  void quarters(std::array<Heights, 4>& out) const noexcept {
    std::array<Heights, 2> halves;
    for (std::size_t b = 0; b < 4; ++b) halve(c + b, 4, halves[0].c + b, halves[1].c + b);
    for (std::size_t half = 0; half < 2; ++half)
      for (std::size_t a = 0; a < 4; ++a)
        halve(halves[half].c + 4 * a, 1, out[2 * half].c + 4 * a, out[2 * half + 1].c + 4 * a);
  }
  static void halve(const double* p, std::size_t step, double* first, double* second) noexcept {
    const double a = 0.5 * (p[0] + p[step]), b = 0.5 * (p[step] + p[2 * step]), d = 0.5 * (p[2 * step] + p[3 * step]);
    const double ab = 0.5 * (a + b), bd = 0.5 * (b + d), middle = 0.5 * (ab + bd);
    first[0] = p[0], first[step] = a, first[2 * step] = ab, first[3 * step] = middle;
    second[0] = middle, second[step] = bd, second[2 * step] = d, second[3 * step] = p[3 * step];
  }
  double c[16] = {};
};

// A surface point that is about the highest along n, and what nothing is higher than.
struct SplinePieces::Top {
  Top(const SplinePieces& pieces, const Vec3& direction) noexcept : all(pieces), n(direction) { look(all.groups_[0]); }
  void look(const Group& group) noexcept {
    if (group.piece >= 0) {
      piece = group.piece;
      return divide(Heights(all.pieces_[static_cast<std::size_t>(piece)], n, 0), Vec2::Zero(), 1, kDeepest);
    }
    const Group *high = &group + 1, *low = &all.groups_[static_cast<std::size_t>(high->end)];
    double first = n.dot(high->centre) + high->radius, second = n.dot(low->centre) + low->radius;
    if (second > first) std::swap(high, low), std::swap(first, second);
    if (first > best + enough) look(*high);
    if (second > best + enough) look(*low);
  }
  void divide(const Heights& heights, const Vec2& lo, double side, int depth) noexcept {
    for (std::size_t k = 0; k < 4; ++k) {
      const double height = heights.c[k / 2 * 12 + k % 2 * 3];
      if (height <= best) continue;
      best = height;
      best_piece = piece;
      uv = lo + side * Vec2(static_cast<double>(k / 2), static_cast<double>(k % 2));
    }
    const double most = heights.most();
    if (depth == 0 || most <= best + enough) {
      bound = std::max(bound, most);
      return;
    }
    std::array<Heights, 4> quarters;
    heights.quarters(quarters);
    for (std::size_t k = 0; k < 4; ++k)
      divide(quarters[k], lo + 0.5 * side * Vec2(static_cast<double>(k / 2), static_cast<double>(k % 2)), 0.5 * side,
             depth - 1);
  }
  static constexpr int kDeepest = 8;
  const SplinePieces& all;
  const Vec3& n;
  double enough = 3e-5 * all.groups_[0].radius;
  double best = -std::numeric_limits<double>::infinity(), bound = best;
  std::int32_t piece = 0, best_piece = 0;
  Vec2 uv = Vec2::Zero();  // on best_piece
};

double SplinePieces::highest(const Vec3& n) const {
  const Top top(*this, n);
  return std::max(top.bound, top.best + top.enough) + 1e-12 * groups_[0].radius;
}

Vec3 SplinePieces::point_of(const Piece& piece, const Vec2& uv) noexcept {
  const auto weights = [](double t) {
    const double r = 1 - t;
    return std::array<double, 4>{r * r * r, 3 * t * r * r, 3 * t * t * r, t * t * t};
  };
  const std::array<double, 4> u = weights(uv.x()), v = weights(uv.y());
  Vec3 out = Vec3::Zero();
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      out += u[a] * v[b] * Vec3(piece.x[4 * a + b], piece.y[4 * a + b], piece.z[4 * a + b]);
  return out;
}

// What is highest along a direction of the cone is, along one of the corners, not lower than any one point is. Middle
// and half sides of a rectangle of uv that holds all such places.
NormalCells::Place SplinePieces::touched(const std::array<Vec3, 3>& corners) const {
  const Vec3 n = (corners[0] + corners[1] + corners[2]).normalized();
  const Top top(*this, n);
  const Vec3 known = point_of(pieces_[static_cast<std::size_t>(top.best_piece)], top.uv);
  const Vec2 origin = Vec2(top.best_piece / nv_, top.best_piece % nv_) + top.uv;  // in pieces
  std::array<double, 3> level;
  for (std::size_t k = 0; k < 3; ++k) level[k] = corners[k].dot(known) - 1e-9 * groups_[0].radius;
  Vec2 lo = Vec2::Zero(), hi = lo;
  const auto divide = [&](const auto& self, const std::array<Heights, 3>& heights, const Vec2& from, double side,
                          int depth) -> void {
    const Vec2 to = from + Vec2(side, side);
    if ((from.array() >= lo.array()).all() && (to.array() <= hi.array()).all()) return;
    if (std::all_of(heights.begin(), heights.end(), [](const Heights& h) { return h.most() < 0; })) return;
    if (depth == 0) {
      lo = lo.cwiseMin(from), hi = hi.cwiseMax(to);
      return;
    }
    std::array<std::array<Heights, 4>, 3> quarters;
    for (std::size_t k = 0; k < 3; ++k) heights[k].quarters(quarters[k]);
    for (std::size_t q = 0; q < 4; ++q)
      self(self, {quarters[0][q], quarters[1][q], quarters[2][q]},
           from + 0.5 * side * Vec2(static_cast<double>(q / 2), static_cast<double>(q % 2)), 0.5 * side, depth - 1);
  };
  const auto count = static_cast<std::int32_t>(groups_.size());
  for (std::int32_t g = 0; g < count;) {
    const Group& group = groups_[static_cast<std::size_t>(g)];
    bool low = true;
    for (std::size_t k = 0; k < 3; ++k) low = low && corners[k].dot(group.centre) + group.radius < level[k];
    g = low ? group.end : g + 1;
    if (low || group.piece < 0) continue;
    const Piece& piece = pieces_[static_cast<std::size_t>(group.piece)];
    const auto nearest = [](double from, double to, int period) {
      const double away = from - to + 0.5;
      return away - period * std::round(away / period) - 0.5;
    };
    const Vec2 from(nearest(group.piece / nv_, origin.x(), nu_), nearest(group.piece % nv_, origin.y(), nv_));
    divide(divide,
           {Heights(piece, corners[0], level[0]), Heights(piece, corners[1], level[1]),
            Heights(piece, corners[2], level[2])},
           from, 1, kPlaceDepth);
  }
  const Vec2 middle = origin + 0.5 * (lo + hi), half = 0.5 * (hi - lo);
  const auto wrapped = [](double t, int period) { return t - period * std::floor(t / period); };
  NormalCells::Place out{};
  for (std::size_t k = 0; k < 2; ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    const double at = wrapped(middle[i], k == 0 ? nu_ : nv_) / kParts;
    out[k] = static_cast<float>(at);
    out[k + 2] = NormalCells::above(half[i] / kParts + std::abs(out[k] - at));
  }
  return out;
}

bool SplinePieces::lie_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept {
  if (hull_.empty()) return groups_lie_in(e, at.where.uv);
  InnerForm deeper;
  if (!e.deeper(hull_.radius(), deeper)) return false;
  const WhiteForm white(deeper);
  if (!white.finite()) return false;
  const Vec2& uv = at.where.uv;
  Window window;
  const auto steps_to = [&](const NormalCells::Place& place) {
    // Without branches: which way round is nearer is not to be foreseen.
    const auto away = [](double from, double to, double period) {
      const double d = to - from;
      return d - (d > 0.5 * period ? period : 0.0) + (d < -0.5 * period ? period : 0.0);
    };
    return Vec2(away(uv.x(), place[0], nu_ / kParts), away(uv.y(), place[1], nv_ / kParts));
  };
  const auto known = [&](const NormalCells::Place& place) {
    const Vec2 middle = steps_to(place), half(place[2], place[3]);
    if ((middle.cwiseAbs() + half).maxCoeff() > kFarthest) return false;
    window.lo = window.lo.cwiseMin(middle - half), window.hi = window.hi.cwiseMax(middle + half);
    return true;
  };
  NormalCells::Open open;
  if (!hull_.find_open(FourForm(white, hull_.farthest()), open)) return groups_lie_in(e, uv);
  std::size_t left = 0;
  for (std::size_t i = 0; i < open.count; ++i)
    if (!known(hull_.place(open.cells[i]))) open.cells[left++] = open.cells[i];
  open.count = left;
  if (!hull_.others_hold(e, deeper, Vec3::Ones(), open)) {
    const NormalCells::Place& place = hull_.place(open.cells[0]);
    if (steps_to(place).cwiseAbs().maxCoeff() < kBeside && groups_lie_in(e, uv)) return true;
    beyond.n_S = (deeper.A * (hull_.centre(open.cells[0]) - deeper.m)).normalized();
    beyond.where.uv << place[0], place[1];
    return false;
  }
  const WhiteForm touching(e);
  if (!touching.finite()) return false;
  return falls_about(touching, uv, window) || pieces_lie_in(e, touching, uv, window);
}

// The pieces of the window.
bool SplinePieces::pieces_lie_in(const InnerForm& e, const WhiteForm& white, const Vec2& uv,
                                 const Window& window) const noexcept {
  const Vec2 lo = kParts * (uv + window.lo), hi = kParts * (uv + window.hi);
  for (int i = static_cast<int>(std::floor(lo.x())); i <= hi.x(); ++i)
    for (int j = static_cast<int>(std::floor(lo.y())); j <= hi.y(); ++j) {
      const Piece& piece = pieces_[static_cast<std::size_t>((i + nu_) % nu_ * nv_ + (j + nv_) % nv_)];
      if (inside(piece, white)) continue;
      const Vec2 at = kParts * uv - Vec2(i, j);
      if (Form(piece, white).below_about(at.x(), at.y())) continue;
      // What e is too narrow for, another of its kind may hold.
      EllipsoidForm other;
      if (!e.near(point_of(piece, Vec2(0.5, 0.5)), other)) return false;
      const WhiteForm wider(other);
      if (!inside(piece, wider) && !Form(piece, wider).below_about(at.x(), at.y())) return false;
    }
  return true;
}

// Group after group, and piece after piece: for nets so fine that cells of normals hold more than about a patch.
bool SplinePieces::groups_lie_in(const InnerForm& e, const Vec2& uv) const noexcept {
  const WhiteForm white(e);
  const double stretch = std::sqrt(most_eigenvalue(e.A));  // what is longest in those coordinates
  if (!white.finite() || !std::isfinite(stretch)) return false;
  const auto count = static_cast<std::int32_t>(groups_.size());
  for (std::int32_t g = 0; g < count;) {
    const Group& group = groups_[static_cast<std::size_t>(g)];
    const Vec3& c = group.centre;
    const double room = 1 - stretch * group.radius;
    if ((room > 0 && white.at(c.x(), c.y(), c.z()) <= room * room) ||
        (group.patch >= 0 && inside(patches_[static_cast<std::size_t>(group.patch)], white))) {
      g = group.end;
      continue;
    }
    ++g;
    if (group.piece < 0) continue;
    const Piece& piece = pieces_[static_cast<std::size_t>(group.piece)];
    if (inside(piece, white)) continue;
    const Vec2 at = seen_from(group.piece, uv);
    if (Form(piece, white).below_about(at.x(), at.y())) continue;
    // What e is too narrow for, another of its kind may hold.
    EllipsoidForm other;
    if (!e.near(group.centre, other)) return false;
    const WhiteForm wider(other);
    if (!inside(piece, wider) && !Form(piece, wider).below_about(at.x(), at.y())) return false;
  }
  return true;
}

// The farthest Bezier point along d of what has been looked at: of pieces whose balls reach farther than what is known.
struct SplinePieces::Highest {
  Highest(const SplinePieces& pieces, const Vec3& direction) noexcept
      : all(pieces), d(direction), length(std::sqrt(direction.squaredNorm())) {}
  [[nodiscard]] double top(const Group& group) const noexcept { return d.dot(group.centre) + length * group.radius; }
  void look(const Group& group) noexcept {
    const Piece& piece = all.pieces_[static_cast<std::size_t>(group.piece)];
    double height[16];
    for (std::size_t k = 0; k < 16; ++k) height[k] = d.x() * piece.x[k] + d.y() * piece.y[k] + d.z() * piece.z[k];
    for (std::size_t k = 0; k < 16; ++k)
      if (height[k] > best) best = height[k], point = Vec3(piece.x[k], piece.y[k], piece.z[k]);
  }
  // The higher half first.
  void look_within(const Group& group) noexcept {
    if (group.piece >= 0) return look(group);
    const Group *high = &group + 1, *low = &all.groups_[static_cast<std::size_t>(high->end)];
    double first = top(*high), second = top(*low);
    if (second > first) std::swap(high, low), std::swap(first, second);
    if (first > best) look_within(*high);
    if (second > best) look_within(*low);
  }
  const SplinePieces& all;
  const Vec3& d;
  double length;
  double best = -std::numeric_limits<double>::infinity();
  Vec3 point = Vec3::Zero();
};

Vec3 SplinePieces::farthest(const Vec3& d) const noexcept {
  Highest highest(*this, d);
  highest.look_within(groups_[0]);
  return highest.point;
}

struct SplinePieces::Some {
  const SplinePieces& all;
  const std::int32_t* groups;
  int count;
  static Vec3 support(const void* some, const Vec3& d) noexcept {
    const auto& self = *static_cast<const Some*>(some);
    Highest highest(self.all, d);
    for (int i = 0; i < self.count; ++i) {
      const Group& group = self.all.groups_[static_cast<std::size_t>(self.groups[i])];
      if (highest.top(group) > highest.best) highest.look(group);
    }
    return highest.point;
  }
  // All at once, or in halves.
  [[nodiscard]] bool far(const FarFromHull& from, int& tries) const noexcept {
    if (count == 0) return true;
    if (tries-- == 0) return false;
    if (from.hull(support, this)) return true;
    const int half = count / 2;
    return count > 1 && Some{all, groups, half}.far(from, tries) &&
           Some{all, groups + half, count - half}.far(from, tries);
  }
};

bool SplinePieces::lie_below(const Vec3& n, const Vec3& p, const Vec2& uv, const FarFromHull& far) const noexcept {
  const double top = n.dot(p);
  std::array<std::int32_t, kHigher> higher;
  int some = 0;
  const auto count = static_cast<std::int32_t>(groups_.size());
  for (std::int32_t g = 0; g < count;) {
    const Group& group = groups_[static_cast<std::size_t>(g)];
    if (n.dot(group.centre) + group.radius <= top || far.ball(group.centre, group.radius)) {
      g = group.end;
      continue;
    }
    ++g;
    if (group.piece < 0) continue;
    const Piece& piece = pieces_[static_cast<std::size_t>(group.piece)];
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < 16; ++k)
      most = std::max(most, n.x() * piece.x[k] + n.y() * piece.y[k] + n.z() * piece.z[k]);
    if (most <= top) continue;
    const Vec2 at = seen_from(group.piece, uv);
    if ((at - Vec2(0.5, 0.5)).cwiseAbs().maxCoeff() < 1.5 &&
        Form(piece, n, top, groups_[0].radius).below_about(at.x(), at.y())) {
      continue;
    }
    if (some == kHigher) return false;
    higher[static_cast<std::size_t>(some++)] = g - 1;
  }
  int tries = kTries;
  return Some{*this, higher.data(), some}.far(far, tries);
}

}  // namespace tactus
