// A scene file becomes the Model that it describes: frames, masses, materials, generators, pushes.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/dynamics/state.h"
#include "core/scene/random.h"
#include "core/scene/scene.h"

using namespace tactus;

namespace {

std::unique_ptr<Model> parse(const std::string& text, SceneOptions options = {}) {
  return parse_scene(text, "dir/test.toml", options);
}
SceneRun shipped(const std::string& name, SceneOptions options = {}) {
  return load_scene_run(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + name + ".toml", options);
}

constexpr const char* kCompound = R"(
step_s = 0.002
model = "deepest"
integrator = "rk4"
settle_s = 0.5
gains = {kp_n_per_m = 5000, kv_n_s_per_m = 2500, ki_n_per_m = 100, lambda = 0.5, divide_by_points = false}
gravity_m_per_s2 = [0, 0, -1.62]
no_collision = [["b", "a"]]
[[material]]
name = "ice"
restitution = 0.5
static_friction = 0.04
dynamic_friction = 0.01
[[material_pair]]
materials = ["ice", "default"]
static_friction = 0.1
[[body]]
name = "a"
position_m = [1, 2, 3]
roll_pitch_yaw_rad = [0, 0, 1.5707963267948966]
linear_velocity_m_per_s = [1, 0, 0]
angular_velocity_rad_per_s = [0, 0, 2]
density_kg_per_m3 = 1000
force_limit_n = 50
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
position_m = [0.4, 0, 0]
density_kg_per_m3 = 3000
material = "ice"
colour = "#aabbcc"
group = 2
mask = 0x1
[[body]]
name = "b"
mode = "kinematic"
mass_kg = 7
[body.motion]
amplitude_m = [0, 0, 0.1]
frequency_hz = 2
[[body.shape]]
kind = "capsule"
radius_m = 0.1
length_m = 0.5
)";

}  // namespace

TEST_CASE("settings, materials and the frames of a compound body") {
  const auto model = parse(kCompound);
  CHECK(model->name == "test");
  CHECK(model->step == 0.002);
  CHECK(model->contact_model == ContactModelKind::deepest);
  CHECK(model->integrator == Integrator::rk4);
  CHECK(model->settle == 0.5);
  const Gains& g = model->parameters.gains;
  CHECK(g.law == GainLaw::explicit_gains);
  CHECK(g.kp == 5000);
  CHECK(g.lambda == 0.5);
  CHECK_FALSE(g.divide_by_points);
  CHECK(model->parameters.gravity_W.z() == -1.62);
  REQUIRE(model->materials.size() == 2);
  CHECK(model->materials[0].name == "default");
  CHECK(model->surface(0, 1).friction.mu_static == 0.1);
  CHECK(model->surface(1, 0).friction.mu_static == 0.1);
  CHECK(model->surface(1, 1).friction.mu_dynamic == doctest::Approx(0.01));
  CHECK(model->surface(1, 1).restitution == 0.5);

  REQUIRE(model->bodies.size() == 2);
  const Body& a = model->bodies[0];
  CHECK(a.mass == doctest::Approx(8 + 24));
  CHECK((a.p_BBcm - Vec3(0.3, 0, 0)).norm() < 1e-15);  // 24 kg at 0.4 m, 8 kg at 0
  CHECK((model->shapes[0].X_BcmS.p - Vec3(-0.3, 0, 0)).norm() < 1e-15);
  CHECK((model->shapes[1].X_BcmS.p - Vec3(0.1, 0, 0)).norm() < 1e-15);
  const double cube = 0.2 * 0.2 / 6;
  CHECK(a.I_BBcm(0, 0) == doctest::Approx(32 * cube));
  CHECK(a.I_BBcm(2, 2) == doctest::Approx(32 * cube + 8 * 0.09 + 24 * 0.01));
  CHECK((a.inv_I_BBcm * a.I_BBcm - Mat3::Identity()).norm() < 1e-14);
  CHECK(a.force_limit == 50);
  CHECK(model->shapes[1].material == 1);
  CHECK(model->shapes[1].colour == "#aabbcc");
  CHECK(model->shapes[1].group == 2);
  CHECK(model->shapes[1].mask == 1);

  // Yaw by a quarter turn: the mass centre is 0.3 m along +y, and moves with v + w x r = (1, 0, 0) + 2 z x 0.3 y.
  const State state = initial_state(*model, 8);
  CHECK((state.p_WBcm(0) - Vec3(1, 2.3, 3)).norm() < 1e-12);
  CHECK((state.v_WBcm(0) - Vec3(1 - 0.6, 0, 0)).norm() < 1e-12);

  const Body& b = model->bodies[1];
  CHECK(b.mode == BodyMode::kinematic);
  CHECK(b.mass == 7);
  CHECK(b.inv_mass == 0);
  CHECK(b.inv_I_BBcm.isZero(0));
  CHECK(b.motion.frequency == 2);
  REQUIRE(model->no_collision.size() == 1);
  CHECK(model->no_collision[0] == std::pair<BodyIndex, BodyIndex>(0, 1));
}

