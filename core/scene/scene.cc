#include "core/scene/scene.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/math/cone_problem.h"
#include "core/scene/robot_spec.h"
#include "core/scene/scene_builder.h"
#include "core/scene/strict_table.h"
#include "core/world.h"

namespace tactus {
namespace {

constexpr std::uintmax_t kFileBytesMax = 16u << 20;
// Of a microsecond the server's clock still makes a grid; no contact law of ours needs less [s].
constexpr Range kStep{1e-6, 1, false, false};
constexpr std::size_t kKeyParts = 200;

// Text of --set as a value of the kind that it replaces.
void override_entry(toml::table& table, const std::string& key, const std::string& text, const std::string& file) {
  const toml::node* old = table.get(key);
  const auto refuse = [&](const char* expected) {
    throw InputError(file + " --set: " + key + ": found \"" + text + "\", expected " + expected);
  };
  const char *begin = text.data(), *end = begin + text.size();
  toml::table fresh;
  if (old->is_integer() || old->is_floating_point()) {
    std::int64_t i = 0;
    double x = 0;
    if (const auto r = std::from_chars(begin, end, i); r.ec == std::errc() && r.ptr == end)
      fresh.insert(key, i);
    else if (const auto d = std::from_chars(begin, end, x); d.ec == std::errc() && d.ptr == end)
      fresh.insert(key, x);
    else
      refuse("a number");
  } else if (old->is_boolean()) {
    if (text != "true" && text != "false") refuse("true or false");
    fresh.insert(key, text == "true");
  } else {
    fresh.insert(key, text);
  }
  table.erase(key);
  for (auto&& [k, value] : fresh) table.insert(k.str(), std::move(value));
}

// The scene's own scalars that --set may replace as well, with a value of their type.
constexpr std::array<std::string_view, 9> kSetNumbers{"step_s",
                                                      "settle_s",
                                                      "duration_s",
                                                      "seed",
                                                      "impact_epsilon_m_per_s",
                                                      "overlap_relax_time_s",
                                                      "overlap_relax_speed_m_per_s",
                                                      "friction_directions",
                                                      "detection_distance_m"};
constexpr std::array<std::string_view, 12> kSetWords{"model",        "integrator",      "gains",      "impacts",
                                                     "title",        "restitution_law", "lcp_method", "lcp_drift",
                                                     "lcp_friction", "lcp_stepper",     "coherence",  "ap_drift"};
constexpr std::array<std::string_view, 2> kPegWords{"peg.form", "peg.edge_test"};
constexpr std::string_view kPegNumber = "peg.angle_rad";

template <std::size_t n>
bool has(const std::array<std::string_view, n>& names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

// What --set takes, for those who mistyped it: the scene's parameters first.
std::string settable(const toml::table& parameters) {
  std::string out;
  for (const auto& [name, ignored] : parameters) out += std::string(name.str()) + ", ";
  for (const std::string_view name : kSetNumbers) out += std::string(name) + ", ";
  for (const std::string_view name : kSetWords) out += std::string(name) + ", ";
  for (const std::string_view name : kPegWords) out += std::string(name) + ", ";
  return out + std::string(kPegNumber);
}

void add_missing_scalar(toml::table& root, const std::string& key) {
  if (has(kSetNumbers, key) && !root.contains(key)) root.insert(key, 0);
  if (has(kSetWords, key) && !(root.contains(key) && root.get(key)->is_string())) root.insert_or_assign(key, "");
}

// --set peg.form=printed: the table's scalar, made where it is not there.
bool override_peg(toml::table& root, const std::string& key, const std::string& text, const std::string& file) {
  const bool word = has(kPegWords, key);
  if (!word && key != kPegNumber) return false;
  if (!root.contains("peg")) root.insert("peg", toml::table{});
  toml::table* table = root.get("peg")->as_table();
  if (table == nullptr) return false;
  const std::string name = key.substr(4);
  if (!table->contains(name) && word) table->insert(name, "");
  if (!table->contains(name) && !word) table->insert(name, 0);
  override_entry(*table, name, text, file);
  return true;
}

void apply_overrides(SceneFile& file, const SceneOptions& options) {
  if (const toml::node* node = file.root.get("parameters")) {
    StrictTable root(file, file.root, "");
    root.table("parameters");
    file.parameters = *node->as_table();
    StrictTable parameters(file, file.parameters, "parameters");
    for (const auto& [name, value] : file.parameters) {
      if (value.is_table() || value.is_array())
        parameters.fail_expected(name.str(), "a number, a string, true or false");
      if (!is_name(name.str()))
        parameters.fail(name.str(), "found a name with other characters, expected A-Z a-z 0-9 _ . -");
    }
  }
  for (const auto& [key, text] : options.set) {
    if (file.parameters.contains(key)) {
      override_entry(file.parameters, key, text, file.name);
      continue;
    }
    if (override_peg(file.root, key, text, file.name)) continue;
    add_missing_scalar(file.root, key);
    const toml::node* node = file.root.get(key);
    if (node && (node->is_number() || node->is_string() || node->is_boolean())) {
      override_entry(file.root, key, text, file.name);
      continue;
    }
    throw InputError(file.name + " --set: " + key + ": unknown parameter; expected one of " +
                     settable(file.parameters));
  }
}

Gains read_gains(StrictTable& root) {
  Gains g;
  if (!root.is_table("gains")) {
    static constexpr std::array<std::string_view, 3> kWords{"auto", "auto-explicit", "paper"};
    g.law = static_cast<GainLaw>(root.choice("gains", kWords, 0));
    return g;
  }
  StrictTable table = root.table("gains");
  if (table.has("alpha") || table.has("beta") || table.has("depth_scale_m")) {
    g.alpha = table.number("alpha", kPositive, g.alpha);
    g.beta = table.number("beta", kNotNegative, g.beta);
    g.depth_scale = table.number("depth_scale_m", kPositive, g.depth_scale);
  } else if (table.has("explicit_alpha") || table.has("explicit_beta")) {
    g.law = GainLaw::automatic_explicit;
    g.explicit_alpha = table.number("explicit_alpha", Range{0, 4, true, true}, g.explicit_alpha);
    g.explicit_beta = table.number("explicit_beta", Range{0, 2, false, true}, g.explicit_beta);
    if (g.explicit_alpha + 2 * g.explicit_beta >= 4) {
      table.fail("explicit_alpha",
                 "found explicit_alpha + 2 explicit_beta of 4 or more, expected less: it is unstable");
    }
  } else {
    g.law = GainLaw::explicit_gains;
    g.kp = table.number("kp_n_per_m", kPositive);
    g.kv = table.number("kv_n_s_per_m", kNotNegative, 0.0);
    g.ki = table.number("ki_n_per_m", kNotNegative, 0.0);
    g.lambda = table.number("lambda", Range{0, 1, true, true}, g.lambda);
    g.divide_by_points = table.flag("divide_by_points", g.divide_by_points);
  }
  table.finish();
  return g;
}

void read_impacts(StrictTable& root, Parameters& p) {
  static constexpr std::array<std::string_view, 2> kImpacts{"sequential", "simultaneous"};
  static constexpr std::array<std::string_view, 3> kLaws{"newton", "poisson", "stronge"};
  p.impacts = static_cast<Impacts>(root.choice("impacts", kImpacts, 0));
  p.restitution_law = static_cast<RestitutionLaw>(root.choice("restitution_law", kLaws, 0));
  if (p.impacts == Impacts::simultaneous && p.restitution_law != RestitutionLaw::newton)
    root.fail("restitution_law", "found it beside impacts = \"simultaneous\", expected \"newton\" there");
  p.impact_epsilon = root.number("impact_epsilon_m_per_s", kNotNegative, p.impact_epsilon);
}

// Of the time steppers.
void read_contact_problem(StrictTable& root, Parameters& p) {
  if (root.has("friction_directions")) {
    const auto directions = root.integer("friction_directions", 4, kConeDirectionsMax);
    if (directions % 2 != 0)
      root.fail_expected("friction_directions", "an even number from 4 to 32, or no such key: the round cone");
    p.friction_directions = static_cast<std::uint32_t>(directions);
  }
  p.detection_distance = root.number("detection_distance_m", Range{0, 10, false, false}, p.detection_distance);
}

// [peg]: of the models lnc and peg.
void read_peg(StrictTable& root, Parameters& p) {
  static constexpr std::array<std::string_view, 3> kForms{"repaired", "printed", "unilateral"};
  static constexpr std::array<std::string_view, 2> kTests{"gauss", "paper"};
  if (!root.has("peg")) return;
  StrictTable table = root.table("peg");
  p.peg_form = static_cast<PegForm>(table.choice("form", kForms, 0));
  p.peg_edge_test = static_cast<EdgeTest>(table.choice("edge_test", kTests, 0));
  p.peg_angle = table.number("angle_rad", Range{0, 0.5, false, false}, p.peg_angle);
  table.finish();
}

void read_coherence(StrictTable& root, Parameters& p) {
  static constexpr std::array<std::string_view, 2> kWords{"on", "off"};
  p.coherence = root.choice("coherence", kWords, 0) == 0;
}

void read_lcp(StrictTable& root, Parameters& p) {
  static constexpr std::array<std::string_view, 3> kFrictions{"coulomb", "lotstedt", "none"};
  static constexpr std::array<std::string_view, 3> kMethods{"auto", "pivoting", "qp"};
  static constexpr std::array<std::string_view, 2> kDrifts{"penalty", "off"}, kSteppers{"fixed", "exact"};
  p.lcp_friction = static_cast<LcpFriction>(root.choice("lcp_friction", kFrictions, 0));
  p.lcp_method = static_cast<ForceMethod>(root.choice("lcp_method", kMethods, 0));
  p.lcp_drift = static_cast<OverlapDrift>(root.choice("lcp_drift", kDrifts, 0));
  p.ap_drift = static_cast<OverlapDrift>(root.choice("ap_drift", kDrifts, 0));
  p.lcp_stepper = static_cast<LcpStepper>(root.choice("lcp_stepper", kSteppers, 0));
  if (p.lcp_method == ForceMethod::qp && p.lcp_friction == LcpFriction::coulomb)
    root.fail("lcp_method", "found \"qp\" beside Coulomb's law, expected lcp_friction = \"lotstedt\" or \"none\"");
  if (p.lcp_stepper == LcpStepper::exact && p.lcp_friction == LcpFriction::lotstedt)
    root.fail("lcp_stepper", "found \"exact\" beside lcp_friction = \"lotstedt\", expected \"coulomb\" or \"none\"");
}

void read_settings(StrictTable& root, Model& model, std::uint64_t seed) {
  static constexpr std::array<std::string_view, 7> kModels{"penalty", "deepest", "lcp", "st", "ap", "lnc", "peg"};
  static constexpr std::array<std::string_view, 2> kIntegrators{"semi_implicit_euler", "rk4"};
  model.title = root.text("title", "");
  model.step = root.number("step_s", kStep, 1e-3);
  model.contact_model = static_cast<ContactModelKind>(root.choice("model", kModels, 0));
  if (!World::has_model(model.contact_model)) root.fail_expected("model", "a contact model that this build has");
  model.integrator = static_cast<Integrator>(root.choice("integrator", kIntegrators, 0));
  model.planar = root.flag("planar", false);
  model.settle = root.number("settle_s", kNotNegative, 0.0);
  const auto own_seed = root.integer("seed", 1, std::numeric_limits<std::int64_t>::max(), 1);
  model.seed = seed ? seed : static_cast<std::uint64_t>(own_seed);
  Parameters& p = model.parameters;
  p.gains = read_gains(root);
  read_impacts(root, p);
  p.gravity_W = root.vec3("gravity_m_per_s2", model.planar ? Vec3(0, -9.81, 0) : Vec3(0, 0, -9.81));
  if (model.planar && p.gravity_W.z() != 0)
    root.fail("gravity_m_per_s2", "found gravity along z, expected z = 0 in a planar scene (its plane is x-y)");
  read_contact_problem(root, p);
  read_peg(root, p);
  read_lcp(root, p);
  read_coherence(root, p);
  p.overlap_relax_time = root.number("overlap_relax_time_s", kPositive, p.overlap_relax_time);
  p.overlap_relax_speed = root.number("overlap_relax_speed_m_per_s", kPositive, p.overlap_relax_speed);
}

void read_no_collision(StrictTable& root, SceneBuilder& builder) {
  auto& pairs = builder.model->no_collision;
  for (const auto& [a, b] : root.name_pairs("no_collision")) {
    const BodyIndex i = builder.body(a, root, "no_collision"), j = builder.body(b, root, "no_collision");
    if (i == j) root.fail("no_collision", "found \"" + a + "\" twice in a pair, expected two bodies");
    pairs.emplace_back(std::min(i, j), std::max(i, j));
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

SceneRun build(SceneFile& file, const SceneOptions& options) {
  apply_overrides(file, options);
  SceneBuilder builder(options);
  builder.model->name = std::filesystem::path(file.name).stem().string();
  StrictTable root(file, file.root, "");
  if (root.has("parameters") && !root.is_table("parameters")) root.fail_expected("parameters", "a table");
  read_settings(root, *builder.model, options.seed);
  read_materials(root, builder);
  for (auto& table : root.tables("body")) builder.add_body(read_body(table, builder, true), table);
  std::uint64_t stream = 0;
  for (auto& table : root.tables("generate"))
    read_generator(table, builder, SceneRandom(builder.model->seed, stream++));
  std::uint64_t robot_stream = 1u << 21;
  for (auto& table : root.tables("robot")) read_robot(table, builder, SceneRandom(builder.model->seed, robot_stream++));
  if (builder.model->parameters.lcp_stepper == LcpStepper::exact && !builder.model->robots.empty())
    root.fail("lcp_stepper", "found \"exact\" in a scene with a robot, expected \"fixed\"");
  read_no_collision(root, builder);
  refuse_meshes_at_bowls(builder, root);
  SceneRun run;
  std::uint64_t push_stream = 1u << 20;
  for (auto& table : root.tables("push"))
    read_push(table, builder, SceneRandom(builder.model->seed, push_stream++), run.pushes);
  std::stable_sort(run.pushes.begin(), run.pushes.end(),
                   [](const Push& a, const Push& b) { return a.start < b.start; });
  run.links = read_links(root);
  run.duration = root.number("duration_s", kPositive, builder.model->settle + 1);
  root.finish();
  if (builder.model->bodies.empty())
    throw InputError(file.name + ": found no body, expected at least one [[body]], [[generate]] or [[robot]]");
  builder.model->notes = builder.meshes().notes();
  builder.model->notes.insert(builder.model->notes.end(), builder.notes.begin(), builder.notes.end());
  finish_model(*builder.model);
  run.model = std::move(builder.model);
  return run;
}

std::string read_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    const bool folder = std::filesystem::is_directory(path, error);
    throw InputError(path + (folder ? ": found a folder" : ": no such file") + ", expected a scene (.toml)");
  }
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kFileBytesMax)
    throw InputError(path + ": found " + std::to_string(size) + " bytes, expected at most " +
                     std::to_string(kFileBytesMax));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw InputError(path + ": cannot be read");
  return text.str();
}

// A key of so many parts ends in a recursion that no stack bears.
void require_flat_keys(const std::string& text, const std::string& name) {
  std::size_t line = 1, dots = 0;
  bool in_key = true;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0, in_key = true;
    }
    if (c == '=' || c == '#') in_key = false;
    if (c != '.' || !in_key || ++dots <= kKeyParts) continue;
    throw InputError(name + ":" + std::to_string(line) + ": found a key of more than " + std::to_string(kKeyParts) +
                     " parts, expected at most that many");
  }
}

SceneRun parse(const std::string& text, const std::string& name, const SceneOptions& options, bool generated) {
  require_flat_keys(text, name);
  SceneFile file;
  file.name = name;
  file.generated = generated;
  try {
    file.root = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw InputError(name + ":" + std::to_string(e.source().begin.line) +
                     ": not TOML: " + std::string(e.description()));
  }
  return build(file, options);
}

}  // namespace

SceneRun parse_scene_run(const std::string& text, const std::string& name, const SceneOptions& options) {
  return parse(text, name, options, false);
}

SceneRun load_scene_run(const std::string& path, const SceneOptions& options) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const bool is_robot = extension == ".urdf" || extension == ".xml";
  return is_robot ? parse(scene_of_urdf(path), path, options, true) : parse_scene_run(read_text(path), path, options);
}

std::unique_ptr<Model> parse_scene(const std::string& text, const std::string& name, const SceneOptions& options) {
  return parse_scene_run(text, name, options).model;
}

std::unique_ptr<Model> load_scene(const std::string& path, const SceneOptions& options) {
  return load_scene_run(path, options).model;
}

}  // namespace tactus
