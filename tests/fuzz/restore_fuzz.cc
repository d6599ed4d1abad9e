// Snapshots that somebody has written over, restored into every model and stepped: whatever they hold, the world lives,
// all of it stays finite, and what it becomes can be restored in turn.
//
// Input: scene, then bits 0-2 the model, bits 3-5 all set: numbers stay as they came, bit 7: the exact stepper, of lcp
// in small scenes; then changes of four bytes: which number of the state (two bytes), how, and with what. Every number
// of a state is within reach: positions, speeds, drives, memory of pairs, what is frozen, the tick. Unless numbers stay
// as they came, they are brought within what a snapshot may hold, so that they are stepped and not refused.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/dynamics/driven_joint.h"
#include "core/dynamics/state_bounds.h"
#include "core/scene/scene.h"
#include "core/world.h"
#include "tests/fuzz/count.h"

namespace {

using namespace tactus;

constexpr std::uint64_t kSteps = 4, kExactSteps = 2;  // the exact stepper finds the events within each
constexpr std::size_t kChanges = 12, kModels = static_cast<std::size_t>(ContactModelKind::peg) + 1;
// Small ones more often than large ones.
constexpr std::array kScenes{
    "config/scenes/block_pushed.toml", "config/scenes/egg.toml",          "config/scenes/sphere_off_sphere.toml",
    "config/scenes/planar_arm.toml",   "config/scenes/mobile_robot.toml", "config/scenes/torus.toml",
    "config/scenes/stack.toml",        "config/scenes/places.toml",       "config/scenes/smooth_on_meshes.toml"};
// Of the others a step with many events takes up to kStepWork (solver_work.h), half a minute with all sanitizers.
constexpr std::size_t kExactScenes = 6;
constexpr std::array<std::uint8_t, 32> kTurns{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7, 8,
                                              0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 0, 3};
constexpr double kHuge = std::numeric_limits<double>::max(), kLeast = std::numeric_limits<double>::denorm_min();
constexpr std::array<double, 24> kValues{0,     1,     -1,     1e-3,  -1e-3, 1e3,   -1e3,   1e6,
                                         -1e6,  1e9,   1e12,   -1e12, 1e30,  1e77,  1e99,   1e154,
                                         1e160, 1e300, -1e300, kHuge, 1e-12, 1e-99, kLeast, -0.0};
constexpr std::array<std::int64_t, 12> kWholes{
    -1, 0, 1, 2, 3, 7, 63, 255, 65'535, 1'000'000, 2'147'483'647, -2'147'483'648};
constexpr double kLargest = 0.9999 * kMostMemory;  // in single precision, too
constexpr double kWithin = 0.9995;                 // of a speed's bound: less than it by more than rounding

struct Subject {
  std::unique_ptr<World> world;
  std::vector<DrivenJoint> driven;
  std::array<State, kModels> first;  // after some steps of each
  State changed, came;
};

Subject make(const char* path) {
  Limits limits;
  limits.bodies = 64;
  limits.shapes = 128;
  limits.pairs = 128;
  limits.robot_dofs = 32;
  limits.problem_contacts = 1024;
  limits.problem_rows = 256;  // what a memory holds takes time to make and to check
  limits.pivot_rows = 96;
  SceneOptions options;
  options.limits = limits;
  if (std::string_view(path).ends_with("/stack.toml")) options.set = {{"n", "3"}};
  Subject out;
  out.world = std::make_unique<World>(load_scene(path, options), limits);
  out.driven = driven_joints(out.world->model());
  for (int i = 0; i < 50; ++i) out.world->step();
  out.world->snapshot(out.changed);
  for (std::size_t i = 0; i < kModels; ++i) {
    const auto kind = static_cast<ContactModelKind>(i);
    fuzz::require(out.world->prepare_model(kind), "a model is not in this build");
    out.world->restore(out.changed);
    out.world->set_model(kind);
    for (int k = 0; k < 3; ++k) out.world->step();
    out.world->snapshot(out.first[i]);
  }
  out.changed = out.came = out.first[0];
  return out;
}

double changed(double x, std::uint8_t how, std::uint8_t with) {
  const double scale = std::pow(10.0, (static_cast<int>(with) - 128) / 8.0);
  switch (how % 4) {
    case 0:
      return kValues[with % kValues.size()];
    case 1:
      return x * scale;
    case 2:
      return x + scale * ((how & 4) != 0 ? -1 : 1);
    default:
      return with % 4 == 0   ? std::numeric_limits<double>::quiet_NaN()
             : with % 4 == 1 ? std::numeric_limits<double>::infinity()
                             : -x;
  }
}

float changed(float x, std::uint8_t how, std::uint8_t with) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const double y = changed(static_cast<double>(x), how, with);
  return static_cast<float>(std::isfinite(y) ? std::clamp(y, -kMost, kMost) : y);
}

template <std::integral Whole>
Whole changed(Whole x, std::uint8_t how, std::uint8_t with) {
  return static_cast<Whole>(how % 2 == 0 ? kWholes[with % kWholes.size()] : static_cast<std::int64_t>(x) + with - 128);
}

ContactPhase changed(ContactPhase, std::uint8_t, std::uint8_t with) {
  return static_cast<ContactPhase>(with % 3);
}

template <typename F>
void each_number(Witness& w, F&& take) {
  for (Vec3* x : {&w.axis_A, &w.point_a, &w.point_b, &w.step_a, &w.step_b, &w.last_step_a, &w.last_step_b})
    for (double& number : std::span(x->data(), 3)) take(number);
  take(w.feature_a), take(w.feature_b);
}

// A model's block: time steppers keep it in single precision (time_stepper.cc).
template <typename F>
void each_number(ContactModelKind kind, std::array<double, 19>& block, F&& take) {
  if (kind == ContactModelKind::penalty || kind == ContactModelKind::deepest) {
    for (double& x : block) take(x);
    return;
  }
  std::array<float, 2 * 19> halves;
  static_assert(sizeof halves == sizeof block);
  std::memcpy(&halves, &block, sizeof block);
  for (float& x : halves) take(x);
  std::memcpy(&block, &halves, sizeof block);
}

template <typename F>
void each_number(State& state, F&& take) {
  for (auto* part : {&state.q, &state.v, &state.joint_q, &state.joint_v, &state.actuators})
    for (double& x : *part) take(x);
  for (std::uint8_t& x : state.frozen) take(x);
  take(state.tick), take(state.random);
  for (PairRecord& r : std::span(state.pairs.data(), state.pairs.size())) {
    take(r.phase), take(r.met), take(r.age);
    each_number(r.witness, take);
    each_number(state.contact_model, r.model, take);
  }
  for (LeftPair& pair : state.pairs.resize_left(static_cast<std::uint32_t>(state.pairs.left().size())))
    each_number(pair.witness, take);
}

void change(State& state, const std::uint8_t* data) {
  std::size_t count = 0, i = 0;
  each_number(state, [&count](auto&) { ++count; });
  const std::size_t which = static_cast<std::size_t>(data[0] | data[1] << 8) % count;
  each_number(state, [&](auto& x) {
    if (i++ == which) x = changed(x, data[2], data[3]);
  });
}

void bound(double* x, std::size_t count, double most) {
  for (std::size_t i = 0; i < count; ++i) x[i] = std::isfinite(x[i]) ? std::clamp(x[i], -most, most) : most;
}

// Not finite, or zero: no turn.
void make_unit(double* quaternion) {
  bound(quaternion, 4, 1e100);
  Eigen::Map<Eigen::Vector4d> wxyz(quaternion);
  wxyz = wxyz.stableNormalized().eval();
  if (!(std::abs(wxyz.squaredNorm() - 1) < 1e-9)) wxyz = Eigen::Vector4d(1, 0, 0, 0);
}

void bound_joints(const Model& model, State& state) {
  bound(state.joint_q.data(), state.joint_q.size(), kMostPlace);
  bound(state.joint_v.data(), state.joint_v.size(), kWithin * std::min(kMostSpeed, kMostTurn));
  for (const Joint& joint : model.joints) {
    if (joint.kind == JointKind::spherical) make_unit(&state.joint_q[joint.first_q]);
    if (joint.kind == JointKind::floating) make_unit(&state.joint_q[joint.first_q + 3]);
  }
  for (const Robot& robot : model.robots) {
    for (std::uint32_t i = 1; i < robot.joint_count; ++i)
      state.frozen[model.joints[robot.first_joint + i].child] = state.frozen[model.joints[robot.first_joint].child];
  }
}

// Numbers that drives cannot remember are those of before.
void bound_actuators(const Subject& subject, State& state) {
  std::vector<double> wanted = subject.first[static_cast<std::size_t>(state.contact_model)].actuators;
  std::swap(wanted, state.actuators);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double before = state.actuators[i];
    if (std::bit_cast<std::uint64_t>(wanted[i]) == std::bit_cast<std::uint64_t>(before)) continue;
    state.actuators[i] = wanted[i];
    if (!valid_actuators(subject.driven, state.actuators)) state.actuators[i] = std::trunc(std::fmod(wanted[i], 4));
    if (!valid_actuators(subject.driven, state.actuators)) state.actuators[i] = before;
  }
}

