// Text of set_parameter, --set and SetParameter to Parameters. Not for the tick thread.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "core/dynamics/state_bytes.h"
#include "core/math/cone_problem.h"
#include "core/world.h"

namespace tactus {

namespace {

// All numbers of a comma-separated list; false unless exactly n finite ones.
bool parse_numbers(std::string_view text, double* out, std::size_t n) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < n; ++i) {
    while (at < end && (*at == ' ' || (i > 0 && *at == ','))) ++at;
    const auto result = std::from_chars(at, end, out[i]);
    if (result.ec != std::errc{} || !std::isfinite(out[i])) return false;
    at = result.ptr;
  }
  return at == end;
}

bool parse_gains(std::string_view value, Gains& out) {
  if (value == "auto") {
    out.law = GainLaw::automatic;
    return true;
  }
  if (value == "auto-explicit") {
    out.law = GainLaw::automatic_explicit;
    return true;
  }
  if (value == "paper") {
    out.law = GainLaw::paper;
    return true;
  }
  std::array<double, 3> k{};
  if (!parse_numbers(value, k.data(), 3) || k[0] <= 0 || k[1] < 0 || k[2] < 0) return false;
  out.law = GainLaw::explicit_gains;
  out.kp = k[0], out.kv = k[1], out.ki = k[2];
  return true;
}

constexpr std::array<std::string_view, 2> kCoherences{"off", "on"};
constexpr std::array<std::string_view, 2> kImpacts{"sequential", "simultaneous"};
constexpr std::array<std::string_view, 3> kRestitutionLaws{"newton", "poisson", "stronge"};
constexpr std::array<std::string_view, 3> kLcpFrictions{"coulomb", "lotstedt", "none"};
constexpr std::array<std::string_view, 3> kForceMethods{"auto", "pivoting", "qp"};
constexpr std::array<std::string_view, 2> kLcpDrifts{"penalty", "off"};
constexpr std::array<std::string_view, 2> kLcpSteppers{"fixed", "exact"};

// One of the words, in the order of the enumeration.
template <typename Enum, std::size_t n>
bool parse_word(std::string_view value, const std::array<std::string_view, n>& words, Enum& out) {
  const auto it = std::find(words.begin(), words.end(), value);
  if (it == words.end()) return false;
  out = static_cast<Enum>(it - words.begin());
  return true;
}

constexpr std::array<std::string_view, 3> kPegForms{"repaired", "printed", "unilateral"};
constexpr std::array<std::string_view, 2> kEdgeTests{"gauss", "paper"};

// Numbers: lo exclusive, hi inclusive.
struct Range {
  std::string_view key;
  double lo, hi;
  double& (*target)(Parameters&);
};
constexpr std::array<Range, 10> kRanges{{
    {"alpha", 0, 1e6, [](Parameters& p) -> double& { return p.gains.alpha; }},
    {"beta", 0, 1e6, [](Parameters& p) -> double& { return p.gains.beta; }},
    {"depth_scale_m", 0, 1, [](Parameters& p) -> double& { return p.gains.depth_scale; }},
    {"explicit_alpha", 0, 4, [](Parameters& p) -> double& { return p.gains.explicit_alpha; }},
    {"explicit_beta", 0, 2, [](Parameters& p) -> double& { return p.gains.explicit_beta; }},
    {"contact_margin_m", 0, 0.1, [](Parameters& p) -> double& { return p.contact_margin; }},
    {"lambda", 0, 0.999, [](Parameters& p) -> double& { return p.gains.lambda; }},
    {"impact_epsilon_m_per_s", 0, 10, [](Parameters& p) -> double& { return p.impact_epsilon; }},
    {"overlap_relax_time_s", 0, 10, [](Parameters& p) -> double& { return p.overlap_relax_time; }},
    {"overlap_relax_speed_m_per_s", 0, 100, [](Parameters& p) -> double& { return p.overlap_relax_speed; }},
}};

// "a, b or c".
template <std::size_t n>
std::string join(const std::array<std::string_view, n>& words) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) out += i + 1 < n ? ", " : " or ";
    out += words[i];
  }
  return out;
}

std::string number(double x) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), x);
  return {text.data(), result.ptr};
}

}  // namespace

