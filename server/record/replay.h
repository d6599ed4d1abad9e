// Runs a recording again: from its first whole state on, with the wrenches that were applied and what joints' channels
// were given, slow models' steps begun and adopted at the ticks at which they were. Each state, each hash and what
// acted on each joint is held against what was recorded; the first difference ends it.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/world.h"
#include "server/record/tape.h"
#include "server/solver/slow_ticker.h"

namespace tactus::record {

struct Difference {
  std::uint64_t tick = 0;
  std::string of;                     // "body block", "joint arm/elbow", "the state"
  std::string quantity;               // "position x [m]"
  double recorded = 0, replayed = 0;  // where it is a number
  bool is_number = false;
};
std::string to_string(const Difference& difference);

struct ReplayReport {
  std::uint64_t steps = 0, first_tick = 0, last_tick = 0;                                     // ticks that were run
  std::uint64_t states = 0, hashes = 0, wrenches = 0, inputs = 0, joints = 0, adoptions = 0;  // held against, or taken
  std::uint64_t gaps = 0;  // places where rows are missing: the run went on from the next whole state
  std::optional<Difference> difference;
  std::string damage;            // of the file; what came before it was run
  std::string problem;           // it could not be begun, or not to its end
  std::uint64_t state_hash = 0;  // at the end
  [[nodiscard]] bool identical() const { return !difference && problem.empty() && damage.empty(); }
};

class Replay {
 public:
  static constexpr std::uint64_t kAhead = 10'000'000;  // ticks; a recording has a whole state a second
  // The world that the header describes: replay_world(). ahead: a record that lies further ahead belongs to no run.
  Replay(Tape& tape, World& world, std::uint64_t ahead = kAhead);
  ~Replay();
  // Runs on until this tick is reached or passed, all of it with the largest number. False: it has ended.
  bool run(std::uint64_t until);
  [[nodiscard]] const ReplayReport& report() const { return report_; }

 private:
  struct Seen {  // columns of a tick that was run
    std::uint64_t tick = ~std::uint64_t{0};
    std::vector<double> columns;
  };

  void take(const v1::Record& r);
  bool begin(const v1::Keyframe& first);
  bool take_snapshot(const v1::TickMark& mark);
  void take(const v1::TickMark& mark);
  void take(const v1::AppliedWrench& w);
  void take(const v1::JointInput& in);
  void take(const v1::AppliedJoint& row);
  void take(const v1::StatePacket& state);
  void take(const v1::Keyframe& keyframe);
  void operate(const v1::TickMark& mark);
  void set_parameter(const v1::TickMark& mark);
  void jump(const v1::TickMark& mark);
  void switch_model(const v1::TickMark& mark);
  std::unique_ptr<SlowSolver> make_solver(ContactModelKind kind, std::uint32_t ticks);
  void put_in_charge(std::unique_ptr<SlowSolver> solver);
  void run_to(std::uint64_t tick);
  void step();
  void remember();
  void compare_hash(std::uint64_t hash);
  bool compare(const v1::StatePacket& state);
  void differs(const std::string& of, const std::string& quantity);
  void cannot(const std::string& why);

  static constexpr std::size_t kSeen = 64;  // states stand in a recording up to a few ticks after later rows

  Tape& tape_;
  World& world_;
  const std::uint64_t ahead_;
  SlowTicker slow_;
  std::unique_ptr<SlowSolver> solver_;
  ReplayReport report_;
  v1::Record record_;
  bool begun_ = false, done_ = false, begin_here_ = false, adopt_here_ = false, begin_next_ = true;
  std::array<Seen, kSeen> seen_;
};

// The world of a recording. Throws InputError: the scene that stands in it does not load.
std::unique_ptr<World> replay_world(const v1::RecordHeader& header);

}  // namespace tactus::record
