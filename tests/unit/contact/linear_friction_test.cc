// Static friction by the linear system (Drumwright III-B) in the explicit penalty law, against Coulomb on a slope and
// the symmetry of two supports.
#include "core/contact/penalty/linear_friction.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/contact/penalty/penalty.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

// A World's tick for convex bodies, with a contact model of its own: all pairs of a free body and a fixed one.
class Bench {
 public:
  explicit Bench(Scene scene, FrictionLaw friction = FrictionLaw::linear_system)
      : model_(std::move(scene.model)), penalty_(false), arena_(1 << 20) {
    for (Material& material : model_->materials) material.friction.law = friction;
    model_->parameters.gains.law = GainLaw::automatic_explicit;
    finish_model(*model_);
    state = initial_state(*model_, 64);
    resize(*model_, kinematics_);
    applied.resize(model_->bodies.size());
    forces.resize(16 * 64);
    for (std::uint32_t a = 0; a < model_->shapes.size(); ++a) {
      for (std::uint32_t b = a + 1; b < model_->shapes.size(); ++b) {
        if (is_free(a) || is_free(b)) keys_.push_back({a, b, 0});
      }
    }
    scratch_.resize(64), points_.resize(16 * 64), manifolds.resize(64);
  }

  void step() {
    arena_.reset();
    compute_kinematics(*model_, state, kinematics_);
    state.pairs.match(keys_, scratch_.data());
    set_ = {manifolds.data(), points_.data(), 0, 0};
    for (std::uint32_t i = 0; i < keys_.size(); ++i) find(i);
    const Tick tick{*model_,        model_->parameters, limits_,        model_->step, set_,  kinematics_,
                    applied.data(), forces.data(),      drives_.data(), nullptr,      arena_};
    penalty_.advance(tick, state);
    ++state.tick;
  }
  void run(int ticks) {
    for (int i = 0; i < ticks; ++i) step();
  }
  [[nodiscard]] std::uint32_t manifold_count() const { return set_.manifold_count; }
  // On shape a of manifold i, all its points [N].
  [[nodiscard]] Vec3 force(std::uint32_t i) const {
    Vec3 sum = Vec3::Zero();
    for (std::uint32_t k = 0; k < manifolds[i].count; ++k) sum += forces[manifolds[i].first + k].force;
    return sum;
  }

  State state;
  std::vector<SpatialForce> applied, forces;
  std::vector<Manifold> manifolds;

 private:
  [[nodiscard]] bool is_free(std::uint32_t shape) const {
    return model_->bodies[model_->shapes[shape].body].mode == BodyMode::free;
  }
  void find(std::uint32_t i) {
    const std::uint32_t a = keys_[i].shape_a, b = keys_[i].shape_b;
    PairRecord& record = state.pairs[i];
    ContactBuffer buffer{points_.data() + set_.point_count, 16};
    collide(model_->shapes[a].shape, kinematics_.X_WS[a], model_->shapes[b].shape, kinematics_.X_WS[b], record.witness,
            buffer);
    if (buffer.count == 0) {
      record = {};
      record.key = keys_[i];
      return;
    }
    Manifold& m = manifolds[set_.manifold_count++];
    m = {buffer.nhat_BA_W, i, a,   b, model_->shapes[a].body, model_->shapes[b].body, set_.point_count,
         buffer.count,     0, true};
    for (std::uint32_t k = 0; k < buffer.count; ++k) m.depth_max = std::max(m.depth_max, buffer.points[k].depth);
    set_.point_count += buffer.count;
  }

  std::unique_ptr<Model> model_;
  PenaltyModel penalty_;
  Arena arena_;
  Limits limits_;
  Kinematics kinematics_;
  ContactSet set_;
  std::vector<PairKey> keys_;
  std::vector<PairRecord> scratch_;
  std::vector<ContactPoint> points_;
  std::vector<DofDrive> drives_ = std::vector<DofDrive>(1);
};

// Gravity of a slope along x; the surfaces stay level.
Vec3 gravity_on(double angle) {
  return kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
}

Scene block(double mu, double angle) {
  Scene scene(mu);
  scene.set_gravity(gravity_on(angle));
  scene.add_floor();
  scene.add(make_box(Vec3(0.2, 0.15, 0.1)), 2, test::at(0, 0, 0.1));
  return scene;
}

}  // namespace

