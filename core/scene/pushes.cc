// [[push]]: forces that a scene applies by itself when it is run without a server.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/scene/scene_builder.h"

namespace tactus {
namespace {

std::uint64_t ticks(double seconds, double step) {
  return static_cast<std::uint64_t>(std::llround(seconds / step));
}

// Longest schedule: a year at 1 kHz still counts exactly.
constexpr Range kSchedule{0, 3.2e7};

void constant(StrictTable& table, const SceneBuilder& builder, BodyIndex body, const Pose& X_BF,
              std::vector<Push>& pushes) {
  const double step = builder.model->step;
  Push push;
  push.body = body;
  push.p_BC = X_BF * table.vec3("point_m", Vec3(Vec3::Zero()));
  push.force_W = table.vec3("force_n");
  const double start = table.number("start_s", kSchedule, 0.0);
  push.start = ticks(start, step);
  push.end = ticks(start + table.number("duration_s", kSchedule), step);
  table.finish();
  pushes.push_back(push);
}

// rounds times: a downward force of random size at a random body-fixed point of the top face of the body's box, then a
// rest.
void random_top_face(StrictTable& table, const SceneBuilder& builder, BodyIndex body, SceneRandom random,
                     std::vector<Push>& pushes) {
  const Body& b = builder.model->bodies[body];
  const std::int64_t rounds = table.integer("rounds", 1, 100000);
  const double step = builder.model->step, start = table.number("start_s", kSchedule, 0.0);
  const double push_s = table.number("push_s", kSchedule), rest_s = table.number("rest_s", kSchedule, 0.0);
  if (!table.has("force_n")) table.fail_expected("force_n", "an array of 2 finite numbers [low, high]");
  const auto force = table.interval("force_n", kNotNegative, {0, 0});
  table.finish();
  if (b.shape_count == 0 || builder.model->shapes[b.first_shape].shape.kind != ShapeKind::box)
    table.fail("body", "found a body whose first shape is not a box, expected a box with a top face");
  const ShapeInstance& box = builder.model->shapes[b.first_shape];
  const Vec3 half = box.shape.half_S;
  for (std::int64_t i = 0; i < rounds; ++i) {
    Push push;
    push.body = body;
    const double x = random.uniform(-half.x(), half.x()), y = random.uniform(-half.y(), half.y());
    push.p_BC = b.p_BBcm + box.X_BcmS * Vec3(x, y, half.z());
    push.force_W = Vec3(0, 0, -random.uniform(force.first, force.second));
    const double t = start + static_cast<double>(i) * (push_s + rest_s);
    push.start = ticks(t, step);
    push.end = ticks(t + push_s, step);
    pushes.push_back(push);
  }
}

}  // namespace

void read_push(StrictTable& table, const SceneBuilder& builder, SceneRandom random, std::vector<Push>& pushes) {
  static constexpr std::array<std::string_view, 2> kWords{"constant", "random_top_face"};
  const std::size_t kind = table.choice("kind", kWords);
  const auto [body, X_BF] = builder.frame(table.text("body"), table, "body");
  const BodyMode mode = builder.model->bodies[body].mode;
  if (!takes_wrenches(mode)) table.fail("body", "found a body that is not free, expected a free body or a link");
  if (kind == 0)
    constant(table, builder, body, X_BF, pushes);
  else
    random_top_face(table, builder, body, random, pushes);
}

SpatialForce push_force(const Model& model, const State& state, const Push& push) noexcept {
  if (state.tick < push.start || state.tick >= push.end) return {};
  const Vec3 arm_W = state.q_WB(push.body) * (push.p_BC - model.bodies[push.body].p_BBcm);
  return {arm_W.cross(push.force_W), push.force_W};
}

}  // namespace tactus
