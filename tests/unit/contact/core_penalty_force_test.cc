// The penalty force against equations (1)-(3) of Drumwright, friction against its cone, and the gain law against the
// eigenvalues that it must bound.
#include "core/contact/penalty/penalty_force.h"

#include <limits>
#include <vector>

#include "tests/support/algebra.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;
using Matrix = Eigen::MatrixXd;

// One manifold between two bodies, all points chosen, evaluated at the start of a tick.
struct Bench {
  std::vector<ContactPoint> points;
  std::vector<std::uint32_t> chosen;
  PenaltyContact c{};
  StageBody a{}, b{};
  SpatialForce F_A, F_B;
  std::vector<SpatialForce> point_force;

  Bench(Random& random, std::uint32_t n) {
    const Vec3 nhat = random.direction(), middle = random.in_cube(2);
    for (std::uint32_t i = 0; i < n; ++i) {
      Vec3 d = random.in_cube(0.3);
      d -= nhat.dot(d) * nhat;
      points.push_back({middle + d, random.uniform(1e-3, 2e-2)});
      chosen.push_back(i);
    }
    point_force.resize(n);
    a = {middle + random.in_cube(0.5), random.in_cube(0.1), random.in_cube(0.3), Vec3::Zero(), Mat3::Zero()};
    b = {middle + random.in_cube(0.5), random.in_cube(0.1), random.in_cube(0.3), Vec3::Zero(), Mat3::Zero()};
    c.nhat_BA_W = nhat;
    c.stretch.setZero();
    c.points = points.data(), c.chosen = chosen.data(), c.count = n;
    c.p_ref = points[0].p_WC;
    c.kp = random.log_uniform(1e3, 1e6), c.kv = random.log_uniform(1, 1e5);
    c.divide_by_points = true;
    c.reach = std::numeric_limits<double>::infinity();
  }
  // v of eq. 1: relative velocity of A against B at the point.
  [[nodiscard]] Vec3 velocity(const Vec3& p) const { return a.v + a.w.cross(p - a.x) - b.v - b.w.cross(p - b.x); }
  void run() { evaluate(StageKind::start, c, a, b, F_A, F_B, point_force.data()); }
};

TEST_CASE("penalty force: equations (1) and (3), point by point, divided by the points that push") {
  Random random(1);
  std::uint32_t partly = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Bench bench(random, 1 + random.below(8));
    bench.c.integral_force = random.chance(0.5) ? 0.0 : random.uniform(0, 100);
    if (random.chance(0.5)) bench.c.reach = random.uniform(0, 1e-2);  // deeper overlap is new: not felt yet
    bench.c.divide_by_points = random.chance(0.7);
    bench.run();
    double r = 0;
    std::vector<double> f;
    for (const auto& point : bench.points) {
      f.push_back(std::max(0.0, bench.c.kp * std::min(point.depth, bench.c.reach) -
                                    bench.c.kv * bench.c.nhat_BA_W.dot(bench.velocity(point.p_WC)) +
                                    bench.c.integral_force));
      r += f.back() > 0;
    }
    partly += r > 0 && r < bench.c.count;
    if (!bench.c.divide_by_points) r = std::min(r, 1.0);
    Vec3 force = Vec3::Zero(), torque_A = Vec3::Zero(), torque_B = Vec3::Zero();
    double scale = 1e-9;
    for (std::size_t i = 0; i < f.size(); ++i) {
      const Vec3 f_i = f[i] > 0 ? Vec3(f[i] / r * bench.c.nhat_BA_W) : Vec3::Zero();
      CHECK_WITHIN((bench.point_force[i].force - f_i).norm(), 1e-11 * (f_i.norm() + 1));
      force += f_i;
      torque_A += (bench.points[i].p_WC - bench.a.x).cross(f_i);
      torque_B -= (bench.points[i].p_WC - bench.b.x).cross(f_i);
      scale += f_i.norm();
    }
    CHECK_WITHIN((bench.F_A.force - force).norm() / scale, 1e-12);
    CHECK_WITHIN((bench.F_B.force + force).norm() / scale, 1e-12);
    CHECK_WITHIN((bench.F_A.torque - torque_A).norm() / scale, 1e-12);
    CHECK_WITHIN((bench.F_B.torque - torque_B).norm() / scale, 1e-12);
  }
  CHECK(partly > 100);  // cases in which some points push and others do not
}