bool World::parse_parameter(std::string_view key, std::string_view value, Parameters& out) {
  Parameters next = out;
  bool ok = false;
  if (key == "gains") {
    ok = parse_gains(value, next.gains);
  } else if (key == "impacts") {
    ok = parse_word(value, kImpacts, next.impacts);
  } else if (key == "restitution_law") {
    ok = parse_word(value, kRestitutionLaws, next.restitution_law);
  } else if (key == "peg.form") {
    ok = parse_word(value, kPegForms, next.peg_form);
  } else if (key == "peg.edge_test") {
    ok = parse_word(value, kEdgeTests, next.peg_edge_test);
  } else if (key == "peg.angle_rad") {
    ok = parse_numbers(value, &next.peg_angle, 1) && next.peg_angle >= 0 && next.peg_angle <= 0.5;
  } else if (key == "coherence") {
    ok = parse_word(value, kCoherences, next.coherence);
  } else if (key == "lcp_friction") {
    ok = parse_word(value, kLcpFrictions, next.lcp_friction);
  } else if (key == "lcp_method") {
    ok = parse_word(value, kForceMethods, next.lcp_method);
  } else if (key == "lcp_drift") {
    ok = parse_word(value, kLcpDrifts, next.lcp_drift);
  } else if (key == "lcp_stepper") {
    ok = parse_word(value, kLcpSteppers, next.lcp_stepper);
  } else if (key == "friction_directions") {
    double n = 0;
    const bool round = value == "round";
    ok = round || (parse_numbers(value, &n, 1) && n >= 4 && n <= kConeDirectionsMax && std::fmod(n, 2) == 0);
    if (ok) next.friction_directions = static_cast<std::uint32_t>(n);
  } else if (key == "detection_distance_m") {
    ok = parse_numbers(value, &next.detection_distance, 1) && next.detection_distance >= 0 &&
         next.detection_distance <= 10;
  } else if (key == "gravity_m_per_s2") {
    ok = parse_numbers(value, next.gravity_W.data(), 3) && next.gravity_W.norm() <= 1000;
  } else {
    for (const Range& range : kRanges) {
      if (key != range.key) continue;
      double& target = range.target(next);
      ok = parse_numbers(value, &target, 1) && target > range.lo && target <= range.hi;
    }
  }
  // The stability bound of the explicit automatic law (papers/NOTES).
  ok = ok && next.gains.explicit_alpha + 2 * next.gains.explicit_beta < 4;
  // Simultaneous impacts know Newton's law only.
  ok = ok && (next.impacts == Impacts::sequential || next.restitution_law == RestitutionLaw::newton);
  // A convex program knows no bounds that follow the normal forces.
  ok = ok && (next.lcp_method != ForceMethod::qp || next.lcp_friction != LcpFriction::coulomb);
  if (ok) out = next;
  return ok;
}

std::string World::expected_parameter(std::string_view key) {
  if (key == "gains") return "auto, auto-explicit, paper, or kp,kv,ki with kp above 0 and the others at least 0";
  if (key == "impacts") return join(kImpacts) + "; simultaneous beside restitution_law newton only";
  if (key == "restitution_law") return join(kRestitutionLaws) + "; beside impacts simultaneous newton only";
  if (key == "peg.form") return join(kPegForms);
  if (key == "peg.edge_test") return join(kEdgeTests);
  if (key == "peg.angle_rad") return "a number from 0 to 0.5";
  if (key == "coherence") return join(kCoherences);
  if (key == "lcp_friction") return join(kLcpFrictions) + "; coulomb not beside lcp_method qp";
  if (key == "lcp_method") return join(kForceMethods) + "; qp not beside lcp_friction coulomb";
  if (key == "lcp_drift") return join(kLcpDrifts);
  if (key == "lcp_stepper") return join(kLcpSteppers);
  if (key == "friction_directions") return "round, or an even number from 4 to " + std::to_string(kConeDirectionsMax);
  if (key == "detection_distance_m") return "a number from 0 to 10";
  if (key == "gravity_m_per_s2") return "x,y,z, at most 1000 together";
  for (const Range& range : kRanges) {
    if (key != range.key) continue;
    const bool bound = key.starts_with("explicit_");
    return "a number above " + number(range.lo) + " and at most " + number(range.hi) +
           (bound ? ", explicit_alpha + 2 explicit_beta below 4" : "");
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> World::list_parameters(const Parameters& p) {
  const Gains& g = p.gains;
  const std::string gains = g.law == GainLaw::automatic            ? "auto"
                            : g.law == GainLaw::automatic_explicit ? "auto-explicit"
                            : g.law == GainLaw::paper              ? "paper"
                                                      : number(g.kp) + "," + number(g.kv) + "," + number(g.ki);
  return {{"gains", gains},
          {"alpha", number(g.alpha)},
          {"beta", number(g.beta)},
          {"depth_scale_m", number(g.depth_scale)},
          {"explicit_alpha", number(g.explicit_alpha)},
          {"explicit_beta", number(g.explicit_beta)},
          {"contact_margin_m", number(p.contact_margin)},
          {"lambda", number(g.lambda)},
          {"gravity_m_per_s2", number(p.gravity_W.x()) + "," + number(p.gravity_W.y()) + "," + number(p.gravity_W.z())},
          {"impacts", std::string(kImpacts[static_cast<std::size_t>(p.impacts)])},
          {"restitution_law", std::string(kRestitutionLaws[static_cast<std::size_t>(p.restitution_law)])},
          {"impact_epsilon_m_per_s", number(p.impact_epsilon)},
          {"overlap_relax_time_s", number(p.overlap_relax_time)},
          {"overlap_relax_speed_m_per_s", number(p.overlap_relax_speed)},
          {"friction_directions", p.friction_directions == 0 ? "round" : number(p.friction_directions)},
          {"detection_distance_m", number(p.detection_distance)},
          {"coherence", std::string(kCoherences[p.coherence ? 1 : 0])},
          {"lcp_friction", std::string(kLcpFrictions[static_cast<std::size_t>(p.lcp_friction)])},
          {"lcp_method", std::string(kForceMethods[static_cast<std::size_t>(p.lcp_method)])},
          {"lcp_drift", std::string(kLcpDrifts[static_cast<std::size_t>(p.lcp_drift)])},
          {"lcp_stepper", std::string(kLcpSteppers[static_cast<std::size_t>(p.lcp_stepper)])},
          {"peg.form", std::string(kPegForms[static_cast<std::size_t>(p.peg_form)])},
          {"peg.edge_test", std::string(kEdgeTests[static_cast<std::size_t>(p.peg_edge_test)])},
          {"peg.angle_rad", number(p.peg_angle)}};
}

std::vector<std::uint8_t> World::serialise(const State& state) const {
  return to_bytes(state);
}
bool World::deserialise(std::span<const std::uint8_t> bytes, State& out) const {
  return from_bytes(bytes, out);
}

}  // namespace tactus
