// [[generate]]: many bodies from a few numbers. Every draw comes from SceneRandom, in the order of the bodies.
#include <array>
#include <cmath>

#include "core/scene/scene_builder.h"

namespace tactus {
namespace {

// What all generators share.
struct Common {
  std::string prefix;
  Vec3 position;
  std::optional<double> mass, density;
  std::vector<Surface> surfaces;  // taken in turn
};

Common read_common(StrictTable& table, const SceneBuilder& builder, const char* prefix) {
  Common c;
  c.prefix = table.has("name") ? table.name("name") : prefix;
  c.position = table.vec3("position_m", Vec3(Vec3::Zero()));
  Surface surface;
  if (table.has("material")) surface.material = builder.material(table.text("material"), table, "material");
  std::vector<std::string> colours{""};
  if (table.has("colours")) colours = table.texts("colours", 1, 64);
  for (auto& colour : colours) {
    check_colour(colour, table, "colours");
    surface.colour = colour;
    c.surfaces.push_back(surface);
  }
  return c;
}

void read_mass(StrictTable& table, Common& c) {
  if (table.has("mass_kg")) c.mass = table.number("mass_kg", kPositive);
  if (table.has("density_kg_per_m3")) c.density = table.number("density_kg_per_m3", kPositive);
  if (c.mass.has_value() == c.density.has_value())
    table.fail("mass_kg", std::string(c.mass ? "found beside" : "missing, and so is") +
                              " density_kg_per_m3; expected one of the two");
}

std::int64_t read_count(StrictTable& table, const SceneBuilder& builder) {
  return table.integer("count", 1, builder.limits().bodies);
}

BodySpec make_body(const Common& c, std::int64_t i, const Shape& shape, const Pose& X_WB) {
  BodySpec body;
  body.name = c.prefix + "_" + std::to_string(i);
  body.X_WB = X_WB;
  body.mass = c.mass;
  body.density = c.density;
  ShapeSpec s;
  s.shape = shape;
  s.surface = c.surfaces[static_cast<std::size_t>(i) % c.surfaces.size()];
  body.shapes.push_back(s);
  return body;
}

// Towers: count equal boxes on each other, the lowest standing on position_m.
void stack(StrictTable& table, SceneBuilder& builder, SceneRandom random) {
  Common c = read_common(table, builder, "box");
  read_mass(table, c);
  const std::int64_t count = read_count(table, builder);
  const Vec3 size = table.vec3("size_m", {}, kPositive);
  const double gap = table.number("gap_m", kAny, 0.0), jitter = table.number("jitter_m", kNotNegative, 0.0);
  const double yaw = table.number("jitter_yaw_rad", kNotNegative, 0.0);
  table.finish();
  for (std::int64_t i = 0; i < count; ++i) {
    Pose X_WB;
    X_WB.p = c.position + Vec3(0, 0, size.z() * (static_cast<double>(i) + 0.5) + gap * static_cast<double>(i));
    if (jitter > 0) {
      X_WB.p.x() += random.uniform(-jitter, jitter);
      X_WB.p.y() += random.uniform(-jitter, jitter);
    }
    if (yaw > 0) X_WB.q = yaw_rotation(random.uniform(-yaw, yaw));
    builder.add_body(make_body(c, i, make_box(0.5 * size), X_WB), table);
  }
}

// A wall that gets one box narrower with each row; its lowest row has count boxes along x.
void pyramid(StrictTable& table, SceneBuilder& builder, SceneRandom) {
  Common c = read_common(table, builder, "brick");
  read_mass(table, c);
  const std::int64_t count = table.integer("count", 1, 64);
  const Vec3 size = table.vec3("size_m", {}, kPositive);
  const double gap = table.number("gap_m", kNotNegative, 0.0), yaw = table.number("yaw_rad", kAny, 0.0);
  table.finish();
  std::int64_t made = 0;
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t i = 0; i < count - row; ++i, ++made) {
      const double x = (static_cast<double>(i) - 0.5 * static_cast<double>(count - row - 1)) * (size.x() + gap);
      Pose X_WB{yaw_rotation(yaw), Vec3::Zero()};
      X_WB.p = c.position + X_WB.q * Vec3(x, 0, size.z() * (static_cast<double>(row) + 0.5));
      builder.add_body(make_body(c, made, make_box(0.5 * size), X_WB), table);
    }
  }
}

