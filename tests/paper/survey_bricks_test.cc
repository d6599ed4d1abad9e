// Baraff 1993, Figure 3 and section 6: overbalanced bricks with ten contacts, of which some break, and a cube that
// lands flat on four corners.
#include <array>
#include <vector>

#include "core/math/lcp.h"
#include "core/math/lcp_enumerate.h"
#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Random;
using test::Scene;

constexpr int kBricks = 5, kContacts = 2 * kBricks;
constexpr double kHalfWidth = 0.5, kHalfHeight = 0.15;

struct Bricks {
  std::array<double, kBricks> x{}, mass{};  // of the centres, from the floor up
};

// Ends of the area in which brick i rests on the one below.
std::array<double, 2> ends(const Bricks& bricks, int i) {
  if (i == 0) return {bricks.x[0] - kHalfWidth, bricks.x[0] + kHalfWidth};
  const auto k = static_cast<std::size_t>(i);
  return {std::max(bricks.x[k], bricks.x[k - 1]) - kHalfWidth, std::min(bricks.x[k], bricks.x[k - 1]) + kHalfWidth};
}

// Accelerations at the ten contacts from a_N = A f_N + b in plane mechanics, solved by trying all 2^10 cases.
Eigen::VectorXd by_enumeration(const Bricks& bricks) {
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(kContacts, 2 * kBricks);  // rise and turn of each brick
  Eigen::VectorXd per_mass(2 * kBricks);
  for (int i = 0; i < kBricks; ++i) {
    const double m = bricks.mass[static_cast<std::size_t>(i)];
    per_mass[2 * i] = 1 / m;
    per_mass[2 * i + 1] = 3 / (m * (kHalfWidth * kHalfWidth + kHalfHeight * kHalfHeight));
    for (int end = 0; end < 2; ++end) {
      const double x = ends(bricks, i)[static_cast<std::size_t>(end)];
      const int row = 2 * i + end;
      J(row, 2 * i) = 1, J(row, 2 * i + 1) = x - bricks.x[static_cast<std::size_t>(i)];
      if (i == 0) continue;
      J(row, 2 * i - 2) = -1, J(row, 2 * i - 1) = -(x - bricks.x[static_cast<std::size_t>(i - 1)]);
    }
  }
  const Eigen::Matrix<double, kContacts, kContacts, Eigen::RowMajor> A = J * per_mass.asDiagonal() * J.transpose();
  Eigen::VectorXd b = Eigen::VectorXd::Zero(kContacts), f = b;
  b[0] = b[1] = -kGravity;  // bricks fall alike: only the floor is approached
  BasisSolver basis(kContacts);
  const LcpProblem lcp{kContacts, 0, A.data(), b.data(), nullptr, nullptr, nullptr};
  CHECK(enumerate_lcp(lcp, basis, f.data()).status == LcpStatus::solved);
  return A * f + b;
}

struct Measured {
  Eigen::VectorXd acceleration = Eigen::VectorXd::Zero(kContacts), force = Eigen::VectorXd::Zero(kContacts);
};

