// A recording as a playback reads it: the state at any time of it, forwards and backwards. Chunks are looked up, not
// read, to get anywhere; between two recorded states positions, orientations, velocities and joints are interpolated.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "proto/cpp/record_file.h"
#include "server/realtime/messages.h"

namespace tactus::record {

class PlayTape {
 public:
  // Reads the header and finds the first and the last state. Throws InputError: unreadable, not a recording, no state.
  explicit PlayTape(const std::string& path);
  // From anything that can be sought in; name: for what is said of it.
  PlayTape(std::unique_ptr<std::istream> in, const std::string& name);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const v1::RecordHeader& header() const { return header_; }
  // Recorded times of the first and the last state [ns].
  [[nodiscard]] std::uint64_t begin_ns() const { return begin_ns_; }
  [[nodiscard]] std::uint64_t end_ns() const { return end_ns_; }
  // What is wrong behind the end; empty: nothing, or not found yet.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  // What a slot must hold for any state of this recording: known once size() was called.
  void size(std::uint32_t bodies, std::uint32_t contacts);

  // The state at this recorded time, cut to [begin, end]: the recorded one itself where one lies within a thousandth of
  // a step, else interpolated. Not across a reset, a restore or a gap: there the earlier one stands until the later
  // comes. out.frame.play_time_ns says which time it is; tick and status are those of the earlier one, the tick moved
  // on.
  void at(std::uint64_t time_ns, StateSlot& out);

 private:
  struct Wrench {
    std::uint64_t tick = 0;
    std::uint32_t body = 0;
    std::array<double, 6> value{};
  };

  void find_range();
  void move_to(std::uint64_t time_ns);
  void jump(std::size_t chunk);
  bool read_state(StateSlot& out);
  bool take_state(const v1::StatePacket& state, StateSlot& out);
  [[nodiscard]] std::size_t chunk_at(std::uint64_t time_ns) const;
  [[nodiscard]] std::size_t chunk_of_reader() const;
  [[nodiscard]] bool goes_on() const;

  std::string path_;
  std::unique_ptr<std::istream> in_;
  std::vector<mcap::ChunkPlace> chunks_;
  wire::RecordReader reader_;
  v1::RecordHeader header_;
  v1::Record record_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0, step_ns_ = 1'000'000;
  std::string damage_;
  StateSlot before_, after_;  // around the time asked for last; after_ only with has_after_
  bool has_before_ = false, has_after_ = false;
  std::vector<Wrench> wrenches_;  // of the state to come
};

}  // namespace tactus::record
