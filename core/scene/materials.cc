// [[material]] and [[material_pair]].
#include <array>

#include "core/scene/scene_builder.h"

namespace tactus {
namespace {

// static_friction and dynamic_friction; one alone stands for both.
Friction read_friction(StrictTable& table) {
  Friction f;
  const bool has_static = table.has("static_friction"), has_dynamic = table.has("dynamic_friction");
  const double alone = has_static ? table.number("static_friction", kNotNegative)
                                  : table.number("dynamic_friction", kNotNegative, f.mu_static);
  f.mu_static = has_static ? table.number("static_friction", kNotNegative) : alone;
  f.mu_dynamic = has_dynamic ? table.number("dynamic_friction", kNotNegative) : alone;
  if (f.mu_dynamic > f.mu_static)
    table.fail("dynamic_friction", "found " + number_text(f.mu_dynamic) + ", expected at most static_friction, " +
                                       number_text(f.mu_static));
  f.viscous = table.number("viscous_n_s_per_m", kNotNegative, 0.0);
  f.stribeck_velocity = table.number("stribeck_velocity_m_per_s", kNotNegative, 0.0);
  f.rolling = table.number("rolling_friction_m", kNotNegative, 0.0);
  static constexpr std::array<std::string_view, 2> kLaws{"springs", "linear_system"};
  if (table.has("friction_law")) f.law = static_cast<FrictionLaw>(table.choice("friction_law", kLaws));
  return f;
}

double read_restitution(StrictTable& table) {
  return table.number("restitution", Range{0, 1}, 0.0);
}

void read_pair(StrictTable& table, SceneBuilder& builder) {
  const auto names = table.texts("materials", 2, 2);
  const std::uint32_t a = builder.material(names[0], table, "materials"),
                      b = builder.material(names[1], table, "materials");
  const SurfacePair pair{read_restitution(table), read_friction(table)};
  table.finish();
  const std::size_t n = builder.model->materials.size();
  builder.model->surface_pairs[a * n + b] = pair;
  builder.model->surface_pairs[b * n + a] = pair;
}

}  // namespace

void read_materials(StrictTable& root, SceneBuilder& builder) {
  auto& materials = builder.model->materials;
  materials.assign(1, Material{});
  materials[0].name = "default";
  std::vector<std::string> seen;
  for (auto& table : root.tables("material")) {
    Material m{table.name("name"), read_restitution(table), read_friction(table)};
    table.finish();
    for (const auto& name : seen)
      if (name == m.name) table.fail("name", "found \"" + m.name + "\" again, expected a unique name");
    seen.push_back(m.name);
    if (m.name == "default")
      materials[0] = m;
    else
      materials.push_back(m);
  }
  combine_materials(*builder.model);
  for (auto& table : root.tables("material_pair")) read_pair(table, builder);
}

}  // namespace tactus