// What no snapshot may hold becomes the nearest that it may.
void bound(const Subject& subject, State& state) {
  const Model& model = subject.world->model();
  state.tick = std::min(state.tick, kMostTicks - kSteps);
  state.time = static_cast<double>(state.tick) * model.step;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    bound(&state.q[7 * std::size_t{b}], 3, kMostPlace);
    make_unit(&state.q[7 * std::size_t{b} + 3]);
    state.frozen[b] %= 2;
    bound(&state.v[6 * std::size_t{b}], 6, kWithin * std::min(kMostSpeed, kMostTurn) / std::sqrt(3.0));
  }
  bound_joints(model, state);
  bound_actuators(subject, state);
  for (PairRecord& r : std::span(state.pairs.data(), state.pairs.size())) r.met %= 2;
  each_number(state, [](auto& x) {
    if constexpr (std::is_floating_point_v<std::remove_reference_t<decltype(x)>>)
      x = static_cast<std::remove_reference_t<decltype(x)>>(
          std::isfinite(x) ? std::clamp<double>(x, -kLargest, kLargest) : kLargest);
  });
}

template <typename Numbers>
void require_finite(const Numbers& numbers, const char* what) {
  for (const double x : numbers) fuzz::require(std::isfinite(x), what);
}

// What is published of a step.
void check(const World& world) {
  const State& state = world.state();
  require_finite(state.q, "a pose is not finite");
  require_finite(state.v, "a velocity is not finite");
  require_finite(state.joint_q, "a joint's position is not finite");
  require_finite(state.joint_v, "a joint's velocity is not finite");
  for (std::uint32_t p = 0; p < world.contacts().point_count; ++p)
    require_finite(world.contact_force(p), "a contact's force is not finite");
  for (std::uint32_t i = 0; i < state.joint_v.size(); ++i)
    require_finite(std::array{world.joint_effort(i), world.external_effort(i)}, "an effort is not finite");
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const SpatialForce& F = world.external_wrench(b);
    require_finite(F.force, "an external force is not finite"), require_finite(F.torque, "a torque is not finite");
  }
  for (std::uint32_t i = 0; i < world.model().sensors.size(); ++i)
    require_finite(world.sensor_values(i), "a sensor's value is not finite");
}

