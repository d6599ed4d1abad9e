// Extremal points of surfaces that are not convex, and of bowls, from nothing: every pair has an answer, and it is what
// slow methods that know nothing of the search find: samples of both surfaces with polish, closed forms, directions.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/collide/smooth/extremal_points.h"
#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/random.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"
#include "tests/unit/collide/smooth_pairs.h"

namespace tactus {
namespace {

using smooth_pairs::Body;
using test::Random;

struct Folded {
  Folded() {
    std::string error;
    add(make_torus(0.3, 0.1));
    add(make_revolution(test::pear_profile(), error));
    add(make_revolution(test::ring_profile(), error));
    add(make_spline(test::torus_control(9, 6), {9, 6}, error));
    add(make_spline(test::ball_control(5, 4, 6), {5, 4, 6}, error));
    bowl = owned_.add(make_cavity(make_ellipsoid({0.5, 0.5, 0.4})));
    partners = convex.partners;
    partners.insert(partners.end(), folded.begin(), folded.end());
  }
  smooth_pairs::Shapes convex;
  std::vector<Shape> folded, partners;
  Shape bowl;

 private:
  void add(std::unique_ptr<SmoothSurface> surface) {
    folded.push_back(owned_.add(std::move(surface)));
    REQUIRE(!folded.back().smooth->convex());
  }
  test::OwnedShapes owned_;
};

ExtremalPair cold(const Body& a, const Body& b) {
  const test::AllocGuard guard;
  const ExtremalPair pair = smooth_pairs::from_nothing(a, b);
  CHECK(guard.count() == 0);
  return pair;
}

bool is_smooth(const Shape& shape) {
  return shape.kind == ShapeKind::smooth;
}

// The surface as its layout says, in W.
struct Sampled {
  const SmoothSurface& surface;
  Frame X;
  std::vector<Vec3> w, p, n;

  explicit Sampled(const Body& body) : surface(*body.shape.smooth), X(body.X) {
    const bool ball = surface.topology() == SmoothTopology::sphere;
    w = (ball ? sphere_mesh(3) : torus_mesh(36, 18)).w;
    for (const Vec3& where : w) {
      const SurfaceSeed seed = surface.at(where);
      p.push_back(X * seed.p_S), n.push_back(X.R * seed.n_S);
    }
  }
  [[nodiscard]] Vec3 at(const Vec3& where) const { return X * surface.at(where).p_S; }
  [[nodiscard]] Vec3 moved(const Vec3& where, double step, Random& rng) const {
    const Vec3 to = where + step * rng.in_cube(1);
    return surface.topology() == SmoothTopology::sphere ? Vec3(to.normalized()) : Vec3(to.x(), to.y(), 0);
  }
  // Is q certainly in the solid? By its F, or by the nearest sample where that is clear.
  [[nodiscard]] bool holds(const Vec3& q) const {
    if (surface.has_implicit()) return surface.implicit(X.to_local(q)).F < 0;
    std::size_t best = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if ((p[i] - q).squaredNorm() < (p[best] - q).squaredNorm()) best = i;
    }
    return n[best].dot(q - p[best]) < -0.01;
  }
};

// Distance of q to a shape that is not smooth, and not a hull: below zero within.
double distance_to(const Body& body, const Vec3& q_W) {
  const Shape& s = body.shape;
  const Vec3 q = body.X.to_local(q_W);
  const auto corner = [](double x, double y) {
    return std::hypot(std::max(x, 0.0), std::max(y, 0.0)) + std::min(std::max(x, y), 0.0);
  };
  switch (s.kind) {
    case ShapeKind::sphere:
      return q.norm() - s.radius;
    case ShapeKind::capsule:
      return (q - Vec3(0, 0, std::clamp(q.z(), -s.half_length, s.half_length))).norm() - s.radius;
    case ShapeKind::cylinder:
      return corner(std::hypot(q.x(), q.y()) - s.radius, std::abs(q.z()) - s.half_length);
    default: {
      const Vec3 out = q.cwiseAbs() - s.half_S;
      return out.cwiseMax(0).norm() + std::min(out.maxCoeff(), 0.0);
    }
  }
}

// Shrinking random steps from x by `move`, as long as they lower f; again until that helps no more.
template <typename X, typename F, typename Move>
double polish(X x, const F& f, const Move& move) {
  double value = f(x);
  for (int in_vain = 0; in_vain < 3; ++in_vain) {
    const double last = value;
    const bool first = in_vain == 0;  // later ones stay near, and shrink slowly
    for (double step = first ? 0.05 : 1e-3; step > 1e-9;) {
      const X trial = move(x, step);
      const double v = f(trial);
      step *= v < value ? 1.5 : (first ? 0.95 : 0.98);
      if (v < value) value = v, x = trial;
    }
    if (value < last - 1e-14) in_vain = 0;
  }
  return value;
}

// Least distance of b's surface to a, from a sample of b; below zero: a sample lies in a. Near 0: they cross.
double searched_distance(const Body& a, const Body& b, Random& rng) {
  const Sampled on_b(b);
  const auto far = [&](const Vec3& w) { return distance_to(a, on_b.at(w)); };
  std::vector<Vec3> best = on_b.w;
  std::partial_sort(best.begin(), best.begin() + 6, best.end(),
                    [&](const Vec3& v, const Vec3& w) { return far(v) < far(w); });
  double least = far(best[0]);
  for (int i = 0; i < 6 && least > 0; ++i) {
    least = std::min(least, polish(best[static_cast<std::size_t>(i)], far,
                                   [&](const Vec3& w, double step) { return on_b.moved(w, step, rng); }));
  }
  return least;
}

struct Both {
  Vec3 on_a, on_b;
};

// The same between two surfaces.
double searched_between(const Body& a, const Body& b, Random& rng) {
  const Sampled A(a), B(b);
  for (const Vec3& p : A.p) {
    if (B.holds(p)) return -1;
  }
  for (const Vec3& p : B.p) {
    if (A.holds(p)) return -1;
  }
  std::vector<std::pair<double, Both>> near;  // for each point of A the nearest of B
  for (std::size_t i = 0; i < A.p.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t at = 0;
    for (std::size_t k = 0; k < B.p.size(); ++k) {
      const double d = (A.p[i] - B.p[k]).squaredNorm();
      if (d < least) least = d, at = k;
    }
    near.emplace_back(least, Both{A.w[i], B.w[at]});
  }
  std::partial_sort(near.begin(), near.begin() + 12, near.end(),
                    [](const auto& x, const auto& y) { return x.first < y.first; });
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 12; ++i) {
    least = std::min(least, polish(
                                near[i].second, [&](const Both& w) { return (A.at(w.on_a) - B.at(w.on_b)).norm(); },
                                [&](const Both& w, double step) {
                                  return Both{A.moved(w.on_a, step, rng), B.moved(w.on_b, step, rng)};
                                }));
  }
  return least;
}

