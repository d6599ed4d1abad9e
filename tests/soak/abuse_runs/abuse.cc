#include "tests/soak/abuse_runs/abuse.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/world.h"
#include "server/solver/shadow_ticker.h"
#include "server/solver/slow_ticker.h"
#include "tests/support/random.h"

namespace tactus::test {

namespace {

constexpr std::uint32_t kSlowTicks = 7, kContacts = 256;
constexpr double kSpeed = 1.0001e4, kPlace = 1e9;  // bounds of core/dynamics/state_bounds.h, as README.md states them
constexpr ContactModelKind kKinds[] = {ContactModelKind::penalty, ContactModelKind::deepest, ContactModelKind::lcp,
                                       ContactModelKind::st,      ContactModelKind::ap,      ContactModelKind::lnc,
                                       ContactModelKind::peg};

struct Ends {
  const char* key;
  const char* values[4];
};
constexpr Ends kEnds[] = {
    {"gains", {"auto", "paper", "1e9,1e9,1e9", "1e-9,0,0"}},
    {"alpha", {"1e-300", "1e6", "0.1", "1"}},
    {"beta", {"1e-300", "1e6", "0.1", "1"}},
    {"depth_scale_m", {"1e-300", "1", "1e-3", "0.1"}},
    {"contact_margin_m", {"1e-300", "0.1", "1e-3", "0.01"}},
    {"lambda", {"1e-300", "0.999", "0.5", "0.9"}},
    {"gravity_m_per_s2", {"0,0,0", "0,0,-1000", "700,0,700", "0,0,9.81"}},
    {"impacts", {"sequential", "simultaneous", "sequential", "simultaneous"}},
    {"restitution_law", {"newton", "poisson", "stronge", "newton"}},
    {"impact_epsilon_m_per_s", {"1e-300", "10", "0.01", "0.1"}},
    {"overlap_relax_time_s", {"1e-300", "10", "0.01", "0.1"}},
    {"overlap_relax_speed_m_per_s", {"1e-300", "100", "0.1", "1"}},
    {"friction_directions", {"round", "4", "32", "8"}},
    {"detection_distance_m", {"0", "10", "0.01", "0.1"}},
    {"coherence", {"off", "on", "off", "on"}},
    {"lcp_friction", {"coulomb", "lotstedt", "none", "coulomb"}},
    {"lcp_method", {"auto", "pivoting", "qp", "auto"}},
    {"lcp_drift", {"penalty", "off", "penalty", "off"}},
    {"ap_drift", {"penalty", "off", "penalty", "off"}},
    {"peg.form", {"repaired", "printed", "unilateral", "repaired"}},
    {"peg.edge_test", {"gauss", "paper", "gauss", "paper"}},
    {"peg.angle_rad", {"0", "0.5", "0.01", "0.1"}},
};

// Numbers that a client puts where a moderate one is expected.
double extreme(Random& random) {
  constexpr double kNumbers[] = {0,   1,   -1,   1e-300, 5e-324, 1e3,   -9.99e3, 1e4,
                                 1e5, 1e9, -1e9, 1e30,   -1e150, 1e308, 1e12,    -1e4};
  if (random.chance(0.3)) return random.uniform(-1, 1);
  return random.chance(0.5) ? random.log_uniform(1e-6, 1e6) : kNumbers[random.below(std::size(kNumbers))];
}

bool all_finite(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

class Abuser {
 public:
  Abuser(const std::shared_ptr<const Model>& model, const AbuseCase& which)
      : random_(which.seed),
        world_(model, abuse_limits()),
        slow_(abuse_limits().bodies, kContacts),
        shadow_(abuse_limits().bodies),
        spare_(world_.initial()) {
    for (const ContactModelKind kind : kKinds) world_.prepare_model(kind);
    push_.resize(model->bodies.size());
    const std::string_view name = which.variant;
    const std::string rest(name.substr(name.find('-') + 1));
    Parameters parameters = world_.parameters();
    ContactModelKind kind{};
    if (name == "lcp-exact") {
      World::parse_parameter("lcp_stepper", "exact", parameters);
      world_.set_parameters(parameters);
      world_.set_model(ContactModelKind::lcp);
    } else if (name.starts_with("slow-")) {
      put_slow(parse_contact_model(rest, kind) ? kind : ContactModelKind::st);
    } else if (name.starts_with("shadow-")) {
      const bool known = parse_contact_model(rest, kind);
      auto solver = make_solver_world(model, abuse_limits(), known ? kind : ContactModelKind::st, kSlowTicks);
      shadow_solver_ = std::make_unique<ShadowSolver>(std::move(solver), kind);
      shadow_.exchange(shadow_solver_.get());
    } else if (parse_contact_model(std::string(name), kind)) {
      world_.set_model(kind);
    }
  }

  AbuseResult run(std::uint32_t ticks) {
    for (std::uint32_t i = 0; i < ticks && out_.fault.empty(); ++i) {
      act();
      tick();
      out_.fault = look();
    }
    return out_;
  }

 private:
  void put_slow(ContactModelKind kind) {
    auto next = std::make_unique<SlowSolver>(make_solver_world(world_.shared_model(), abuse_limits(), kind, kSlowTicks),
                                             kind, kContacts);
    world_.yield_to(kind);
    slow_.exchange(next.get(), world_);
    solver_ = std::move(next);
  }

  // What the server does where the state is jumped to: the model of the state in charge, at the tick's rate or slow.
  void jump(const State& state) {
    if (!slow_.active()) {
      world_.restore(state);
    } else if (world_.jump(state)) {
      world_.yield_to(solver_->kind());
      slow_.clear();
    }
    shadow_.clear();
    std::fill(push_.begin(), push_.end(), SpatialForce{});
  }

  void act() {
    if (random_.chance(0.25)) push();
    if (random_.chance(0.1)) command();
    if (random_.chance(0.06)) restore();
    if (random_.chance(0.06)) set_parameter();
    if (random_.chance(0.03) && !slow_.active()) world_.set_model(kKinds[random_.below(std::size(kKinds))]);
    if (random_.chance(0.01)) jump(world_.initial());
  }

  void push() {
    const BodyIndex b = random_.below(static_cast<std::uint32_t>(push_.size()));
    SpatialForce F;
    if (random_.chance(0.8)) {
      if (random_.chance(0.6)) F.force = random_.log_uniform(1e-3, 1e6) * random_.direction();
      if (random_.chance(0.6)) F.torque = random_.log_uniform(1e-3, 1e6) * random_.direction();
    }
    push_[b] = F;
  }

  void command() {
    const Model& model = world_.model();
    if (model.joints.empty()) return;
    const auto kind = static_cast<DriveKind>(random_.below(3));
    const auto joint = random_.below(static_cast<std::uint32_t>(model.joints.size()));
    world_.command_joint({joint, kind, extreme(random_), extreme(random_)}, 1 + random_.below(20));
    if (random_.chance(0.1)) world_.recover_robot(random_.below(static_cast<std::uint32_t>(model.robots.size())));
  }

  // Numbers of the state itself, or any bytes of it.
  void restore() {
    State state = world_.state();
    const std::uint32_t changes = 1 + random_.below(4);
    for (std::uint32_t i = 0; i < changes; ++i) {
      std::vector<double>* const parts[] = {&state.q,       &state.v,       &state.v,
                                            &state.joint_q, &state.joint_v, &state.actuators};
      std::vector<double>& part = *parts[random_.below(6)];
      if (!part.empty()) part[random_.below(static_cast<std::uint32_t>(part.size()))] = extreme(random_);
    }
    spoil_pairs(state);
    std::vector<std::uint8_t> bytes = world_.serialise(state);
    if (random_.chance(0.3)) {
      const auto at = random_.below(static_cast<std::uint32_t>(bytes.size()));
      bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << random_.below(8)));
    }
    if (world_.deserialise(bytes, spare_)) {
      ++out_.restored;
      jump(spare_);
    } else {
      ++out_.refused;
    }
  }

