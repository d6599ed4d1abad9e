// Text of set_parameter, --set and SetParameter to Parameters. Not for the tick thread.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>

#include "core/dynamics/state_bounds.h"
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

// One of the words, in the order of the enumeration.
constexpr std::array<std::string_view, 2> kCoherences{"off", "on"};
constexpr std::array<std::string_view, 2> kImpacts{"sequential", "simultaneous"};
constexpr std::array<std::string_view, 3> kRestitutionLaws{"newton", "poisson", "stronge"};
constexpr std::array<std::string_view, 3> kLcpFrictions{"coulomb", "lotstedt", "none"};
constexpr std::array<std::string_view, 3> kForceMethods{"auto", "pivoting", "qp"};
constexpr std::array<std::string_view, 2> kDrifts{"penalty", "off"};
constexpr std::array<std::string_view, 2> kLcpSteppers{"fixed", "exact"};
constexpr std::array<std::string_view, 3> kPegForms{"repaired", "printed", "unilateral"};
constexpr std::array<std::string_view, 2> kEdgeTests{"gauss", "paper"};

std::string number(double x) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), x);
  return {text.data(), result.ptr};
}

// What there is to know of a key. Words, or a number from `least` (`above`: not itself) to `most`, or neither.
struct Setting {
  std::string_view key;
  bool (*parse)(std::string_view value, const Setting& setting, Parameters& out);
  std::string (*print)(const Parameters& p);
  std::string_view expected;  // where it is neither
  std::string_view note;      // what else is expected
  std::span<const std::string_view> words;
  double least = 0, most = 0;
  bool above = false;
};

template <const auto& kWords, auto kMember>
constexpr Setting word(std::string_view key, std::string_view note = {}) {
  return {key,
          [](std::string_view value, const Setting& setting, Parameters& out) {
            const auto it = std::find(setting.words.begin(), setting.words.end(), value);
            if (it == setting.words.end()) return false;
            out.*kMember = static_cast<std::remove_reference_t<decltype(out.*kMember)>>(it - setting.words.begin());
            return true;
          },
          [](const Parameters& p) { return std::string(kWords[static_cast<std::size_t>(p.*kMember)]); },
          {},
          note,
          kWords};
}

// Of the parameters themselves, or of their gains.
template <auto kMember, typename AnyParameters>
auto& number_of(AnyParameters& p) {
  if constexpr (std::is_same_v<decltype(kMember), double Gains::*>)
    return p.gains.*kMember;
  else
    return p.*kMember;
}
template <auto kMember>
constexpr Setting at_least(double least, double most, std::string_view key, std::string_view note = {}) {
  return {key,
          [](std::string_view value, const Setting& setting, Parameters& out) {
            double& x = number_of<kMember>(out);
            return parse_numbers(value, &x, 1) && x <= setting.most &&
                   (setting.above ? x > setting.least : x >= setting.least);
          },
          [](const Parameters& p) { return number(number_of<kMember>(p)); },
          {},
          note,
          {},
          least,
          most};
}
template <auto kMember>
constexpr Setting above(double least, double most, std::string_view key, std::string_view note = {}) {
  Setting out = at_least<kMember>(least, most, key, note);
  out.above = true;
  return out;
}

bool parse_gains(std::string_view value, const Setting& /*setting*/, Parameters& out) {
  Gains& g = out.gains;
  if (value == "auto") {
    g.law = GainLaw::automatic;
    return true;
  }
  if (value == "auto-explicit") {
    g.law = GainLaw::automatic_explicit;
    return true;
  }
  if (value == "paper") {
    g.law = GainLaw::paper;
    return true;
  }
  std::array<double, 3> k{};
  if (!parse_numbers(value, k.data(), 3) || k[0] <= 0 || k[1] < 0 || k[2] < 0) return false;
  g.law = GainLaw::explicit_gains;
  g.kp = k[0], g.kv = k[1], g.ki = k[2];
  return true;
}
std::string print_gains(const Parameters& p) {
  const Gains& g = p.gains;
  return g.law == GainLaw::automatic            ? "auto"
         : g.law == GainLaw::automatic_explicit ? "auto-explicit"
         : g.law == GainLaw::paper              ? "paper"
                                                : number(g.kp) + "," + number(g.kv) + "," + number(g.ki);
}

bool parse_gravity(std::string_view value, const Setting& setting, Parameters& out) {
  return parse_numbers(value, out.gravity_W.data(), 3) && out.gravity_W.norm() <= setting.most;
}
std::string print_gravity(const Parameters& p) {
  return number(p.gravity_W.x()) + "," + number(p.gravity_W.y()) + "," + number(p.gravity_W.z());
}

bool parse_directions(std::string_view value, const Setting& setting, Parameters& out) {
  double n = 0;
  const bool round = value == "round";
  if (!round && !(parse_numbers(value, &n, 1) && n >= setting.least && n <= setting.most && std::fmod(n, 2) == 0))
    return false;
  out.friction_directions = static_cast<std::uint32_t>(n);
  return true;
}
std::string print_directions(const Parameters& p) {
  return p.friction_directions == 0 ? "round" : number(p.friction_directions);
}