int pairs_per_row(int usual) {
  const char* text = std::getenv("TACTUS_EXTREMAL_PAIRS");
  return text ? std::atoi(text) : usual;
}

TEST_CASE("extremal points, not convex: from nothing every pair is solved, apart or not, and in bowls") {
  const Folded shapes;
  Random rng(17);
  const int pairs = pairs_per_row(60);
  int all = 0, fallbacks = 0, ill = 0, overlapping = 0;
  std::vector<Shape> firsts = shapes.folded;
  firsts.push_back(shapes.bowl);
  for (const Shape& first : firsts) {
    for (const Shape& second : shapes.partners) {
      INFO(smooth_pairs::describe(first) << " " << smooth_pairs::describe(second));
      for (int i = 0; i < pairs; ++i) {
        const Body a = smooth_pairs::placed(first, rng, 0), b = smooth_pairs::placed(second, rng, 1);
        const ExtremalPair pair = cold(a, b), other = cold(b, a);
        REQUIRE(pair.known());
        REQUIRE(other.known());
        ++all;
        fallbacks += pair.status == ExtremalStatus::fallen_back ? 1 : 0;
        ill += pair.status == ExtremalStatus::ill_conditioned ? 1 : 0;
        overlapping += pair.d < 0 ? 1 : 0;
        CHECK_WITHIN(pair.nhat_BA_W.norm() - 1, 1e-14);
        CHECK_WITHIN(pair.nhat_BA_W.dot(pair.pa_W - pair.pb_W) - pair.d, 1e-14);
        // Extremal: the points lie along their normal.
        CHECK_WITHIN((pair.pa_W - pair.pb_W - pair.d * pair.nhat_BA_W).norm(), 1e-9);
      }
    }
  }
  MESSAGE("pairs " << all << ", fallbacks " << fallbacks << ", ill-conditioned " << ill << ", overlapping "
                   << overlapping);
  CHECK(fallbacks <= all / 100);
}

TEST_CASE("extremal points, not convex: distances against samples of both surfaces with polish, to 1e-12") {
  const Folded shapes;
  Random rng(18);
  int apart = 0, overlapping = 0;
  const int pairs = pairs_per_row(4);
  for (const Shape& first : shapes.folded) {
    for (const Shape& second : shapes.partners) {
      if (second.kind == ShapeKind::convex) continue;
      for (int i = 0; i < pairs; ++i) {
        const Body b = smooth_pairs::placed(first, rng, 0), a = smooth_pairs::placed(second, rng, 0.7);
        INFO(smooth_pairs::describe(first) << " " << smooth_pairs::describe(second) << " " << i);
        const ExtremalPair pair = cold(a, b);
        const double searched = is_smooth(second) ? searched_between(a, b, rng) : searched_distance(a, b, rng);
        if (searched > 1e-6) {
          ++apart;
          CHECK_WITHIN(pair.d - searched, 1e-12);
        } else {  // a sample of one lies in the other, or the surfaces cross
          ++overlapping;
          CHECK(pair.d < 1e-6);
        }
      }
    }
  }
  MESSAGE("apart " << apart << ", overlapping " << overlapping);
  CHECK(apart > 100);
  CHECK(overlapping > 20);
}