TEST_CASE("a body's own mass scales its shapes; explicit inertia wins") {
  const auto scaled = parse("[[body]]\nname=\"a\"\nmass_kg=6\n[[body.shape]]\nkind=\"box\"\nsize_m=[1,2,3]\n");
  CHECK(scaled->bodies[0].I_BBcm(0, 0) == doctest::Approx(6.0 / 12 * (4 + 9)));
  const auto given =
      parse("[[body]]\nname=\"a\"\nmass_kg=6\ninertia_kg_m2=[2,3,4,0.1,0.2,0.3]\nmass_centre_m=[0,0,0.5]\n");
  CHECK(given->bodies[0].I_BBcm(1, 2) == 0.3);
  CHECK(given->bodies[0].p_BBcm.z() == 0.5);
  CHECK(given->shapes.empty());
}

TEST_CASE("--set replaces parameters and scene scalars; the seed changes what is drawn and nothing else") {
  SceneOptions options;
  options.set = {{"n", "7"}, {"step_s", "0.0005"}, {"gains", "paper"}, {"model", "deepest"}, {"integrator", "rk4"}};
  const auto run = shipped("stack_jitter", options);
  CHECK(run.model->bodies.size() == 8);
  CHECK(run.model->step == 0.0005);
  CHECK(run.model->parameters.gains.law == GainLaw::paper);
  CHECK(run.model->contact_model == ContactModelKind::deepest);
  CHECK(run.model->integrator == Integrator::rk4);
  SceneOptions other;
  other.seed = 99;
  const auto a = shipped("stack_jitter"), b = shipped("stack_jitter"), c = shipped("stack_jitter", other);
  CHECK(a.model->X_WB0[3].p == b.model->X_WB0[3].p);
  CHECK(a.model->X_WB0[3].p != c.model->X_WB0[3].p);
  CHECK(a.model->X_WB0[3].p.z() == c.model->X_WB0[3].p.z());
}

TEST_CASE("the generator is SplitMix64, bit for bit") {
  // Reference values of SplitMix64 from seed 0: 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f.
  SceneRandom random(0, 0);
  SceneRandom again(0, 0);
  SceneRandom stream(0, 1);
  CHECK(random.next() == again.next());
  CHECK(again.next() != stream.next());
  double mean = 0, low = 1, high = 0;
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < 100000; ++i) {
    const double x = random.unit();
    mean += x / 100000;
    low = std::min(low, x);
    high = std::max(high, x);
    sum += random.direction() / 100000;
  }
  CHECK(std::abs(mean - 0.5) < 0.005);
  CHECK(low >= 0);
  CHECK(high < 1);
  CHECK(sum.norm() < 0.01);
}

