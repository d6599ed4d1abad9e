// The simulator of Baraff 1990, Fig. 1, within one step of the world: the equations of motion are integrated (RK4, with
// contact forces of exact_forces.h at every stage) up to the next discontinuity, which is found in time; there
// velocities change by impulses or contacts begin, break, stick or slide; and so on to the end of the step.
//
// One piece of a step:
//   touching contacts are gathered -> those that approach get impulses (impact.h), what is left of approach slower than
//   Parameters::impact_epsilon is stopped -> trial: integrate to the end of the step -> check all pairs; where new
//   overlap is found, its first moment (collision_time.h, chi of the features that overlap; else by bisection of the
//   check itself) -> contacts whose force ends, or whose slip ends, before: that moment -> the piece ends there.
// Every trial integrates from the piece's start. Drift of contacts that push is taken off after each; where it is much
// the piece is made shorter.
// What an event is found from must show at the end of a trial: two smooth bodies that graze each other and part within
// one step are not seen (their overlap is of second order in h).
#pragma once

#include <vector>

#include "core/collide/time/collision_time.h"
#include "core/contact/exact/exact_forces.h"

namespace tactus {

class ExactStepper {
 public:
  ExactStepper(const Model& model, const Limits& limits);

  // Advances bodies by tick.h; gives the time that is left where kMostPieces did not suffice (else 0). Contacts and
  // kinematics of the tick are those of the state on entry and on return; contact forces are those of the end.
  // Needs tick.finder; no robots. Allocates nothing.
  double advance(const Tick& tick, State& state, StepReport& report) noexcept;

 private:
  struct Overlap {
    FollowedContact contact;
    double depth = 0, known = 0;  // what is new of it; what of the pair there was when the piece began
  };
  struct Known {
    double depth = 0;
    bool opened = false;  // some of it did, when the piece began
  };

  void gather(const Tick& tick, const State& state) noexcept;
  void strike(const Tick& tick, State& state, StepReport& report) noexcept;
  void merge_pieces() noexcept;
  void classify() noexcept;
  void publish(const Tick& tick, State& state) noexcept;

  void save(const State& state) noexcept;
  void restore(State& state) const noexcept;
  void integrate(const Tick& tick, double dt, State& state) noexcept;
  void check(const Tick& tick, double dt, State& state) noexcept;
  [[nodiscard]] double drift(double dt) noexcept;
  [[nodiscard]] double rolled_in(const Tick& tick) noexcept;
  double followed(const Tick& tick, double left, State& state) noexcept;
  [[nodiscard]] Known known_depth(const Model& model, const Manifold& m) noexcept;
  void follow(const Tick& tick, std::uint32_t manifold, std::uint32_t point, const PairRecord& record,
              FollowedContact& out) const noexcept;
  [[nodiscard]] bool fits(const Model& model, const Manifold& m) noexcept;
  [[nodiscard]] double depth_before(const Tick& tick, const State& state, std::uint32_t manifold,
                                    std::uint32_t point) const noexcept;
  [[nodiscard]] bool rolls(const Tick& tick, std::uint32_t manifold, const PairRecord& record,
                           FollowedContact& out) const noexcept;
  [[nodiscard]] bool touches_again(const FollowedContact& contact) noexcept;
  [[nodiscard]] bool along_a_curve(const FollowedContact& contact) const noexcept;
  bool find_overlap(const Tick& tick, const State& state, Overlap& out) noexcept;
  double back_up(const Tick& tick, double dt, State& state, ExactReport& report) noexcept;
  double touch_time(const Tick& tick, const Overlap& overlap, double dt, State& state, ExactReport& report) noexcept;
  double bisect(const Tick& tick, double dt, State& state) noexcept;
  struct Event {
    std::uint32_t contact;
    bool slip;
  };
  [[nodiscard]] double event_value(const Event& event) noexcept;
  bool find_event(const Event& known, Event& out) noexcept;
  double event_time(const Tick& tick, const Event& event, double dt, State& state) noexcept;
  double end_at_event(const Tick& tick, double dt, State& state, ExactReport& report) noexcept;
  double piece(const Tick& tick, double left, State& state, StepReport& report) noexcept;

  static constexpr int kMostBackUps = 16;           // from one event of a piece to an earlier one
  static constexpr double kTimeTolerance = 1e-11;   // of events [s]
  static constexpr std::uint32_t kManyPieces = 64;  // of a step: what goes on for ever by ever less is ended
  bool many_ = false;
  [[nodiscard]] bool shares_on(const FollowedContact& c) const noexcept;

  ExactForces forces_;
  std::vector<double> q0_, v0_;
  double time0_ = 0;
  std::vector<RigidMotion> motions0_;
  std::vector<Frame> shapes0_;
  struct Start {  // of a followed contact, at the start of the piece
    double push, slip, depth;
    Vec3 slip_W, force;
    ExtremalSide side_a, side_b;
  };
  std::vector<Start> start_;
  double drift_ = 0;  // of the last trial, before it was taken off [m]
  struct Hidden {     // a contact that another piece of the same body stands for, or that opens
    std::uint32_t shape_a, shape_b;
    double depth;
    Vec3 nhat_BA_W;
    bool opens;  // of itself
  };
  [[nodiscard]] static Hidden hidden(const FollowedContact& c) noexcept;
  [[nodiscard]] static bool of_place(const Model& model, const Manifold& m, const Hidden& c) noexcept;
  std::vector<Hidden> hidden_;
  std::vector<std::uint8_t> is_hidden_;
  std::uint32_t hidden_count_ = 0;
  std::uint32_t turned_a_ = kNone, turned_b_ = kNone;  // the pair whose slip turned round at the end of the last piece
  std::vector<SpatialForce> force_;
  // Of each body: ends of force and slip, in this step, of points that share a load.
  std::vector<std::uint32_t> shared_ends_;
};

}  // namespace tactus