constexpr std::string_view kExplicitNote = ", explicit_alpha + 2 explicit_beta below 4";
// In the order that they are listed in, and read back in.
const Setting kSettings[] = {
    {"gains",
     parse_gains,
     print_gains,
     "auto, auto-explicit, paper, or kp,kv,ki with kp above 0, the others not below",
     {},
     {}},
    above<&Gains::alpha>(0, 1e6, "alpha"),
    above<&Gains::beta>(0, 1e6, "beta"),
    above<&Gains::depth_scale>(0, 1, "depth_scale_m"),
    above<&Gains::explicit_alpha>(0, 4, "explicit_alpha", kExplicitNote),
    above<&Gains::explicit_beta>(0, 2, "explicit_beta", kExplicitNote),
    above<&Parameters::contact_margin>(0, 0.1, "contact_margin_m"),
    above<&Gains::lambda>(0, 0.999, "lambda"),
    {"gravity_m_per_s2", parse_gravity, print_gravity, "x,y,z, at most 1000 together", {}, {}, 0, 1000},
    word<kImpacts, &Parameters::impacts>("impacts", "; simultaneous beside restitution_law newton only"),
    word<kRestitutionLaws, &Parameters::restitution_law>("restitution_law",
                                                         "; beside impacts simultaneous newton only"),
    above<&Parameters::impact_epsilon>(0, 10, "impact_epsilon_m_per_s"),
    above<&Parameters::overlap_relax_time>(0, 10, "overlap_relax_time_s"),
    above<&Parameters::overlap_relax_speed>(0, 100, "overlap_relax_speed_m_per_s"),
    {"friction_directions",
     parse_directions,
     print_directions,
     "round, or an even number from 4 to 32",
     {},
     {},
     4,
     kConeDirectionsMax},
    at_least<&Parameters::detection_distance>(0, 10, "detection_distance_m"),
    word<kCoherences, &Parameters::coherence>("coherence"),
    word<kLcpFrictions, &Parameters::lcp_friction>("lcp_friction", "; coulomb not beside lcp_method qp"),
    word<kForceMethods, &Parameters::lcp_method>("lcp_method", "; qp not beside lcp_friction coulomb"),
    word<kDrifts, &Parameters::lcp_drift>("lcp_drift"),
    word<kDrifts, &Parameters::ap_drift>("ap_drift"),
    word<kLcpSteppers, &Parameters::lcp_stepper>("lcp_stepper"),
    word<kPegForms, &Parameters::peg_form>("peg.form"),
    word<kEdgeTests, &Parameters::peg_edge_test>("peg.edge_test"),
    at_least<&Parameters::peg_angle>(0, 0.5, "peg.angle_rad"),
};
static_assert(kConeDirectionsMax == 32);  // as friction_directions says

const Setting* find_setting(std::string_view key) {
  const auto* it =
      std::find_if(std::begin(kSettings), std::end(kSettings), [key](const Setting& s) { return s.key == key; });
  return it == std::end(kSettings) ? nullptr : it;
}

}  // namespace

bool World::parse_parameter(std::string_view key, std::string_view value, Parameters& out) {
  const Setting* setting = find_setting(key);
  Parameters next = out;
  bool ok = setting != nullptr && setting->parse(value, *setting, next);
  // Up to here the explicit automatic law is stable, whatever touches and whatever the masses (fixed contacts).
  ok = ok && next.gains.explicit_alpha + 2 * next.gains.explicit_beta < 4;
  // Simultaneous impacts know Newton's law only.
  ok = ok && (next.impacts == Impacts::sequential || next.restitution_law == RestitutionLaw::newton);
  // A convex program knows no bounds that follow the normal forces.
  ok = ok && (next.lcp_method != ForceMethod::qp || next.lcp_friction != LcpFriction::coulomb);
  if (ok) out = next;
  return ok;
}

std::string World::expected_parameter(std::string_view key) {
  const Setting* setting = find_setting(key);
  if (setting == nullptr) return {};
  std::string out(setting->expected);
  for (std::size_t i = 0; i < setting->words.size(); ++i) {
    if (i > 0) out += i + 1 < setting->words.size() ? ", " : " or ";
    out += setting->words[i];
  }
  if (out.empty())
    out = (setting->above ? "a number above " : "a number from ") + number(setting->least) +
          (setting->above ? " and at most " : " to ") + number(setting->most);
  return out + std::string(setting->note);
}

std::vector<std::pair<std::string, std::string>> World::list_parameters(const Parameters& parameters) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Setting& setting : kSettings) out.emplace_back(setting.key, setting.print(parameters));
  return out;
}

std::vector<std::uint8_t> World::serialise(const State& state) const {
  return to_bytes(state);
}
bool World::deserialise(std::span<const std::uint8_t> bytes, State& out, const char** why) const {
  const char* fault = from_bytes(bytes, out) ? fault_in(*model_, std::max(1u, limits_.patches_per_pair), out)
                                             : "the bytes are not a state of this scene by this build";
  const auto impossible = [&out](const PairRecord& r) { return !bearable_memory(out.contact_model, r); };
  const std::span<const PairRecord> pairs = out.pairs.records();
  if (fault == nullptr && std::any_of(pairs.begin(), pairs.end(), impossible))
    fault = "what a pair of shapes remembers is impossible";
  if (fault == nullptr && !fits(out)) fault = "its drives remember what they cannot";
  if (why != nullptr) *why = fault;
  return fault == nullptr;
}

}  // namespace tactus
