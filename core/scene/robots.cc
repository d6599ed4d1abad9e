// [[robot]]: what the scene says about a robot, and the robot in the Model.
#include <algorithm>
#include <array>
#include <filesystem>

#include "core/check.h"
#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

std::string beside_scene(const StrictTable& table, const std::string& path) {
  return (std::filesystem::path(table.file().name).parent_path() / path).lexically_normal().string();
}

// "a, b" or ["a", "b"].
std::vector<std::string> read_words(StrictTable& table, std::string_view key) {
  if (!table.has(key)) return {};
  if (table.is_array(key)) return table.texts(key, 0, 16);
  std::vector<std::string> out;
  std::string word;
  for (const char c : table.text(key) + ",") {
    if (c == ',') {
      if (!word.empty()) out.push_back(word);
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return out;
}

Repairs read_repairs(StrictTable& table) {
  Repairs r;
  const std::array<std::pair<std::string_view, bool*>, 5> known{{{"inertia_from_shapes", &r.inertia_from_shapes},
                                                                 {"min_inertia", &r.min_inertia},
                                                                 {"triangle_inequality", &r.triangle_inequality},
                                                                 {"missing_limits", &r.missing_limits},
                                                                 {"mesh", &r.mesh}}};
  for (const std::string& word : read_words(table, "repairs")) {
    bool found = word == "none";
    for (const auto& [name, flag] : known)
      if (word == name || word == "all") found = *flag = true;
    if (!found)
      table.fail("repairs", "found \"" + word +
                                "\", expected \"all\", \"none\", or some of \"inertia_from_shapes\", \"min_inertia\", "
                                "\"triangle_inequality\", \"missing_limits\", \"mesh\"");
  }
  return r;
}

SelfCollision read_self_collision(StrictTable& table) {
  if (table.is_flag("self_collision"))
    return table.flag("self_collision", false) ? SelfCollision::all : SelfCollision::none;
  static constexpr std::array<std::string_view, 3> kWords{"false", "adjacent_off", "true"};
  return static_cast<SelfCollision>(table.choice("self_collision", kWords, 1));
}

void read_named_values(StrictTable& table, const SceneBuilder& builder, RobotSpec& spec) {
  if (table.has("joint_positions")) {
    StrictTable values = table.table("joint_positions");
    for (const std::string& key : values.keys()) spec.joint_positions[key] = values.number(key, kAny);
  }
  if (table.has("packages")) {
    StrictTable folders = table.table("packages");
    for (const std::string& key : folders.keys()) spec.packages[key] = beside_scene(table, folders.text(key));
  }
  if (table.has("materials")) {
    StrictTable materials = table.table("materials");
    for (const std::string& key : materials.keys())
      spec.materials[key] = builder.material(materials.text(key), materials, key);
  }
}

RobotSpec read_spec(StrictTable& table, const SceneBuilder& builder) {
  static constexpr std::array<std::string_view, 3> kBases{"auto", "fixed", "floating"};
  static constexpr std::array<std::string_view, 2> kMeshes{"hull", "mesh"};
  RobotSpec spec;
  if (table.has("name")) spec.name = table.name("name");
  const std::string file = table.text("urdf");
  if (file.empty()) table.fail_expected("urdf", "the name of a URDF file, relative to the scene's file");
  spec.urdf = beside_scene(table, file);
  spec.X_WR = read_pose(table);
  if (table.has("lowest_point_m")) spec.lowest_point = table.number("lowest_point_m", kAny);
  spec.base = static_cast<RobotBase>(table.choice("base", kBases, 0));
  spec.repairs = read_repairs(table);
  spec.density = table.number("shape_density_kg_per_m3", kPositive, spec.density);
  spec.least_mass = table.number("min_mass_kg", kPositive, spec.least_mass);
  spec.least_inertia = table.number("min_inertia_kg_m2", kPositive, spec.least_inertia);
  spec.mesh_shapes = table.choice("collision_meshes", kMeshes, 0) == 1;
  const std::int64_t vertices = builder.limits().hull_vertices;
  spec.hull_vertices = static_cast<std::uint32_t>(
      table.integer("hull_vertices", std::min<std::int64_t>(8, vertices), vertices, vertices));
  spec.surface = read_surface(table, builder, {});
  spec.own_colour = !spec.surface.colour.empty();
  read_named_values(table, builder, spec);
  spec.self_collision = read_self_collision(table);
  spec.no_collision = table.name_pairs("no_collision");
  spec.gravity_scale = table.number("gravity_scale", kAny, 1.0);
  return spec;
}

const UrdfJoint* find_joint(const RobotDescription& robot, const std::string& name) {
  for (const UrdfJoint& joint : robot.joints)
    if (joint.name == name) return &joint;
  return nullptr;
}
bool has_link(const RobotDescription& robot, const std::string& name) {
  return std::any_of(robot.links.begin(), robot.links.end(), [&](const UrdfLink& l) { return l.name == name; });
}

void check_positions(const RobotDescription& robot, const RobotSpec& spec, const StrictTable& table) {
  for (const auto& [name, value] : spec.joint_positions) {
    const std::string place = name + ": found ";
    const double q = value;
    const UrdfJoint* joint = find_joint(robot, name);
    const auto refuse = [&](const std::string& message) { table.fail("joint_positions", place + message); };
    if (!joint) refuse("this name, expected a joint of " + robot.file);
    if (position_count(joint->kind) != 1)
      refuse(std::string("a ") + to_string(joint->kind) + " joint, expected one with one coordinate");
    if (joint->mimic) refuse("a joint that follows \"" + joint->mimic->joint + "\", expected that joint's position");
    if (joint->has_limit && !(q >= joint->lower && q <= joint->upper))
      refuse(number_text(q) + ", expected a position within its limits, " + number_text(joint->lower) + " to " +
             number_text(joint->upper));
  }
}

// Links and joints that the scene names must be there; joints that carry sensors are kept.
void check_names(const RobotDescription& robot, RobotSpec& spec, StrictTable& table) {
  check_positions(robot, spec, table);
  const auto require_link = [&](const StrictTable& where, std::string_view key, const std::string& name) {
    if (!has_link(robot, name)) where.fail(key, "found \"" + name + "\", expected a link of " + robot.file);
  };
  for (const auto& [link, ignored] : spec.materials) require_link(table, "materials", link);
  for (const auto& [a, b] : spec.no_collision) {
    require_link(table, "no_collision", a);
    require_link(table, "no_collision", b);
  }
  for (StrictTable& sensor : table.tables("sensor")) {
    if (sensor.text("kind", "") != "force_torque") continue;
    if (sensor.has("joint")) spec.kept_joints.insert(sensor.text("joint"));
    if (!sensor.has("link")) continue;
    require_link(sensor, "link", sensor.text("link"));
    for (const UrdfJoint& joint : robot.joints)
      if (joint.child_name == sensor.text("link")) spec.kept_joints.insert(joint.name);
  }
}

// A floating base may be called robot/base, unless the description has such a joint.
std::string base_joint_name(const RobotDescription& robot, const std::string& name) {
  std::string base = "base";
  while (find_joint(robot, base)) base = "floating_" + base;
  return name + "/" + base;
}

class RobotAdder {
 public:
  RobotAdder(const RobotDescription& robot, const RobotSpec& spec, const RobotAssembly& assembly, SceneBuilder& builder,
             const StrictTable& table)
      : robot_(robot), spec_(spec), assembly_(assembly), builder_(builder), model_(*builder.model), table_(table) {}

  void add() {
    Robot entry;
    entry.name = spec_.name;
    entry.first_joint = static_cast<JointIndex>(model_.joints.size());
    for (const RobotBody& body : assembly_.bodies) add_body(body);
    for (const RobotBody& body : assembly_.bodies) add_joint(body);
    for (const RobotBody& body : assembly_.bodies)
      if (body.joint != kNone) resolve_mimic(robot_.joints[body.joint]);
    entry.joint_count = static_cast<std::uint32_t>(model_.joints.size()) - entry.first_joint;
    model_.robots.push_back(entry);
  }
  [[nodiscard]] BodyIndex first_body() const noexcept { return bodies_.front(); }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return spec_.name + "/" + name; }

  void add_body(const RobotBody& from) {
    Body body;
    body.name = path(robot_.links[from.links.front().link].name);
    body.mode = from.joint == kNone && assembly_.fixed_base ? BodyMode::fixed : BodyMode::link;
    body.mass = from.mass.mass;
    if (body.mode == BodyMode::link) {
      body.I_BBcm = from.mass.I_SScm;
      body.p_BBcm = from.mass.p_SScm;
    }
    body.gravity_scale = spec_.gravity_scale;
    std::vector<ShapeSpec> shapes;
    std::vector<LinkFrame> frames;
    for (const RobotLink& link : from.links) {
      LinkFrame frame{path(robot_.links[link.link].name), 0, link.X_BL, 0, 0};
      frame.first_shape = static_cast<std::uint32_t>(model_.shapes.size() + shapes.size());
      frame.shape_count = static_cast<std::uint32_t>(link.shapes.size());
      shapes.insert(shapes.end(), link.shapes.begin(), link.shapes.end());
      frames.push_back(frame);
    }
    Pose X_WB = spec_.X_WR * from.X_RB0;
    X_WB.q.normalize();
    bodies_.push_back(builder_.add_link(body, X_WB, shapes, table_));
    for (LinkFrame& frame : frames) {
      frame.body = bodies_.back();
      model_.frames.push_back(frame);
    }
  }

  void add_base() {
    Joint base;
    base.name = base_joint_name(robot_, spec_.name);
    base.kind = JointKind::floating;
    base.child = bodies_[0];
    base.robot = static_cast<std::uint32_t>(model_.robots.size());
    model_.joints.push_back(base);
    const Pose& X = model_.X_WB0[bodies_[0]];
    model_.joint_q0.insert(model_.joint_q0.end(), {X.p.x(), X.p.y(), X.p.z(), X.q.w(), X.q.x(), X.q.y(), X.q.z()});
    model_.joint_v0.insert(model_.joint_v0.end(), 6, 0.0);
  }

  void add_joint(const RobotBody& body) {
    if (body.joint == kNone) {
      if (!assembly_.fixed_base) add_base();
      return;
    }
    const UrdfJoint& from = robot_.joints[body.joint];
    Joint joint;
    joint.name = path(from.name);
    joint.kind = from.kind;
    joint.parent = bodies_[body.parent];
    joint.child = bodies_[static_cast<std::size_t>(&body - assembly_.bodies.data())];
    joint.X_PF = body.X_PF;
    joint.axis_F = from.axis;
    if (from.has_limit) joint.lower = from.lower, joint.upper = from.upper;
    joint.effort_limit = from.effort;
    joint.velocity_limit = from.velocity;
    joint.damping = from.damping;
    joint.friction = from.friction;
    joint.robot = static_cast<std::uint32_t>(model_.robots.size());
    model_.joints.push_back(joint);
    if (from.mimic) return;  // has no coordinates of its own
    const std::uint32_t nq = position_count(from.kind), nv = velocity_count(from.kind);
    std::vector<double> q(nq, 0.0);
    if (nq == 1) q[0] = body.q0;
    if (from.kind == JointKind::floating) q[3] = 1;
    model_.joint_q0.insert(model_.joint_q0.end(), q.begin(), q.end());
    model_.joint_v0.insert(model_.joint_v0.end(), nv, 0.0);
  }

  // Chains end at a joint that follows no other: q = m1 (m2 q' + o2) + o1.
  void resolve_mimic(const UrdfJoint& from) {
    if (!from.mimic) return;
    Joint& joint = model_.joints[model_.find_joint(path(from.name))];
    const UrdfJoint* at = &from;
    for (; at->mimic; at = find_joint(robot_, at->mimic->joint)) {
      joint.offset += joint.multiplier * at->mimic->offset;
      joint.multiplier *= at->mimic->multiplier;
    }
    joint.mimic = model_.find_joint(path(at->name));
  }

  const RobotDescription& robot_;
  const RobotSpec& spec_;
  const RobotAssembly& assembly_;
  SceneBuilder& builder_;
  Model& model_;
  const StrictTable& table_;
  std::vector<BodyIndex> bodies_;  // of RobotAssembly::bodies
};

// Moves the robot along z until the lowest point of its shapes is where the scene wants it.
void stand(const RobotAssembly& assembly, RobotSpec& spec, const StrictTable& table) {
  if (!spec.lowest_point) return;
  double lowest = kInfinity;
  for (const RobotBody& body : assembly.bodies)
    for (const RobotLink& link : body.links)
      for (const ShapeSpec& s : link.shapes) {
        const Pose X = spec.X_WR * body.X_RB0 * s.X_BS;
        lowest = std::min(lowest, bounds(s.shape, {X.q.toRotationMatrix(), X.p}).lo.z());
      }
  if (lowest < kInfinity) spec.X_WR.p.z() += *spec.lowest_point - lowest;
  if (!spec.X_WR.p.allFinite()) table.fail("lowest_point_m", "found a place that is not finite, expected one that is");
}

void check_robot_name(const RobotDescription& robot, RobotSpec& spec, const SceneBuilder& builder,
                      const StrictTable& table) {
  if (spec.name.empty()) spec.name = robot.name;
  if (!is_name(spec.name) && table.file().generated) spec.name = "robot";
  if (!is_name(spec.name))
    table.fail("name", "missing; expected it, because the description's own (\"" + robot.name +
                           "\") is not 1 to 64 characters out of A-Z a-z 0-9 _ . -");
  for (const Robot& other : builder.model->robots)
    if (other.name == spec.name) table.fail("name", "found \"" + spec.name + "\" again, expected a unique name");
}

}  // namespace