// What the next step starts from.
void check_memory(const World& world, State& scratch) {
  scratch = world.state();
  require_finite(scratch.actuators, "what a drive remembers is not finite");
  each_number(scratch, [](auto& x) {
    if constexpr (std::is_floating_point_v<std::remove_reference_t<decltype(x)>>)
      fuzz::require(std::isfinite(x), "what a pair remembers is not finite");
  });
}

// A snapshot of what it has become is one that can be restored.
void check_snapshot(const World& world, State& scratch) {
  const char* why = nullptr;
  if (!world.deserialise(world.serialise(world.state()), scratch, &why)) fuzz::require(false, why);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::array<Subject, kScenes.size()> subjects;
  if (size < 2) return 0;
  const std::size_t scene = kTurns[data[0] % kTurns.size()];
  Subject& subject = subjects[scene];
  if (subject.world == nullptr) subject = make(kScenes[scene]);
  World& world = *subject.world;
  State &state = subject.changed, &came = subject.came;
  state = subject.first[(data[1] & 7) % kModels];
  for (std::size_t at = 2, n = 0; at + 4 <= size && n < kChanges; at += 4, ++n) change(state, data + at);
  if ((data[1] & 0x38) != 0x38) bound(subject, state);
  fuzz::count_message();
  if (!world.deserialise(world.serialise(state), came)) return 0;  // refused
  Parameters parameters = world.parameters();
  const bool exact = (data[1] & 0x80) != 0 && came.contact_model == ContactModelKind::lcp && scene < kExactScenes;
  parameters.lcp_stepper = exact ? LcpStepper::exact : LcpStepper::fixed;
  world.set_parameters(parameters);
  fuzz::require(world.restore(came), "what can be read cannot be restored");
  fuzz::count_taken();
  for (std::uint64_t i = 0; i < (exact ? kExactSteps : kSteps); ++i) {
    world.step();
    check(world);
  }
  check_memory(world, state);
  check_snapshot(world, came);
  return 0;
}
