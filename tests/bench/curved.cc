// Extremal points of smooth shapes: how long a pair takes when it is followed, with and without its rates, and when
// nothing is known; how often Newton's method needs help. CSV: pair, what, calls (warm: batches of 20 of them), median
// us, mean us, least us (of all batches: what is left on a busy machine), mean Newton steps, solved, fallbacks,
// ill-conditioned, part of the calls that were hits, median us of single calls with what the clock takes (warm: of
// other batches; the first call of a batch comes after a search from nothing, has no history and cold memory). The
// record: TACTUS_COMMIT=... tactus_bench_curved 10000 20000 > tests/bench/results/MACHINE/curved.csv. usage:
// tactus_bench_curved [PAIRS_PER_CLASS [CALLS [PAIR]]], PAIR as in the first column: that one alone.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/collide/smooth/extremal_points.h"
#include "core/shape/convex_hull.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/bench/machine_line.h"
#include "tests/support/random.h"
#include "tests/support/smooth_surfaces.h"

namespace tactus::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Named {
  std::string name;
  Shape shape;
};

struct Placed {
  Shape shape;
  Frame X;
};

class Shapes {
 public:
  Shapes() {
    add("ellipsoid", make_ellipsoid({0.3, 0.2, 0.25}));
    add("flat_ellipsoid", make_ellipsoid({0.4, 0.3, 0.04}));
    add("superellipsoid", make_superellipsoid({0.3, 0.2, 0.25}, 0.7, 0.8));
    add("flat_superellipsoid", make_superellipsoid({0.3, 0.3, 0.2}, 0.3, 0.3));
    std::string error;
    const Mat3 R = Quat(0.5, 0.1, -0.7, 0.5).normalized().toRotationMatrix();
    add("quadric", make_quadric(quadric_of({0.3, 0.2, 0.25}, R, {0.1, 0, -0.05}, -7), error));
    add("patched_ellipsoid", make_patched_ellipsoid({0.3, 0.2, 0.25}));
    add("revolution", make_revolution(egg_profile(), error));
    Random rng(5);
    std::vector<Vec3> cloud;
    cloud.reserve(40);
    for (int i = 0; i < 40; ++i) cloud.push_back(rng.direction().cwiseProduct(Vec3(0.35, 0.3, 0.2)));
    if (!build_convex_hull(cloud, 64, hull_, error)) std::abort();
    partners = smooth;
    partners.push_back({"sphere", make_sphere(0.2)});
    partners.push_back({"capsule", make_capsule(0.1, 0.3)});
    partners.push_back({"box", make_box({0.3, 0.2, 0.1})});
    partners.push_back({"cylinder", make_cylinder(0.2, 0.25)});
    partners.push_back({"convex", make_convex(&hull_)});
    partners.push_back({"half_space", make_half_space()});
    // No partners of what is convex: their pairs are the same the other way round, and searched for in every call.
    const std::size_t convex = smooth.size();
    add("torus", make_torus(0.3, 0.1));
    add("waist", make_revolution(pear_profile(), error));
    add("ring", make_revolution(ring_profile(), error));
    add("spline_torus", make_spline(torus_control(9, 6), {9, 6}, error));
    add("spline_ball", make_spline(ball_control(5, 4, 6), {5, 4, 6}, error));
    hollow = smooth;
    hollow.erase(hollow.begin(), hollow.begin() + static_cast<std::ptrdiff_t>(convex));
    add("bowl", make_cavity(make_ellipsoid({0.5, 0.5, 0.4})));
  }
  std::vector<Named> smooth, partners, hollow;

 private:
  void add(const char* name, std::unique_ptr<SmoothSurface> surface) {
    if (surface == nullptr) std::abort();
    smooth.push_back({name, make_smooth(surface.get())});
    surfaces_.push_back(std::move(surface));
  }
  std::vector<std::unique_ptr<SmoothSurface>> surfaces_;
  ConvexHull hull_;
};