void read_robot(StrictTable& table, SceneBuilder& builder, SceneRandom random) {
  RobotSpec spec = read_spec(table, builder);
  if (builder.model->planar) table.fail("urdf", "found a robot in a planar scene, expected planar = false");
  // What is wrong with the URDF names its own file and line; a scene says which robot wanted it.
  const auto from_urdf = [&](auto&& work) {
    try {
      return work();
    } catch (const InputError& e) {
      if (table.file().generated) throw;
      table.fail("urdf", e.what());
    }
  };
  const RobotDescription robot = from_urdf([&] { return read_urdf(spec.urdf); });
  check_robot_name(robot, spec, builder, table);
  check_names(robot, spec, table);
  RobotAssembly assembly = from_urdf([&] { return assemble_robot(robot, spec, builder); });
  stand(assembly, spec, table);
  const auto apart = apart_pairs(robot, assembly, spec);
  RobotAdder adder(robot, spec, assembly, builder, table);
  adder.add();
  for (const auto& [a, b] : apart)
    builder.model->no_collision.emplace_back(adder.first_body() + a, adder.first_body() + b);
  for (const std::string& note : assembly.notes) builder.notes.push_back("robot " + spec.name + ": " + note);
  const auto index = static_cast<std::uint32_t>(builder.model->robots.size() - 1);
  for (StrictTable& drive : table.tables("drive")) read_drive(drive, builder, index);
  for (StrictTable& sensor : table.tables("sensor")) read_sensor(sensor, builder, index, random);
  table.finish();
}

}  // namespace tactus