// A row of upright slabs, thin along the way; the way starts at position_m towards yaw_rad and turns by turn_rad from
// one to the next.
void dominoes(StrictTable& table, SceneBuilder& builder, SceneRandom) {
  Common c = read_common(table, builder, "domino");
  read_mass(table, c);
  const std::int64_t count = read_count(table, builder);
  const Vec3 size = table.vec3("size_m", {}, kPositive);
  const double spacing = table.number("spacing_m", kPositive), turn = table.number("turn_rad", kAny, 0.0);
  double yaw = table.number("yaw_rad", kAny, 0.0);
  table.finish();
  Vec3 p = c.position + Vec3(0, 0, 0.5 * size.z());
  for (std::int64_t i = 0; i < count; ++i) {
    builder.add_body(make_body(c, i, make_box(0.5 * size), {yaw_rotation(yaw), p}), table);
    p += yaw_rotation(yaw + 0.5 * turn) * Vec3(spacing, 0, 0);
    yaw += turn;
  }
}

// Copies of [generate.body] on a lattice of nx by ny by nz points, the first at position_m.
void grid(StrictTable& table, SceneBuilder& builder, SceneRandom random) {
  const Common c = read_common(table, builder, "item");
  const auto counts = table.numbers("count", 3, 3, Range{1, static_cast<double>(builder.limits().bodies)});
  const Vec3 pitch = table.vec3("pitch_m");
  const double jitter = table.number("jitter_m", kNotNegative, 0.0), tilt = table.number("tilt_rad", kNotNegative, 0.0);
  StrictTable body_table = table.table("body");
  BodySpec body = read_body(body_table, builder, false);
  table.finish();
  for (double n : counts)
    if (n != std::floor(n)) table.fail_expected("count", "three integers of at least 1");
  std::int64_t i = 0;
  for (double z = 0; z < counts[2]; ++z)
    for (double y = 0; y < counts[1]; ++y)
      for (double x = 0; x < counts[0]; ++x, ++i) {
        body.name = c.prefix + "_" + std::to_string(i);
        body.X_WB = {Quat::Identity(), c.position + pitch.cwiseProduct(Vec3(x, y, z))};
        if (jitter > 0)
          for (int k = 0; k < 3; ++k) body.X_WB.p[k] += random.uniform(-jitter, jitter);
        if (tilt > 0) body.X_WB.q = rotate_by(random.direction() * random.uniform(0, tilt), Quat::Identity());
        for (auto& shape : body.shapes)
          if (table.has("colours"))
            shape.surface.colour = c.surfaces[static_cast<std::size_t>(i) % c.surfaces.size()].colour;
        builder.add_body(body, table);
      }
}

// One box turned by a random angle about a random axis, its lowest corner a random depth below z = position_m.z.
void tilted_box(StrictTable& table, SceneBuilder& builder, SceneRandom random) {
  Common c = read_common(table, builder, "box");
  read_mass(table, c);
  const Vec3 half = 0.5 * table.vec3("size_m", {}, kPositive);
  const auto tilt = table.interval("tilt_rad", kNotNegative, {0, 0});
  const auto depth = table.interval("depth_m", kAny, {0, 0});
  table.finish();
  const Vec3 axis = random.direction();
  Pose X_WB;
  X_WB.q = rotate_by(axis * random.uniform(tilt.first, tilt.second), Quat::Identity());
  const Vec3 up_B = X_WB.q.conjugate() * Vec3::UnitZ();
  const double reach = up_B.cwiseAbs().dot(half);  // the lowest corner is this far below the centre
  X_WB.p = c.position + Vec3(0, 0, reach - random.uniform(depth.first, depth.second));
  BodySpec body = make_body(c, 0, make_box(half), X_WB);
  body.name = c.prefix;
  builder.add_body(body, table);
}