  void spoil_pairs(State& state) {
    for (std::uint32_t i = 0; i < state.pairs.size(); ++i) {
      PairRecord& r = state.pairs[i];
      if (random_.chance(0.3)) r.model[random_.below(static_cast<std::uint32_t>(r.model.size()))] = extreme(random_);
      if (random_.chance(0.2)) r.witness.feature_a = static_cast<std::int32_t>(extreme_index());
      if (random_.chance(0.2)) r.witness.feature_b = static_cast<std::int32_t>(extreme_index());
      if (random_.chance(0.2)) r.witness.axis_A = extreme(random_) * random_.direction();
      if (random_.chance(0.2)) r.witness.point_a = extreme(random_) * random_.direction();
      if (random_.chance(0.1)) r.age = random_.below(5) - 1;
      if (random_.chance(0.1)) r.phase = static_cast<ContactPhase>(random_.below(3));
    }
  }

  std::int64_t extreme_index() {
    constexpr std::int64_t kIndices[] = {
        -1, 0, 1, 7, 30, 1000, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};
    return kIndices[random_.below(std::size(kIndices))];
  }

  void set_parameter() {
    const Ends& ends = kEnds[random_.below(std::size(kEnds))];
    Parameters parameters = world_.parameters();
    if (World::parse_parameter(ends.key, ends.values[random_.below(4)], parameters)) world_.set_parameters(parameters);
  }

