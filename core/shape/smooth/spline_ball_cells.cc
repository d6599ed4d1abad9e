#include "core/shape/smooth/spline_ball_cells.h"

#include <algorithm>
#include <cmath>

#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/white_form.h"

namespace tactus {

namespace {

// Parts of a chart's side for each cell of the lattice, at least, and at most, where nothing is said of finer lattices.
constexpr std::size_t kHullParts = 8, kHullSide = 20, kMostSide = 128;
// Of the size: the cells of normals' `enough`.
constexpr double kCellSlack = 2e-4;
// Chord from the touch, what may still be about it.
constexpr double kFarthest = 0.6;

double angle_between(const Vec3& w, const Vec3& q) {
  return 2 * std::asin(std::min(1.0, 0.5 * (w - q).norm()));
}

// A square of a chart, and what is about its middle.
struct Square {
  Vec3 w, S;
  Mat3 slope;        // of S along the sphere
  double angle = 0;  // no point of it is farther away, seen from the sphere's middle
  double bend = 0;   // of S, beside what the slope makes of that angle
  double reach = 0;  // from S to what is farthest of it, at most
};

// Squares in four, and those in four again.
class Squares {
 public:
  explicit Squares(const SplineLattice& lattice) {
    const SplineLattice::Most most = lattice.most(-Vec3::Ones(), Vec3::Ones());
    const double bend = most.second + most.first;  // along great circles, where w'' = -w
    for (int depth = 0; depth <= kDeepest; ++depth)
      for (std::int32_t chart = 0; chart < 6; ++chart)
        for (int i = 0; i < 1 << depth; ++i)
          for (int j = 0; j < 1 << depth; ++j)
            levels_[static_cast<std::size_t>(depth)].push_back(square(lattice, bend, chart, Vec2(i, j), depth));
  }
  // Calls f with the smallest of those that may be at least level[k] high along any unit n[k].
  template <typename F>
  void find(const std::array<Vec3, 3>& n, const std::array<double, 3>& level, const F& f) const {
    for (std::size_t chart = 0; chart < 6; ++chart) look({0, chart, 0, 0}, n, level, f);
  }

 private:
  static Square square(const SplineLattice& lattice, double bend, std::int32_t chart, const Vec2& ij, int depth) {
    const auto at = [&](double u, double v) {
      return sphere_patch({chart, std::ldexp(2, -depth) * (ij + Vec2(u, v)) - Vec2::Ones()}).S;
    };
    Square out;
    out.w = at(0.5, 0.5);
    const CellJet jet = lattice.at(out.w);
    out.S = jet.f;
    Mat3 D;
    D << lattice.rate().x() * jet.x, lattice.rate().y() * jet.y, lattice.rate().z() * jet.z;
    out.slope = D - (D * out.w) * out.w.transpose();
    for (const double u : {0.0, 1.0})
      for (const double v : {0.0, 1.0}) out.angle = std::max(out.angle, (1 + 1e-12) * angle_between(out.w, at(u, v)));
    out.bend = 0.5 * bend * out.angle * out.angle;
    out.reach = out.slope.norm() * out.angle + out.bend;
    return out;
  }
  struct Index {
    std::size_t depth, chart, i, j;
  };
  template <typename F>
  void look(const Index& at, const std::array<Vec3, 3>& n, const std::array<double, 3>& level, const F& f) const {
    const Square& square = levels_[at.depth][(((at.chart << at.depth) + at.i) << at.depth) + at.j];
    const auto low = [&](std::size_t k) {
      const double lacks = level[k] - n[k].dot(square.S);
      return square.reach < lacks || (square.slope.transpose() * n[k]).norm() * square.angle + square.bend < lacks;
    };
    if (low(0) && low(1) && low(2)) return;
    if (at.depth == kDeepest) return f(square);
    for (const std::size_t a : {0, 1})
      for (const std::size_t b : {0, 1}) look({at.depth + 1, at.chart, 2 * at.i + a, 2 * at.j + b}, n, level, f);
  }