TEST_CASE("benchmark scenes are what BENCH defines") {
  SUBCASE("block_penetrating") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      SceneOptions options;
      options.seed = seed;
      const auto run = shipped("block_penetrating", options);
      REQUIRE(run.model->bodies.size() == 2);
      CHECK(run.model->bodies[1].mass == 10);
      const Pose& X_WB = run.model->X_WB0[1];
      double lowest = 1;
      for (int k = 0; k < 8; ++k)
        lowest = std::min(lowest, (X_WB * Vec3(k & 1 ? .5 : -.5, k & 2 ? .5 : -.5, k & 4 ? .5 : -.5)).z());
      CHECK(lowest <= -0.005 + 1e-12);
      CHECK(lowest >= -0.020 - 1e-12);
      const double angle = 2 * std::acos(std::min(1.0, std::abs(X_WB.q.w())));
      CHECK(angle >= 0.01 - 1e-9);
      CHECK(angle <= 0.05 + 1e-9);
    }
  }
  SUBCASE("block_pushed") {
    const auto run = shipped("block_pushed");
    REQUIRE(run.pushes.size() == 10);
    CHECK(run.duration == 10);
    for (std::size_t i = 0; i < 10; ++i) {
      const Push& p = run.pushes[i];
      CHECK(p.start == 1000 * i);
      CHECK(p.end == 1000 * i + 500);
      CHECK(p.p_BC.z() == 0.5);
      CHECK(std::abs(p.p_BC.x()) <= 0.5);
      CHECK(p.force_W.z() <= -10);
      CHECK(p.force_W.z() >= -100);
    }
    State state = initial_state(*run.model, 8);
    const SpatialForce f = push_force(*run.model, state, run.pushes[0]);
    CHECK(f.force == run.pushes[0].force_W);
    CHECK(f.torque.x() == doctest::Approx(run.pushes[0].p_BC.y() * f.force.z()));
    state.tick = 500;
    CHECK(push_force(*run.model, state, run.pushes[0]).force.isZero(0));
  }
  SUBCASE("pile") {
    for (int n : {10, 30, 100, 300, 1000}) {
      SceneOptions options;
      options.set = {{"n", std::to_string(n)}};
      const auto run = shipped("pile", options);
      const Model& m = *run.model;
      CHECK(m.settle == 3);
      REQUIRE(m.bodies.size() == static_cast<std::size_t>(n) + 5);
      const double apart = n <= 30 ? 0.68 : n == 100 ? 1.02 : n == 300 ? 2.04 : 3.4;
      CHECK(m.X_WB0[1].p.x() - m.X_WB0[2].p.x() == doctest::Approx(apart));
      CHECK(m.X_WB0[3].p.y() - m.X_WB0[4].p.y() == doctest::Approx(apart));
      for (std::size_t w = 1; w <= 4; ++w)
        CHECK((m.X_WB0[w].q * Vec3::UnitZ()).dot(m.X_WB0[w].p) < 0);  // walls face inwards
      for (std::size_t b = 5; b < m.bodies.size(); ++b) {
        const auto& s = m.shapes[m.bodies[b].first_shape].shape;
        CHECK(s.kind == std::array{ShapeKind::box, ShapeKind::cylinder, ShapeKind::sphere}[(b - 5) % 3]);
        CHECK(m.bodies[b].mass > 0);
        CHECK(m.bodies[b].mass <= 100);
        const Aabb box = bounds(s, {m.X_WB0[b].q.toRotationMatrix(), m.X_WB0[b].p});
        CHECK(box.lo.z() > 0);
        CHECK(box.lo.x() > -apart / 2);
        CHECK(box.hi.x() < apart / 2);
        CHECK(box.hi.y() < apart / 2);
      }
    }
  }
}

TEST_CASE("every shipped scene loads, and the default one stays small") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TACTUS_SOURCE_DIR) + "/config/scenes")) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    const auto run = load_scene_run(entry.path().string(), {});
    CHECK_FALSE(run.model->title.empty());
    ++count;
  }
  CHECK(count >= 8);
  CHECK(shipped("default").model->bodies.size() <= 40);
}
