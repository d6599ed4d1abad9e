// JSON of tactus-sim. Numbers are written so that reading them gives the same bits.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "server/sim/sim_run.h"

namespace tactus {
namespace {

std::string number(double x) {
  if (!std::isfinite(x)) return "null";
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

std::string array(std::initializer_list<double> values) {
  std::string out = "[";
  for (double x : values) out += (out.size() > 1 ? ", " : "") + number(x);
  return out + "]";
}

// Table 1's discontinuities (Baraff 1990) are collisions + breaks + stops.
std::string exact_json(const ExactTotals& e) {
  return "{\"pieces\": " + std::to_string(e.pieces) + ", \"collisions\": " + std::to_string(e.collisions) +
         ", \"evaluations\": " + std::to_string(e.evaluations) + ", \"bisections\": " + std::to_string(e.bisections) +
         ", \"breaks\": " + std::to_string(e.breaks) + ", \"stops\": " + std::to_string(e.stops) +
         ", \"unresolved\": " + std::to_string(e.unresolved) + ", \"exhausted\": " + std::to_string(e.exhausted) + "}";
}

}  // namespace

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else
      out += c;
  }
  return out + "\"";
}

std::string result_json(const SimLabel& label, const World& world, const SimResult& r, bool pretty) {
  const Model& model = world.model();
  std::size_t dof = 0;
  for (const auto& body : model.bodies) dof += body.mode == BodyMode::free ? (model.planar ? 3 : 6) : 0;
  dof += model.joint_v0.size();
  char hash[24];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(r.state_hash));
  std::string out = "{";
  const auto add = [&](const char* key, const std::string& value) {
    out += std::string(out.size() > 1 ? "," : "") +
           (pretty           ? "\n  "
            : out.size() > 1 ? " "
                             : "") +
           "\"" + key + "\": " + value;
  };
  add("scene", json_text(label.scene));
  add("model", json_text(label.model));
  add("steps", std::to_string(r.steps));
  add("step_s", number(model.step));
  add("bodies", std::to_string(model.bodies.size()));
  add("dof", std::to_string(dof));
  add("cpu_us_per_step", "{\"median\": " + number(r.cpu_us.median) + ", \"p99\": " + number(r.cpu_us.p99) +
                             ", \"max\": " + number(r.cpu_us.max) + "}");
  add("penetration_m", "{\"mean\": " + number(r.penetration_mean) + ", \"max\": " + number(r.penetration_max) + "}");
  add("kinetic_energy_j", "{\"mean\": " + number(r.energy_mean) + ", \"final\": " + number(r.energy_final) + "}");
  add("mechanical_energy_j",
      "{\"start\": " + number(r.mechanical_start) + ", \"final\": " + number(r.mechanical_final) + "}");
  add("contacts_mean", number(r.contacts_mean));
  add("contacts_dropped", std::to_string(r.contacts_dropped));
  add("solver_failures", std::to_string(r.solver_failures));
  add("solver_fallbacks", std::to_string(r.solver_fallbacks));
  add("inconsistent", std::to_string(r.inconsistent));
  add("indeterminate", std::to_string(r.indeterminate));
  add("solver_residual_max", number(r.solver_residual_max));
  const WitnessTotals& w = r.witnesses;
  add("witnesses", "{\"hits\": " + std::to_string(w.hits) + ", \"misses\": " + std::to_string(w.misses) +
                       ", \"closed_hits\": " + std::to_string(w.closed_hits) + ", \"closed_misses\": " +
                       std::to_string(w.closed_misses) + ", \"fallbacks\": " + std::to_string(w.fallbacks) +
                       ", \"unknown\": " + std::to_string(w.unknown) + "}");
  add("exact", exact_json(r.exact));
  add("continuous_stops", std::to_string(r.continuous_stops));
  add("continuous_unknown", std::to_string(r.continuous_unknown));
  add("state_hash", json_text(hash));
  return out + (pretty ? "\n}\n" : "}\n");
}

std::string final_state_json(const World& world) {
  std::string out = "{";
  const Model& model = world.model();
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) {
    const Pose X_WB = body_pose(model, world.state(), b);
    const SpatialVelocity V_WB = body_velocity(model, world.state(), b);
    out += std::string(b ? "," : "") + "\n  " + json_text(model.bodies[b].name) +
           ": {\"position_m\": " + array({X_WB.p.x(), X_WB.p.y(), X_WB.p.z()}) +
           ", \"orientation_wxyz\": " + array({X_WB.q.w(), X_WB.q.x(), X_WB.q.y(), X_WB.q.z()}) +
           ", \"linear_velocity_m_per_s\": " + array({V_WB.v.x(), V_WB.v.y(), V_WB.v.z()}) +
           ", \"angular_velocity_rad_per_s\": " + array({V_WB.w.x(), V_WB.w.y(), V_WB.w.z()}) + "}";
  }
  return out + "\n}\n";
}

}  // namespace tactus