TEST_CASE("penalty force: one resting point carries kp d exactly") {
  Random random(2);
  Bench bench(random, 1);
  bench.a.v = bench.a.w = bench.b.v = bench.b.w = Vec3::Zero();
  bench.run();
  CHECK(bench.F_A.force.dot(bench.c.nhat_BA_W) == doctest::Approx(bench.c.kp * bench.points[0].depth).epsilon(1e-14));
}

TEST_CASE("penalty force: with friction the pair still exerts equal and opposite forces along one line") {
  Random random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    Bench bench(random, 1 + random.below(8));
    bench.c.mu_static = bench.c.mu_dynamic = random.uniform(0.05, 2);
    bench.c.stretch = 1e-3 * bench.c.nhat_BA_W.cross(random.in_cube(1));
    bench.c.twist = random.uniform(-0.01, 0.01);
    bench.c.h_moved = 1e-3;
    bench.run();
    const double scale = bench.F_A.force.norm() + 1e-9;
    CHECK_WITHIN((bench.F_A.force + bench.F_B.force).norm() / scale, 1e-14);
    // About the origin of W, both torques together vanish.
    const Vec3 sum =
        bench.F_A.torque + bench.a.x.cross(bench.F_A.force) + bench.F_B.torque + bench.b.x.cross(bench.F_B.force);
    CHECK_WITHIN(sum.norm() / scale, 1e-13);
  }
}

TEST_CASE("penalty force: friction lies in the plane and in the cone, and brakes when it slides") {
  Random random(4);
  int slid = 0, stuck = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    Bench bench(random, 1 + random.below(8));
    const double mu = bench.c.mu_static = bench.c.mu_dynamic = random.log_uniform(0.01, 20);
    bench.run();
    const Vec3& nhat = bench.c.nhat_BA_W;
    const double N = nhat.dot(bench.F_A.force);
    const Vec3 F_t = bench.F_A.force - N * nhat;
    CHECK(N >= 0);
    CHECK_WITHIN(std::max(0.0, F_t.norm() - mu * N), 1e-12 * (N + 1));
    if (bench.c.active == 0) continue;
    Vec3 centre = Vec3::Zero();  // of pressure: where friction acts
    for (std::size_t i = 0; i < bench.points.size(); ++i) {
      centre += nhat.dot(bench.point_force[i].force) / N * bench.points[i].p_WC;
    }
    Vec3 v_t = bench.velocity(centre);
    v_t -= nhat.dot(v_t) * nhat;
    CHECK(F_t.dot(v_t) <= 1e-12 * F_t.norm() * v_t.norm());
    // One budget for sliding and spinning: |F|^2 + (M / R)^2 <= (mu N)^2, R the radius of gyration of the pressure.
    double radius2 = 0;
    for (std::size_t i = 0; i < bench.points.size(); ++i) {
      radius2 += nhat.dot(bench.point_force[i].force) / N * (bench.points[i].p_WC - centre).squaredNorm();
    }
    const double moment = nhat.dot(bench.F_A.torque - (centre - bench.a.x).cross(bench.F_A.force));
    const double used = std::sqrt(F_t.squaredNorm() + (radius2 > 1e-20 ? moment * moment / radius2 : 0.0));
    CHECK_WITHIN(std::max(0.0, used - mu * N), 1e-9 * N);
    if (bench.c.slipped) {
      CHECK_WITHIN(used - mu * N, 1e-9 * N);
      CHECK_WITHIN((F_t / F_t.norm() + v_t / v_t.norm()).norm(), 1e-7);
    }
    (bench.c.slipped ? slid : stuck) += 1;
  }
  CHECK(slid > 500);
  CHECK(stuck > 500);
}

// Stiffness of one manifold's springs, of unit gain, on the velocities (v, w) of one body: what the gain law bounds.
// The normal springs stand at the points, share 1/r each; the two tangential ones at the pressure centre; the torsional
// one has the radius of gyration of the pressure.
struct Springs {
  std::vector<Eigen::Matrix<double, 1, 6>> rows;  // already times the root of the stiffness
  [[nodiscard]] Eigen::Matrix<double, 6, 6> stiffness() const {
    Eigen::Matrix<double, 6, 6> K = Eigen::Matrix<double, 6, 6>::Zero();
    for (const auto& row : rows) K += row.transpose() * row;
    return K;
  }
};