  static constexpr int kDeepest = 6;
  std::array<std::vector<Square>, kDeepest + 1> levels_;
};

struct BallHull final : NormalCells::Body {
  BallHull(const SmoothSurface& of, const SplineLattice& lattice)
      : Body(of.radius(), kCellSlack, false), ball(of), squares(lattice) {}
  [[nodiscard]] double highest(const Vec3& n) const override {
    return n.dot(ball.support(n)) + 1e-12 * size * n.norm();
  }
  // What is highest along a direction of the cone is, along one of the corners, not lower than any one point is.
  [[nodiscard]] NormalCells::Place place(const std::array<Vec3, 3>& corners) const override {
    const Vec3 known = ball.support(corners[0] + corners[1] + corners[2]);
    std::array<double, 3> level;
    for (std::size_t k = 0; k < 3; ++k) level[k] = corners[k].dot(known) - 1e-9 * size;
    std::vector<Cap> caps;
    squares.find(corners, level, [&](const Square& square) { caps.push_back({square.w, square.angle}); });
    Vec3 middle = Vec3::Zero();
    for (const Cap& cap : caps) middle += cap.w;
    if (middle.squaredNorm() == 0) return {1, 0, 0, 4};
    middle.normalize();
    double angle = 0;
    for (const Cap& cap : caps) angle = std::max(angle, angle_between(middle, cap.w) + cap.angle);
    const Eigen::Vector3f rounded = middle.cast<float>();
    const double off = (rounded.cast<double>() - middle).norm();
    return {rounded.x(), rounded.y(), rounded.z(), NormalCells::above(angle + off)};
  }
  struct Cap {
    Vec3 w;
    double angle;
  };
  const SmoothSurface& ball;
  Squares squares;
};

// How far from the touch at w, as a chord, the form F of e is certainly not above 1. With d the step, L, D2 and D3 the
// lattice's derivatives, v = A (S - m) and K = L^T A L + v . D2: on the sphere d is t - w |d|^2 / 2 with t tangential,
// and L^T v is along w, as F is level there. Then F - 1 is
//   t K t - (v . L w) |d|^2 + [(A L t) . D2[t, t] - |d|^2 t . K w] + what is of the fourth degree,
// where the bracket is a cubic c of the angle: at most sqrt(c0^2 + c1^2 / 3 + c2^2 / 3 + c3^2).
double falls_for(const SplineLattice& lattice, const InnerForm& e, const Vec3& w) noexcept {
  const CellJet jet = lattice.at(w);
  const Vec3& rate = lattice.rate();
  const auto first = [&](const Vec3& p) {
    return Vec3(rate.x() * p.x() * jet.x + rate.y() * p.y() * jet.y + rate.z() * p.z() * jet.z);
  };
  const auto second = [&](const Vec3& one, const Vec3& other) {
    const Vec3 p = rate.cwiseProduct(one), q = rate.cwiseProduct(other);
    return Vec3(p.x() * q.x() * jet.xx + p.y() * q.y() * jet.yy + p.z() * q.z() * jet.zz +
                (p.x() * q.y() + p.y() * q.x()) * jet.xy + (p.x() * q.z() + p.z() * q.x()) * jet.xz +
                (p.y() * q.z() + p.z() * q.y()) * jet.yz);
  };
  Vec3 t1, t2;
  tangent_basis(w, t1, t2);
  const Vec3 v = e.A * (jet.f - e.m), l1 = first(t1), l2 = first(t2), lw = first(w);
  const Vec3 a1 = e.A * l1, a2 = e.A * l2, aw = e.A * lw, s11 = second(t1, t1), s12 = second(t1, t2),
             s22 = second(t2, t2);
  const double k11 = l1.dot(a1) + v.dot(s11), k12 = l1.dot(a2) + v.dot(s12), k22 = l2.dot(a2) + v.dot(s22);
  const double half = 0.5 * (k11 - k22), largest = 0.5 * (k11 + k22) + std::sqrt(half * half + k12 * k12);
  const double falls = v.dot(lw) - largest;
  if (!(falls > 0)) return 0;
  const double kw1 = l1.dot(aw) + v.dot(second(t1, w)), kw2 = l2.dot(aw) + v.dot(second(t2, w)),
               kww = lw.dot(aw) + v.dot(second(w, w));
  const double c0 = a1.dot(s11) - kw1, c1 = a2.dot(s11) + 2 * a1.dot(s12) - kw2,
               c2 = a1.dot(s22) + 2 * a2.dot(s12) - kw1, c3 = a2.dot(s22) - kw2;
  const SplineLattice::Most most = lattice.most(w.array() - kFarthest, w.array() + kFarthest);
  const double of_AL = std::sqrt(a1.squaredNorm() + a2.squaredNorm() + aw.squaredNorm());
  const double third =
      std::sqrt(c0 * c0 + c3 * c3 + (c1 * c1 + c2 * c2) / 3) + most.third / 3 * std::sqrt(v.squaredNorm());
  const double fourth =
      0.25 * (std::max(0.0, kww) + std::max(0.0, -largest) + most_eigenvalue(e.A) * most.second * most.second +
              kFarthest * std::sqrt(kw1 * kw1 + kw2 * kw2)) +
      of_AL * (1.5 * most.second + most.third / 3);
  return std::min(kFarthest, 2 * falls / (third + std::sqrt(third * third + 4 * fourth * falls)));
}

}  // namespace

SplineBallCells::SplineBallCells(const SmoothSurface& ball, const SplineLattice& lattice)
    : hull_(BallHull(ball, lattice)) {
  find_hull(ball, static_cast<std::size_t>(2 * lattice.rate().maxCoeff()));
}

void SplineBallCells::find_hull(const SmoothSurface& ball, std::size_t parts) {
  side_ = std::max(kHullSide, kHullParts * parts);
  if (side_ > kMostSide) {
    side_ = 0;
    return;
  }
  const std::size_t nodes = side_ + 3;  // one more on each side
  const auto is_highest = [&](std::int32_t chart, std::size_t i, std::size_t j) {
    const auto along = [&](std::size_t k) {
      return kChartEdge * (2 * (static_cast<double>(k) - 1) / static_cast<double>(side_) - 1);
    };
    const PatchJet jet = ball.patch({chart, Vec2(along(i), along(j))});
    const Vec3 n = jet.Su.cross(jet.Sv).normalized();
    const double uu = n.dot(jet.Suu), uv = n.dot(jet.Suv), vv = n.dot(jet.Svv), sum = uu + vv;
    return sum < 0 && uu * vv - uv * uv > 1e-6 * sum * sum && n.dot(ball.support(n) - jet.S) <= 1e-12 * ball.radius();
  };
  std::vector<bool> highest(nodes * nodes);
  for (std::int32_t chart = 0; chart < 6; ++chart) {
    for (std::size_t i = 0; i < nodes; ++i)
      for (std::size_t j = 0; j < nodes; ++j) highest[i * nodes + j] = is_highest(chart, i, j);
    for (std::size_t i = 0; i < side_; ++i)
      for (std::size_t j = 0; j < side_; ++j) {
        bool all = true;
        for (std::size_t k = 0; k < 16; ++k) all = all && highest[(i + k / 4) * nodes + j + k % 4];
        on_hull_.push_back(all);
      }
  }
}

bool SplineBallCells::on_hull(const SurfacePoint& at) const noexcept {
  const double scale = 0.5 * static_cast<double>(side_) / kChartEdge;
  const auto i = static_cast<std::size_t>(scale * (at.uv.x() + kChartEdge)),
             j = static_cast<std::size_t>(scale * (at.uv.y() + kChartEdge));
  return i < side_ && j < side_ && on_hull_[(static_cast<std::size_t>(at.chart) * side_ + i) * side_ + j];
}

bool SplineBallCells::lie_in(const SplineLattice& lattice, const InnerForm& e, const SurfaceSeed& at,
                             SurfaceSeed& beyond) const noexcept {
  InnerForm deeper;
  if (!e.deeper(hull_.radius(), deeper)) return false;
  const WhiteForm white(deeper);
  NormalCells::Open open;
  if (!white.finite() || !hull_.find_open(FourForm(white, hull_.farthest()), open)) return false;
  const Vec3 w = sphere_patch(at.where).S;
  const double known = falls_for(lattice, e, w);
  std::size_t left = 0;
  for (std::size_t i = 0; i < open.count; ++i) {
    const NormalCells::Place& place = hull_.place(open.cells[i]);
    const double within = known - place[3], chord2 = (Vec3(place[0], place[1], place[2]) - w).squaredNorm();
    if (!(within > 0 && chord2 <= within * within)) open.cells[left++] = open.cells[i];
  }
  open.count = left;
  if (hull_.others_hold(e, deeper, Vec3::Ones(), open)) return true;
  const NormalCells::Place& place = hull_.place(open.cells[0]);
  const Vec3 there(place[0], place[1], place[2]);
  if ((there - w).squaredNorm() < place[3] * place[3]) return false;  // too large to tell
  beyond.n_S = (deeper.A * (hull_.centre(open.cells[0]) - deeper.m)).normalized();
  beyond.where = sphere_chart_of(there);
  return false;
}

}  // namespace tactus