  void tick() {
    for (BodyIndex b = 0; b < push_.size(); ++b) world_.apply(b, push_[b]);
    if (!slow_.active()) shadow_.before_step(world_);
    const StepReport report = slow_.step(world_, Meet::wait, Meet::wait, true);
    if (!slow_.active()) shadow_.after_step(world_, true);
    out_.frozen += report.bodies_frozen, out_.bounded += report.speeds_bounded;
    if (report.bodies_frozen > 0 && report.frozen_body == kNoBody) out_.fault = "a frozen body without a name";
  }

  // All that would be published.
  std::string look() {
    const State& s = world_.state();
    if (!out_.fault.empty()) return out_.fault;
    if (!all_finite(s.q) || !all_finite(s.v)) return "a body is not finite";
    if (!all_finite(s.joint_q) || !all_finite(s.joint_v)) return "a joint is not finite";
    if (!all_finite(s.actuators)) return "a drive's memory is not finite";
    for (BodyIndex b = 0; b < s.body_count(); ++b) {
      if (s.p_WBcm(b).cwiseAbs().maxCoeff() > kPlace) return "a body is too far off";
      if (world_.model().bodies[b].mode == BodyMode::link) continue;
      if (s.v_WBcm(b).norm() > kSpeed || s.w_WB(b).norm() > kSpeed) return "a body is too fast";
    }
    for (std::uint32_t p = 0; p < world_.contacts().point_count; ++p)
      if (!world_.contact_force(p).allFinite()) return "a contact force is not finite";
    for (std::uint32_t i = 0; i < world_.model().sensors.size(); ++i)
      if (!all_finite(world_.sensor_values(i))) return "a sensor is not finite";
    for (JointIndex i = 0; i < world_.model().joints.size(); ++i) {
      if (position_count(world_.model().joints[i].kind) != 1) continue;
      const World::JointReading r = world_.joint_reading(i);
      if (!std::isfinite(r.effort) || !std::isfinite(r.external_effort)) return "an effort is not finite";
    }
    const char* why = nullptr;
    if (s.tick % 16 == 0 && !world_.deserialise(world_.serialise(s), spare_, &why))
      return std::string("its own snapshot is refused: ") + why;
    for (const ShadowRow& row : shadow_.rows())
      if (!std::isfinite(row.position) || !std::isfinite(row.force)) return "a shadow's row is not finite";
    return {};
  }

  Random random_;
  World world_;
  std::unique_ptr<SlowSolver> solver_;
  std::unique_ptr<ShadowSolver> shadow_solver_;
  SlowTicker slow_;
  ShadowTicker shadow_;
  State spare_;
  std::vector<SpatialForce> push_;
  AbuseResult out_;
};

}  // namespace

const std::vector<std::string>& abuse_variants() {
  static const std::vector<std::string> variants{"penalty", "deepest",  "lcp",      "lcp-exact", "st",
                                                 "ap",      "lnc",      "peg",      "slow-lcp",  "slow-st",
                                                 "slow-ap", "slow-lnc", "slow-peg", "shadow-st", "shadow-lcp"};
  return variants;
}

Limits abuse_limits() {
  Limits limits;
  limits.pairs = 512;
  limits.problem_contacts = 2048;
  limits.problem_rows = 256, limits.pivot_rows = 96;
  return limits;
}

AbuseResult abuse(const std::shared_ptr<const Model>& model, const AbuseCase& which) {
  return Abuser(model, which).run(which.ticks);
}

}  // namespace tactus::test
