#include "core/scene/scene_builder.h"

#include <algorithm>
#include <cmath>

#include "core/shape/convex_hull.h"
#include "core/shape/mass_properties.h"

namespace tactus {
namespace {

// Mass, mass centre and inertia of a body whose shapes are solids. A body's own mass scales the sum of its shapes;
// shapes that overlap count twice.
MassProperties from_shapes(const BodySpec& spec, const std::vector<ShapeSpec>& shapes, const StrictTable& source) {
  std::optional<MassProperties> sum;
  for (const auto& s : shapes) {
    if (s.shape.kind == ShapeKind::half_space)
      source.fail("shape", "found a half_space in a free body, expected a bounded shape: a half-space has no mass");
    if (s.smooth && s.smooth->cavity())
      source.fail("shape",
                  "found a cavity in a free body without inertia_kg_m2, expected that and mass_kg, or a bounded "
                  "shape: what is around a cavity has no mass of its own");
    double density = s.density.value_or(spec.density.value_or(1.0));
    if (s.mass) density = *s.mass / volume(s.shape);
    const MassProperties part = transformed(mass_properties(s.shape, density), s.X_BS);
    sum = sum ? combined(*sum, part) : part;
    if (!spec.mass && !spec.density && !s.mass && !s.density)
      source.fail("mass_kg",
                  "missing; expected mass_kg or density_kg_per_m3 of a free body (or of each of its shapes)");
  }
  if (!sum) source.fail("shape", "missing; expected at least one [[body.shape]], or mass_kg and inertia_kg_m2");
  if (spec.mass) {
    sum->I_SScm *= *spec.mass / sum->mass;
    sum->mass = *spec.mass;
  }
  return *sum;
}

MassProperties body_mass(const BodySpec& spec, const std::vector<ShapeSpec>& shapes, const StrictTable& source) {
  if (spec.mode != BodyMode::free) return {spec.mass.value_or(0), Vec3::Zero(), Mat3::Zero()};
  if (spec.p_BBcm && !spec.I_BBcm)
    source.fail("mass_centre_m", "found without inertia_kg_m2, expected both or neither");
  if (!spec.I_BBcm) return from_shapes(spec, shapes, source);
  if (!spec.mass) source.fail("mass_kg", "missing; expected mass_kg beside inertia_kg_m2");
  return {*spec.mass, spec.p_BBcm.value_or(Vec3::Zero()), *spec.I_BBcm};
}

void check_physical(const MassProperties& m, const StrictTable& source) {
  if (!(m.mass > 0) || !std::isfinite(m.mass) || !std::isfinite(1 / m.mass))
    source.fail("mass_kg", "found a mass of " + number_text(m.mass) + ", expected a number greater than 0");
  const char* defect = m.I_SScm.allFinite() ? inertia_defect(m.I_SScm) : "not finite";
  if (!defect && !m.I_SScm.inverse().allFinite()) defect = "not invertible";
  if (!defect) return;
  const Vec3 d = m.I_SScm.diagonal();
  source.fail("inertia_kg_m2", "found an inertia with diagonal " + number_text(d.x()) + ", " + number_text(d.y()) +
                                   ", " + number_text(d.z()) + " that no real body has (" + defect +
                                   "), expected a physical inertia about the mass centre");
}

}  // namespace

void SceneBuilder::add_body(const BodySpec& spec, const StrictTable& source) {
  // Finite numbers of a generator can still add up to something that is not.
  if (!spec.X_WB.p.allFinite() || !(std::abs(spec.X_WB.q.norm() - 1) < 1e-9))
    source.fail("position_m", "found a pose that is not finite, expected one that is (of body \"" + spec.name + "\")");
  if (!is_name(spec.name))
    source.fail("name", "found \"" + spec.name + "\", expected 1 to 64 characters out of A-Z a-z 0-9 _ . -");
  const auto [entry, fresh] = lines_.emplace(spec.name, source.line("name"));
  if (!fresh)
    source.fail("name", "found \"" + spec.name + "\" again, first in line " + std::to_string(entry->second) +
                            ", expected a unique name");
  if (model->bodies.size() >= limits_.bodies)
    source.fail("", "found more than " + std::to_string(limits_.bodies) +
                        " bodies, expected at most as many as the limit says");

  BodySpec with_hulls = spec;
  add_surfaces(spec.shapes);
  for (auto& s : with_hulls.shapes) {
    if (s.shape.kind != ShapeKind::convex) continue;
    auto hull = std::make_unique<ConvexHull>();
    std::string error;
    if (!build_convex_hull(s.points, limits_.hull_vertices, *hull, error))
      source.fail("shape", "found points without a usable hull: " + error);
    s.shape.hull = hull.get();
    model->hulls.push_back(std::move(hull));
  }
  const MassProperties m = body_mass(with_hulls, with_hulls.shapes, source);
  Body body;
  body.name = spec.name;
  body.mode = spec.mode;
  body.mass = m.mass;
  if (spec.mode == BodyMode::free) {
    check_physical(m, source);
    body.I_BBcm = m.I_SScm;
    body.p_BBcm = m.p_SScm;
  }
  body.motion = spec.motion;
  body.force_limit = spec.force_limit;
  body.torque_limit = spec.torque_limit;
  body.gravity_scale = spec.gravity_scale;
  body.continuous = spec.continuous;
  body.first_shape = static_cast<std::uint32_t>(model->shapes.size());
  body.shape_count = static_cast<std::uint32_t>(spec.shapes.size());
  model->bodies.push_back(body);
  model->X_WB0.push_back(spec.X_WB);
  model->V_WB0.push_back(spec.V_WB);
  add_shapes(with_hulls.shapes, body.p_BBcm, source);
}

void SceneBuilder::add_surfaces(const std::vector<ShapeSpec>& shapes) {
  const auto add_once = [](auto& all, const auto& one) {
    if (one && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  };
  for (const auto& s : shapes) {
    add_once(model->meshes, s.mesh);
    add_once(model->smooth_surfaces, s.smooth);
  }
}

int SceneBuilder::line_of(const std::string& body_name) const {
  const auto entry = lines_.find(body_name);
  return entry == lines_.end() ? 0 : entry->second;
}

BodyIndex SceneBuilder::add_link(const Body& body, const Pose& X_WB, const std::vector<ShapeSpec>& shapes,
                                 const StrictTable& source) {
  if (model->bodies.size() >= limits_.bodies)
    source.fail("", "found more than " + std::to_string(limits_.bodies) +
                        " bodies, expected at most as many as the limit says");
  model->bodies.push_back(body);
  model->bodies.back().first_shape = static_cast<std::uint32_t>(model->shapes.size());
  model->bodies.back().shape_count = static_cast<std::uint32_t>(shapes.size());
  model->X_WB0.push_back(X_WB);
  model->V_WB0.emplace_back();
  add_surfaces(shapes);
  add_shapes(shapes, body.p_BBcm, source);
  return static_cast<BodyIndex>(model->bodies.size() - 1);
}

void SceneBuilder::add_shapes(const std::vector<ShapeSpec>& shapes, const Vec3& p_BBcm, const StrictTable& source) {
  if (model->shapes.size() + shapes.size() > limits_.shapes)
    source.fail("", "found more than " + std::to_string(limits_.shapes) +
                        " shapes, expected at most as many as the limit says");
  for (const auto& s : shapes) {
    ShapeInstance instance;
    instance.shape = s.shape;
    instance.body = static_cast<BodyIndex>(model->bodies.size() - 1);
    instance.X_BcmS = {s.X_BS.q, s.X_BS.p - p_BBcm};
    instance.material = s.surface.material;
    instance.group = s.surface.group;
    instance.mask = s.surface.mask;
    instance.colour = s.surface.colour;
    model->shapes.push_back(instance);
  }
}

std::uint32_t SceneBuilder::material(const std::string& name, const StrictTable& source, std::string_view key) const {
  std::string known;
  for (std::uint32_t i = 0; i < model->materials.size(); ++i) {
    if (model->materials[i].name == name) return i;
    known += (i ? ", \"" : "\"") + model->materials[i].name + "\"";
  }
  source.fail(key, "found \"" + name + "\", expected the name of a material: " + known);
}

BodyIndex SceneBuilder::body(const std::string& name, const StrictTable& source, std::string_view key) const {
  return frame(name, source, key).first;
}

std::pair<BodyIndex, Pose> SceneBuilder::frame(const std::string& name, const StrictTable& source,
                                               std::string_view key) const {
  for (BodyIndex b = 0; b < model->bodies.size(); ++b)
    if (model->bodies[b].name == name) return {b, {}};
  if (const LinkFrame* link = model->find_frame(name)) return {link->body, link->X_BF};
  source.fail(key, "found \"" + name + "\", expected the name of a body of this scene, or robot/link");
}

void check_colour(const std::string& colour, const StrictTable& source, std::string_view key) {
  const bool good = colour.empty() || (colour.size() == 7 && colour[0] == '#' &&
                                       colour.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos);
  if (!good) source.fail(key, "found \"" + colour + "\", expected \"#rrggbb\"");
}

Quat yaw_rotation(double yaw) {
  return {std::cos(0.5 * yaw), 0, 0, std::sin(0.5 * yaw)};
}

Pose read_pose(StrictTable& table) {
  Pose pose;
  pose.p = table.vec3("position_m", Vec3(Vec3::Zero()));
  const bool has_quaternion = table.has("orientation_wxyz");
  if (table.has("roll_pitch_yaw_rad")) {
    if (has_quaternion) table.fail("roll_pitch_yaw_rad", "found beside orientation_wxyz, expected one of the two");
    const Vec3 a = 0.5 * table.vec3("roll_pitch_yaw_rad");
    const Quat roll(std::cos(a.x()), std::sin(a.x()), 0, 0), pitch(std::cos(a.y()), 0, std::sin(a.y()), 0);
    pose.q = yaw_rotation(2 * a.z()) * pitch * roll;
  }
  if (has_quaternion) {
    const auto q = table.numbers("orientation_wxyz", 4, 4);
    const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(std::abs(norm - 1) < 1e-3))
      table.fail("orientation_wxyz", "found a quaternion of length " + number_text(norm) +
                                         ", expected length 1 within 0.001 (order w, x, y, z)");
    pose.q = Quat(q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm);
  }
  return pose;
}

Surface read_surface(StrictTable& table, const SceneBuilder& builder, const Surface& fallback) {
  Surface s = fallback;
  if (table.has("material")) s.material = builder.material(table.text("material"), table, "material");
  s.group = static_cast<std::uint32_t>(table.integer("group", 0, 0xffffffffll, fallback.group));
  s.mask = static_cast<std::uint32_t>(table.integer("mask", 0, 0xffffffffll, fallback.mask));
  s.colour = table.text("colour", fallback.colour);
  check_colour(s.colour, table, "colour");
  return s;
}

}  // namespace tactus