// How far the shape reaches along the unit d.
double reach(const Body& body, const Vec3& d) {
  return d.dot(body.X * support(body.shape, body.X.R.transpose() * d));
}

TEST_CASE("extremal points in a bowl: how far a body reaches beyond its wall, over all directions, to 1e-12") {
  const Folded shapes;
  Random rng(19);
  int inside = 0;
  for (const Shape& second : shapes.partners) {
    for (int i = 0; i < 8; ++i) {
      const double size = i < 4 ? 0.15 : 1;
      const Body bowl = smooth_pairs::placed(shapes.bowl, rng, 0), b = smooth_pairs::placed(second, rng, size);
      INFO(smooth_pairs::describe(second) << " " << i);
      const ExtremalPair pair = cold(b, bowl);
      // A support's part of a cavity is its hollow's.
      const auto room = [&](const Vec3& u) { return reach(bowl, u) - reach(b, u); };
      std::vector<std::pair<double, Vec3>> tried;
      for (int k = 0; k < 300; ++k) {
        const Vec3 u = rng.direction();
        tried.emplace_back(room(u), u);
      }
      std::partial_sort(tried.begin(), tried.begin() + 4, tried.end(),
                        [](const auto& x, const auto& y) { return x.first < y.first; });
      double least = tried[0].first;
      for (std::size_t k = 0; k < 4; ++k) {
        least = std::min(least, polish(tried[k].second, room, [&](const Vec3& u, double step) {
                           return Vec3((u + step * rng.in_cube(1)).normalized());
                         }));
      }
      inside += least > 0 ? 1 : 0;
      CHECK_WITHIN(pair.d - least, 1e-12);
    }
  }
  CHECK(inside > 3);
}

// Moved by t, does a overlap b within 1 cm of where they touch: the least F of b over a's surface around w.
double least_there(const Sampled& A, const Vec3& w, const SmoothSurface& b, const Frame& X_WB, const Vec3& t,
                   Random& rng) {
  const Vec3 middle = A.at(w);
  return polish(
      w,
      [&](const Vec3& at) {
        const Vec3 p = A.at(at);
        return (p - middle).norm() < 0.01 ? b.implicit(X_WB.to_local(p + t)).F : 1.0;
      },
      [&](const Vec3& at, double step) { return A.moved(at, std::min(step, 0.01), rng); });
}

TEST_CASE("extremal points, not convex: an overlap's way out ends at a touch, and none nearby is shorter") {
  const Folded shapes;
  Random rng(20);
  int checked = 0, deep = 0;
  const Shape& torus = shapes.folded[0];
  for (const Shape& second : shapes.partners) {
    if (!is_smooth(second)) continue;
    for (int i = 0; i < 40; ++i) {
      const Body b = smooth_pairs::placed(torus, rng, 0), a = smooth_pairs::placed(second, rng, 0.35);
      const ExtremalPair pair = cold(a, b);
      if (pair.d > -1e-3 || pair.status != ExtremalStatus::solved) continue;
      INFO(smooth_pairs::describe(second) << " " << i << " d " << pair.d);
      const Sampled A(a);
      Vec3 w = A.w[0];
      for (std::size_t k = 0; k < A.w.size(); ++k) {
        if ((A.p[k] - pair.pa_W).squaredNorm() < (A.at(w) - pair.pa_W).squaredNorm()) w = A.w[k];
      }
      // Polish keeps the value only; the place is found by the same steps again.
      for (double step = 0.05; step > 1e-8;) {
        const Vec3 trial = A.moved(w, step, rng);
        const bool better = (A.at(trial) - pair.pa_W).squaredNorm() < (A.at(w) - pair.pa_W).squaredNorm();
        step *= better ? 1.5 : 0.9;
        if (better) w = trial;
      }
      CHECK_WITHIN((A.at(w) - pair.pa_W).norm(), 1e-7);
      const Vec3 out = -pair.d * pair.nhat_BA_W;
      const SmoothSurface& surface = *torus.smooth;
      CHECK(least_there(A, w, surface, b.X, (1 + 1e-5) * out, rng) > 0);
      for (int k = 0; k < 8; ++k) {
        const Vec3 t = ((1 - 1e-5) * out.norm()) * (out.normalized() + 0.005 * rng.in_cube(1)).normalized();
        CHECK(least_there(A, w, surface, b.X, t, rng) < 0);
      }
      ++checked;
      deep += pair.d < -0.1 ? 1 : 0;
    }
  }
  MESSAGE("checked " << checked << ", deeper than the tube's radius " << deep);
  CHECK(checked > 40);
  CHECK(deep > 10);
}

}  // namespace
}  // namespace tactus