double microseconds(Clock::duration took) {
  return std::chrono::duration<double, std::micro>(took).count();
}
double median(std::vector<double>& x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

struct Tally {
  std::vector<double> us, single_us;
  double steps = 0;
  std::uint32_t solved = 0, fallbacks = 0, ill = 0;
  std::uint64_t calls = 0, hits = 0;

  void add(const ExtremalPair& pair, Clock::duration took) {
    us.push_back(microseconds(took));
    steps += pair.iterations;
    solved += pair.known() ? 1 : 0;
    fallbacks += pair.status == ExtremalStatus::fallen_back ? 1 : 0;
    ill += pair.status == ExtremalStatus::ill_conditioned ? 1 : 0;
  }
  void print(const std::string& a, const std::string& b, const char* what) {
    double sum = 0;
    for (const double t : us) sum += t;
    const double n = static_cast<double>(us.size());
    std::printf("%s-%s,%s,%zu,%.3f,%.3f,%.3f,%.2f,%u,%u,%u,%.4f,%.3f\n", a.c_str(), b.c_str(), what, us.size(),
                median(us), sum / n, *std::min_element(us.begin(), us.end()), steps / n, solved, fallbacks, ill,
                calls > 0 ? static_cast<double>(hits) / static_cast<double>(calls) : 0.0,
                single_us.empty() ? 0.0 : median(single_us));
  }
};

Placed placed(const Shape& shape, Random& rng, double spread) {
  const Mat3 R = rng.rotation().toRotationMatrix();
  return {shape, {R, rng.in_cube(spread)}};
}

void cold(const Named& first, const Named& second, int pairs) {
  Random rng(17);
  Tally tally;
  for (int i = 0; i < pairs; ++i) {
    const Placed a = placed(first.shape, rng, 0), b = placed(second.shape, rng, 1);
    ExtremalSide side_a, side_b;
    const auto start = Clock::now();
    const ExtremalPair pair = extremal_points(a.shape, a.X, b.shape, b.X, side_a, side_b);
    tally.add(pair, Clock::now() - start);
  }
  tally.print(first.name, second.name, "cold");
}

constexpr std::size_t kBatch = 20;
constexpr double kStep = 1e-3;

// A pair on its way, 1 ms a step.
struct Followed {
  Placed a, b;
  RigidMotion A, B;
  ExtremalSide side_a, side_b;
  ExtremalPair pair;
  std::array<Frame, kBatch + 1> X_WA, X_WB;

  void find() { pair = extremal_points(a.shape, a.X, b.shape, b.X, side_a, side_b); }
  void lay_out() {
    for (std::size_t n = 0; n <= kBatch; ++n) {
      X_WA[n] = a.X, X_WB[n] = b.X;
      a.X.R = rotate_by(kStep * A.w_W, Quat(a.X.R)).toRotationMatrix();
      b.X.R = rotate_by(kStep * B.w_W, Quat(b.X.R)).toRotationMatrix();
      a.X.p += kStep * A.v_W, b.X.p += kStep * B.v_W;
    }
  }
  // From the n-th place to the next.
  void follow(std::size_t n, bool with_rates) {
    if (with_rates) {
      A.c_W = X_WA[n].p, B.c_W = X_WB[n].p;
      const ExtremalRates rates = extremal_rates(pair, A, B);
      const SecondRate second_rate = extremal_second_rate(pair, rates, A, B);
      look_ahead(pair, rates, A, B, a.shape, X_WA[n], b.shape, X_WB[n], kStep, side_a, side_b);
      if (second_rate.constant > 1e300) std::abort();  // so that it is computed
    } else {
      look_ahead(side_a), look_ahead(side_b);
    }
    pair = extremal_points(a.shape, X_WA[n + 1], b.shape, X_WB[n + 1], side_a, side_b);
  }
};

// Steps of 1 ms at about 1 m/s and 2 rad/s, points advanced along their rates (eq. 17, 60) or, as the narrow phase does
// it, by what they moved by before. Timed in batches of 20 calls, so that the clock's own time does not count, and of
// every other batch call by call.
void warm(const Named& first, const Named& second, int calls, bool with_rates) {
  Random rng(18);
  Tally tally;
  const bool bowl = first.shape.smooth->cavity() || (second.shape.smooth != nullptr && second.shape.smooth->cavity());
  bool single = false;
  for (int tries = 0; static_cast<int>(tally.us.size() * kBatch) < calls && tries < 2 * calls; ++tries) {
    Followed f;
    f.a = placed(first.shape, rng, 0), f.b = placed(second.shape, rng, 0);
    f.b.X.p = (bowl ? 0.1 : 1.0) * rng.direction();
    const bool plane = second.shape.kind == ShapeKind::half_space;
    if (plane) f.b.X.R.setIdentity(), f.b.X.p = Vec3(0, 0, -0.5);
    f.A.v_W = rng.in_cube(1), f.A.w_W = rng.in_cube(2);
    f.B.v_W = rng.in_cube(1), f.B.w_W = rng.in_cube(2);
    if (plane) f.B.v_W.setZero(), f.B.w_W.setZero();
    f.find();
    if (!f.pair.has_rates() || f.pair.d < (bowl ? 0.01 : 0.05)) continue;
    f.lay_out();
    double steps = 0;
    const auto start = Clock::now();
    auto last = start;
    for (std::size_t n = 0; n < kBatch; ++n) {
      f.follow(n, with_rates);
      steps += f.pair.iterations;
      tally.hits += f.pair.warm ? 1 : 0;
      if (!single) continue;
      tally.single_us.push_back(microseconds(Clock::now() - last));
      last = Clock::now();
    }
    tally.calls += kBatch;
    if (!single) {
      tally.add(f.pair, (Clock::now() - start) / kBatch);
      tally.steps += steps / static_cast<double>(kBatch) - f.pair.iterations;
    }
    single = !single;
  }
  if (tally.us.empty()) return;  // a bowl's partner that is too large for it
  tally.print(first.name, second.name, with_rates ? "warm_with_rates" : "warm");
}

}  // namespace
}  // namespace tactus::test

int main(int argc, char** argv) {
  using namespace tactus;
  using namespace tactus::test;
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 10000, calls = argc > 2 ? std::atoi(argv[2]) : 20000;
  const std::string only = argc > 3 ? argv[3] : "";
  const Shapes shapes;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  double load[1] = {0};
  getloadavg(load, 1);
  std::printf("# %s; load average %.1f\n", bench::machine_line().c_str(), load[0]);
  std::printf(
      "pair,what,calls,median_us,mean_us,least_us,mean_steps,solved,fallbacks,ill_conditioned,hits,single_us\n");
  for (const Named& first : shapes.smooth) {
    const SmoothSurface& surface = *first.shape.smooth;
    std::vector<Named> partners = shapes.partners;
    if (!surface.convex()) partners.insert(partners.end(), shapes.hollow.begin(), shapes.hollow.end());
    if (surface.cavity()) std::erase_if(partners, [](const Named& p) { return p.shape.kind == ShapeKind::half_space; });
    for (const Named& second : partners) {
      if (!only.empty() && only != first.name + "-" + second.name) continue;
      if (pairs > 0) cold(first, second, pairs);
      if (calls <= 0) continue;
      warm(first, second, calls, false);
      warm(first, second, calls, true);
    }
  }
}