Springs springs_of(const std::vector<ContactPoint>& points, const Vec3& nhat, const Vec3& x) {
  Springs s;
  const auto add = [&s](double k, const Vec3& linear, const Vec3& angular) {
    Eigen::Matrix<double, 1, 6> row;
    row << linear.transpose(), angular.transpose();
    s.rows.push_back(std::sqrt(k) * row);
  };
  double weight = 0, radius2 = 0;
  Vec3 centre = Vec3::Zero(), t1, t2;
  for (const auto& p : points) {
    add(1.0 / static_cast<double>(points.size()), nhat, (p.p_WC - x).cross(nhat));
    weight += p.depth;
    centre += p.depth * p.p_WC;
  }
  centre /= weight;
  for (const auto& p : points) radius2 += p.depth / weight * (p.p_WC - centre).squaredNorm();
  tangent_basis(nhat, t1, t2);
  add(1, t1, (centre - x).cross(t1));
  add(1, t2, (centre - x).cross(t2));
  add(radius2, Vec3::Zero(), nhat);
  return s;
}

Eigen::Matrix<double, 6, 6> mass_matrix(const Body& body, const Mat3& R) {
  Eigen::Matrix<double, 6, 6> M = Eigen::Matrix<double, 6, 6>::Zero();
  M.topLeftCorner<3, 3>() = body.mass * Mat3::Identity();
  M.bottomRightCorner<3, 3>() = R * body.I_BBcm * R.transpose();
  return M;
}

TEST_CASE("gain law: for one body its bound holds the true largest eigenvalue, and is seldom far above it") {
  Random random(5);
  double worst = 0, tightest = 1e9;
  for (int trial = 0; trial < 5000; ++trial) {
    Scene scene;
    const double size = random.log_uniform(0.01, 3), mass = random.log_uniform(1e-3, 1e3);
    scene.add_floor();
    scene.add(make_sphere(1), mass, {random.rotation(), random.in_cube(1)});
    scene.model->bodies[1].I_BBcm = random.inertia(mass, 2 * size);
    finish_model(*scene.model);
    const State state = initial_state(*scene.model, 1);
    Kinematics kinematics;
    resize(*scene.model, kinematics);
    compute_kinematics(*scene.model, state, kinematics);

    Bench bench(random, 1 + random.below(8));
    const Vec3 x = state.p_WBcm(1), nhat = bench.c.nhat_BA_W, middle = x + random.in_cube(size);
    for (auto& p : bench.points) {
      Vec3 d = random.in_cube(size * random.uniform(0, 0.5));
      p.p_WC = middle + d - nhat.dot(d) * nhat;
    }
    bench.c.p_ref = bench.points[0].p_WC;
    bench.c.a = 1, bench.c.b = 0;
    const Gains gains;
    const double h = 1e-3;
    automatic_gains(gains, h, kinematics, state, 1, 1, bench.c);
    const double L = gains.explicit_alpha / (h * h * bench.c.kp);
    CHECK_WITHIN(bench.c.kv * h * L / gains.explicit_beta - 1, 1e-12);
    const Matrix K = springs_of(bench.points, nhat, x).stiffness();
    const Matrix M = mass_matrix(scene.model->bodies[1], state.q_WB(1).toRotationMatrix());
    const double lambda = test::generalised_eigenvalues(K, M).maxCoeff();
    CHECK_MESSAGE(L >= lambda * (1 - 1e-9), "bound " << L << ", eigenvalue " << lambda);
    worst = std::max(worst, L / lambda);
    tightest = std::min(tightest, L / lambda);
  }
  MESSAGE("bound / eigenvalue between " << tightest << " and " << worst);
  CHECK(worst <= 1.35);
}

// A random tree or net of bodies with manifolds between them, linearised: x'' = -M^-1 (A x + B x').
struct Net {
  Matrix M, A, B;
  double h = 1e-3;
};