TEST_CASE("linear friction: below atan(mu) a block does not creep, nor does one that is turned") {
  for (const double mu : {0.1, 0.5, 0.9}) {
    for (const double part : {0.5, 0.9, 0.99}) {
      Bench bench(block(mu, part * std::atan(mu)));
      bench.applied[1].torque = Vec3(0, 0, 0.01 * mu);  // of a torsional limit of mu m g R, R about 0.25 m
      bench.run(1500);
      const Vec3 start = bench.state.p_WBcm(1);
      const Quat q = bench.state.q_WB(1);
      bench.run(1000);
      CAPTURE(mu);
      CAPTURE(part);
      CHECK_WITHIN((bench.state.p_WBcm(1) - start).head<2>().norm(), 1e-12);
      CHECK_WITHIN(q.angularDistance(bench.state.q_WB(1)), 1e-12);
      CHECK_WITHIN(bench.force(0).x() * (bench.manifolds[0].body_a == 1 ? 1 : -1) /
                           (2 * kGravity * std::sin(part * std::atan(mu))) +
                       1,
                   1e-9);
    }
  }
}

TEST_CASE("linear friction: above atan(mu) a block slides with Coulomb's acceleration") {
  for (const double mu : {0.1, 0.5}) {
    const double angle = 1.1 * std::atan(mu), expected = kGravity * (std::sin(angle) - mu * std::cos(angle));
    Bench bench(block(mu, angle));
    bench.run(500);
    const double before = bench.state.v_WBcm(1).x();
    bench.run(500);
    CHECK_WITHIN((bench.state.v_WBcm(1).x() - before) / (0.5 * expected) - 1, 1e-2);
  }
}

TEST_CASE("linear friction: a sliding block comes to rest where Coulomb says, and stays") {
  Bench bench(block(0.5, 0));
  bench.run(300);
  const double start = bench.state.p_WBcm(1).x(), speed = 1;
  bench.state.set_velocity(1, Vec3(speed, 0, 0), Vec3::Zero());
  bench.run(1000);
  const double way = speed * speed / (2 * 0.5 * kGravity);
  CHECK_WITHIN((bench.state.p_WBcm(1).x() - start) / way - 1, 1e-2);
  CHECK_WITHIN(bench.state.v_WBcm(1).head<2>().norm(), 1e-12);
}

TEST_CASE("linear friction: two equal supports share what holds a block, unequal ones carry the whole") {
  const double mu = 0.6, angle = 0.8 * std::atan(mu), mass = 3;
  for (const double offset : {0.0, 0.05}) {  // of the block towards one of the supports, across the slope
    Scene scene(mu);
    scene.set_gravity(gravity_on(angle));
    for (const double y : {-0.3, 0.3}) {
      scene.add(make_box(Vec3(0.3, 0.05, 0.1)), 1, test::at(0, y, -0.1), {}, 0, BodyMode::fixed);
    }
    const BodyIndex b = scene.add(make_box(Vec3(0.2, 0.4, 0.05)), mass, test::at(0, offset, 0.05));
    Bench bench(std::move(scene));
    bench.run(2500);
    REQUIRE(bench.manifold_count() == 2);
    const double side = bench.manifolds[0].body_a == b ? 1 : -1;
    const Vec3 f0 = side * bench.force(0), f1 = side * bench.force(1);
    CHECK_WITHIN((f0.x() + f1.x()) / (mass * kGravity * std::sin(angle)) + 1, 1e-9);
    if (offset == 0) CHECK_WITHIN(f0.x() / f1.x() - 1, 1e-6);
    CHECK_WITHIN(bench.state.v_WBcm(b).head<2>().norm(), 1e-12);
    for (const Vec3& f : {f0, f1}) CHECK(f.head<2>().norm() <= mu * f.z() * (1 + 1e-9));
  }
}

TEST_CASE("linear friction: a tick allocates nothing" * doctest::skip(!test::AllocGuard::available())) {
  Bench bench(block(0.5, 0.2));
  bench.run(10);
  const test::AllocGuard guard;
  bench.run(100);
  CHECK(guard.count() == 0);
}

}  // namespace tactus