// One step of the model from rest, without friction. Contacts with the same place in the plane count as one.
Measured by_model(const Bricks& bricks, ForceMethod method) {
  Scene scene(0);
  scene.model->planar = true;
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->parameters.lcp_friction = LcpFriction::none;
  scene.model->parameters.lcp_method = method;
  scene.set_gravity(Vec3(0, -kGravity, 0));
  scene.add_floor(Vec3::Zero(), Vec3::UnitY());
  for (int i = 0; i < kBricks; ++i) {
    const auto k = static_cast<std::size_t>(i);
    scene.add(make_box(Vec3(kHalfWidth, kHalfHeight, 0.2)), bricks.mass[k],
              test::at(bricks.x[k], (2 * i + 1) * kHalfHeight, 0));
  }
  test::keep_small(scene);
  World world = scene.world();
  CHECK(world.step().solver_failures == 0);
  Measured out;
  const State& state = world.state();
  for (int i = 0; i < kBricks; ++i) {
    const auto body = static_cast<BodyIndex>(i + 1);
    for (int end = 0; end < 2; ++end) {
      const double x = ends(bricks, i)[static_cast<std::size_t>(end)];
      const auto rise = [&](BodyIndex b, double from) { return state.v_WBcm(b).y() + state.w_WB(b).z() * (x - from); };
      double a = rise(body, bricks.x[static_cast<std::size_t>(i)]);
      if (i > 0) a -= rise(body - 1, bricks.x[static_cast<std::size_t>(i - 1)]);
      out.acceleration[2 * i + end] = a / world.h();
      for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m) {
        const Manifold& manifold = world.contacts().manifolds[m];
        if (std::max(manifold.body_a, manifold.body_b) != body) continue;
        for (std::uint32_t k = manifold.first; k < manifold.first + manifold.count; ++k) {
          if (std::abs(world.contacts().points[k].p_WC.x() - x) > 1e-6) continue;
          out.force[2 * i + end] += std::abs(world.contact_force(k).y());
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("Survey, Figure 3: which of ten contacts break is what trying all 1,024 cases says") {
  Random random(3);
  int breaking = 0, standing = 0;
  double worst = 0;
  std::vector<int> broken(kContacts + 1, 0);
  for (int k = 0; k < 120; ++k) {
    Bricks bricks;
    const double reach = random.uniform(0.05, 0.85);
    for (std::size_t i = 0; i < kBricks; ++i) {
      bricks.mass[i] = k % 2 == 0 ? 1 : random.log_uniform(0.1, 10);
      bricks.x[i] = (i == 0 ? 0 : bricks.x[i - 1]) + random.uniform(-0.4, 1) * reach;
    }
    const Eigen::VectorXd truth = by_enumeration(bricks);
    for (const ForceMethod method : {ForceMethod::automatic, ForceMethod::pivoting}) {
      const Measured found = by_model(bricks, method);
      worst = std::max(worst, (found.acceleration - truth).cwiseAbs().maxCoeff() / kGravity);
      for (int c = 0; c < kContacts; ++c) {
        if (truth[c] > 1e-6 * kGravity) CHECK(found.force[c] == 0);
      }
    }
    int count = 0;
    for (int c = 0; c < kContacts; ++c) count += truth[c] > 1e-6 * kGravity ? 1 : 0;
    ++broken[static_cast<std::size_t>(count)];
    (count > 0 ? breaking : standing) += 1;
  }
  CHECK_WITHIN(worst, 1e-8);
  CHECK(breaking > 30);
  CHECK(standing > 10);
  int kinds = 0;
  for (const int n : broken) kinds += n > 0;
  CHECK(kinds >= 3);  // one, two or more break
}

TEST_CASE("Survey, Figure 3: a stack that leans evenly breaks where the mass above passes the edge") {
  auto csv = test::open_csv("survey_fig3.csv", "shift,contact,x_m,force_n,acceleration_m_per_s2");
  // k bricks above an edge: their centre lies (k + 1) / 2 shifts over the brick below, which ends kHalfWidth out.
  for (const double shift : {0.15, 0.19, 0.21, 0.24, 0.3, 0.4}) {
    Bricks bricks;
    for (std::size_t i = 0; i < kBricks; ++i) bricks.mass[i] = 1, bricks.x[i] = shift * static_cast<double>(i);
    const Measured found = by_model(bricks, ForceMethod::automatic);
    const Eigen::VectorXd truth = by_enumeration(bricks);
    const bool stands = kBricks / 2.0 * shift < kHalfWidth;
    std::string which;
    for (int c = 0; c < kContacts; ++c) {
      const double a = found.acceleration[c];
      csv << shift << ',' << c << ',' << ends(bricks, c / 2)[static_cast<std::size_t>(c % 2)] << ',' << found.force[c]
          << ',' << a << '\n';
      if (a > 1e-6) which.append(" ").append(std::to_string(c / 2)).append(c % 2 == 0 ? "-" : "+");
      CHECK_WITHIN(a - truth[c], 1e-7);
    }
    MESSAGE("shift " << shift << " m: breaks at" << (which.empty() ? " none" : which));
    CHECK(which.empty() == stands);
  }
}

TEST_CASE(
    "Survey, 6: a cube that lands flat strikes with four corners at once and does not turn; friction is mu times") {
  const double h = 1e-4;
  for (const double e : {0.0, 0.4, 1.0}) {
    for (const double mu : {0.0, 0.3, 0.6}) {
      for (const double yaw : {0.0, 0.4}) {
        CAPTURE(e);
        CAPTURE(mu);
        CAPTURE(yaw);
        Scene scene(mu, e);
        scene.add_floor();
        const Vec3 v0(1.5, 0.4, -1);
        scene.add(make_box(Vec3::Constant(0.5)), 3, {test::turned(Vec3::UnitZ(), yaw), Vec3(0, 0, 0.5 + 1e-5)},
                  {Vec3::Zero(), v0});
        scene.model->contact_model = ContactModelKind::lcp;
        scene.model->parameters.impacts = Impacts::simultaneous;
        scene.model->step = h;
        World world = scene.world();
        std::uint32_t impacts = 0;
        for (int i = 0; i < 2; ++i) impacts += world.step().impacts;
        CHECK(impacts == 1);
        // It slides throughout: mu (1 + e) of the speed of approach is lost along the slip, and gravity acts for 2 h.
        const Vec3 along = Vec3(v0.x(), v0.y(), 0).normalized();
        const Vec3 slid = Vec3(v0.x(), v0.y(), 0) - mu * (1 + e) * along;
        const Vec3 v = world.state().v_WBcm(1);
        CHECK_WITHIN((Vec3(v.x(), v.y(), 0) - slid).norm(), 4 * kGravity * h);
        CHECK_WITHIN(v.z() - e, 4 * kGravity * h);
        CHECK_WITHIN(world.state().w_WB(1).norm(), 1e-3);  // what sweeps of impulses leave
      }
    }
  }
}

}  // namespace tactus