Net random_net(Random& random, const Gains& gains) {
  Scene scene;
  const std::uint32_t n = 2 + random.below(6);
  scene.add_floor();
  for (std::uint32_t i = 0; i < n; ++i) {
    const double mass = random.log_uniform(0.01, 100);
    const BodyIndex b = scene.add(make_sphere(1), mass, {random.rotation(), random.in_cube(0.3)});
    scene.model->bodies[b].I_BBcm = random.inertia(mass, 1);
  }
  finish_model(*scene.model);
  const State state = initial_state(*scene.model, 1);
  Kinematics kinematics;
  resize(*scene.model, kinematics);
  compute_kinematics(*scene.model, state, kinematics);
  std::vector<Bench> contacts;
  std::vector<double> on_body(n + 1, 0.0);
  for (std::uint32_t b = 1; b <= n; ++b) {
    for (std::uint32_t other = 0; other < b; ++other) {  // the one before always, others now and then
      if (other + 1 != b && !random.chance(0.2)) continue;
      Bench bench(random, 1 + random.below(6));
      bench.c.a = other, bench.c.b = b;
      ++on_body[other], ++on_body[b];
      contacts.push_back(std::move(bench));
    }
  }
  Net net;
  net.A = net.B = net.M = Matrix::Zero(6 * n, 6 * n);
  for (std::uint32_t b = 1; b <= n; ++b) {
    net.M.block<6, 6>(6 * (b - 1), 6 * (b - 1)) = mass_matrix(scene.model->bodies[b], state.q_WB(b).toRotationMatrix());
  }
  for (Bench& bench : contacts) {
    PenaltyContact& c = bench.c;
    automatic_gains(gains, net.h, kinematics, state, on_body[c.a], on_body[c.b], c);
    const Springs on_a = springs_of(bench.points, c.nhat_BA_W, state.p_WBcm(c.a));
    const Springs on_b = springs_of(bench.points, c.nhat_BA_W, state.p_WBcm(c.b));
    for (std::size_t k = 0; k < on_a.rows.size(); ++k) {
      Eigen::VectorXd J = Eigen::VectorXd::Zero(6 * n);
      if (c.a > 0) J.segment<6>(6 * (c.a - 1)) += on_a.rows[k];
      if (c.b > 0) J.segment<6>(6 * (c.b - 1)) -= on_b.rows[k];
      net.A += c.kp * J * J.transpose();
      net.B += c.kv * J * J.transpose();
    }
  }
  return net;
}

TEST_CASE("gain law: chains and nets of any masses stay within alpha, and semi-implicit Euler on them is stable") {
  Random random(6);
  double worst = 0, radius = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Gains gains;
    if (trial % 2) gains.explicit_alpha = 1, gains.explicit_beta = 1.45;
    const Net net = random_net(random, gains);
    const double lambda = test::generalised_eigenvalues(net.A, net.M).maxCoeff();
    worst = std::max(worst, lambda * net.h * net.h / gains.explicit_alpha);
    // v' = v - h M^-1 (A x + B v); x' = x + h v'. Lengths in units of h: x = h y.
    const auto n = net.M.rows();
    const Matrix stiff = net.h * net.h * test::solve_ldlt(net.M, net.A);
    const Matrix damp = net.h * test::solve_ldlt(net.M, net.B);
    Matrix step(2 * n, 2 * n);
    step << Matrix::Identity(n, n) - stiff, Matrix::Identity(n, n) - damp, -stiff, Matrix::Identity(n, n) - damp;
    // Two equal eigenvalues 1 (free motion) cost half the digits.
    const double r = test::spectral_radius(step);
    radius = std::max(radius, r);
  }
  MESSAGE("largest eigenvalue / its limit: " << worst << "; spectral radius: " << radius);
  CHECK_WITHIN(std::max(0.0, worst - 1), 1e-9);
  CHECK_WITHIN(std::max(0.0, radius - 1), 1e-5);
}

TEST_CASE("gain law: the gains scale with mass and do not depend on the frame") {
  Random random(7);
  for (int trial = 0; trial < 100; ++trial) {
    const Quat R = random.rotation();
    const Quat start = random.rotation();
    const Mat3 I = random.inertia(1, 1);
    Bench bench(random, 4);
    std::vector<double> kp;
    for (const auto& [mass, turned] : {std::pair(1.0, false), std::pair(7.0, false), std::pair(1.0, true)}) {
      Scene scene;
      scene.add_floor();
      const Quat q = turned ? R * start : start;
      scene.add(make_sphere(1), mass, {q, Vec3::Zero()});
      scene.model->bodies[1].I_BBcm = mass * I;
      finish_model(*scene.model);
      const State state = initial_state(*scene.model, 1);
      Kinematics kinematics;
      resize(*scene.model, kinematics);
      compute_kinematics(*scene.model, state, kinematics);
      Bench copy = bench;
      copy.c.points = copy.points.data(), copy.c.chosen = copy.chosen.data();
      if (turned) {
        for (auto& p : copy.points) p.p_WC = R * p.p_WC;
        copy.c.nhat_BA_W = R * copy.c.nhat_BA_W;
      }
      copy.c.p_ref = copy.points[0].p_WC;
      copy.c.a = 1, copy.c.b = 0;
      automatic_gains(Gains{}, 1e-3, kinematics, state, 1, 1, copy.c);
      kp.push_back(copy.c.kp);
    }
    CHECK_WITHIN(kp[1] / (7 * kp[0]) - 1, 1e-12);
    CHECK_WITHIN(kp[2] / kp[0] - 1, 1e-10);
  }
}

}  // namespace
}  // namespace tactus