// The pile of the benchmarks: four walls 0.68 m apart for up to 30 bodies, 1.02 up to 100, 2.04 up to 300, 3.4 m above.
double wall_distance(std::int64_t count) {
  if (count <= 30) return 0.68;
  if (count <= 100) return 1.02;
  return count <= 300 ? 2.04 : 3.4;
}

void add_walls(StrictTable& table, SceneBuilder& builder, const Common& c, double distance) {
  const double s = std::sqrt(0.5), d = 0.5 * distance;
  // Half-spaces with outward normal +z_S, turned so that it points inwards.
  const std::array<Pose, 4> poses{Pose{Quat(s, 0, -s, 0), Vec3(d, 0, 0)}, Pose{Quat(s, 0, s, 0), Vec3(-d, 0, 0)},
                                  Pose{Quat(s, s, 0, 0), Vec3(0, d, 0)}, Pose{Quat(s, -s, 0, 0), Vec3(0, -d, 0)}};
  const std::array<const char*, 4> names{"wall_east", "wall_west", "wall_north", "wall_south"};
  for (std::size_t i = 0; i < 4; ++i) {
    BodySpec wall;
    wall.name = names[i];
    wall.mode = BodyMode::fixed;
    wall.X_WB = {poses[i].q, c.position + poses[i].p};
    ShapeSpec shape;
    shape.shape = make_half_space();
    shape.surface.material = c.surfaces[0].material;
    wall.shapes.push_back(shape);
    builder.add_body(wall, table);
  }
}

// Boxes, cylinders and spheres in turn, of random size, mass and tilt, dropped from a loose grid between walls.
void pile(StrictTable& table, SceneBuilder& builder, SceneRandom random) {
  Common c = read_common(table, builder, "item");
  const std::int64_t count = read_count(table, builder);
  const auto edge = table.interval("edge_m", kPositive, {0.1, 0.3});
  const auto mass = table.interval("mass_kg", kNotNegative, {0, 100});
  const double pitch = table.number("pitch_m", kPositive, 0.34), layer = table.number("layer_m", kPositive, 0.35);
  const double tilt = table.number("tilt_rad", kNotNegative, 0.05);
  const double walls = table.number("wall_distance_m", kPositive, wall_distance(count));
  table.finish();
  if (!(mass.second > 0)) table.fail("mass_kg", "found no mass above 0, expected [low, high] with high > 0");
  const auto side = static_cast<std::int64_t>(std::floor(walls / pitch + 1e-9));
  if (side < 1)
    table.fail("wall_distance_m", "found " + number_text(walls) + ", expected at least pitch_m, " + number_text(pitch));
  add_walls(table, builder, c, walls);
  for (std::int64_t i = 0; i < count; ++i) {
    const double a = random.uniform(edge.first, edge.second), b = random.uniform(edge.first, edge.second),
                 d = random.uniform(edge.first, edge.second);
    const Shape shape = i % 3 == 0   ? make_box(0.5 * Vec3(a, b, d))
                        : i % 3 == 1 ? make_cylinder(0.5 * a, 0.5 * b)
                                     : make_sphere(0.5 * a);
    c.mass = mass.second - (mass.second - mass.first) * random.unit();  // (low, high]
    const Vec3 axis = random.direction();
    const double angle = random.uniform(0, tilt);
    const double centre = 0.5 * static_cast<double>(side - 1);
    const Vec3 cell((static_cast<double>(i % side) - centre) * pitch,
                    (static_cast<double>(i / side % side) - centre) * pitch,
                    (static_cast<double>(i / (side * side)) + 0.5) * layer);
    builder.add_body(make_body(c, i, shape, {rotate_by(axis * angle, Quat::Identity()), c.position + cell}), table);
  }
}

}  // namespace

void read_generator(StrictTable& table, SceneBuilder& builder, SceneRandom random) {
  using Generator = void (*)(StrictTable&, SceneBuilder&, SceneRandom);
  static constexpr std::array<std::string_view, 6> kWords{"stack", "pyramid", "dominoes", "grid", "tilted_box", "pile"};
  static constexpr std::array<Generator, 6> kGenerators{stack, pyramid, dominoes, grid, tilted_box, pile};
  kGenerators[table.choice("kind", kWords)](table, builder, random);
}

}  // namespace tactus
