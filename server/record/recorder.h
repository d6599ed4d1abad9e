// The recorder: a thread that empties the tick's and net's rings into the black box, and one that writes it to a file
// when asked to. Neither is ever waited for by the tick; net waits for a copy of at most kPiece bytes.
//
// Everything recorded belongs to one scene: a new one empties the box.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record.pb.h"
#include "server/realtime/record_feed.h"
#include "server/record/black_box.h"

namespace tactus::record {

class OutFile;

struct RecordOptions {
  double seconds = 10;                    // simulated, kept at least where the memory allows. 0: no black box
  std::size_t memory_bytes = 64u << 20;   // for what is kept
  std::string folder;                     // empty: default_folder()
  std::uint32_t files = 100;              // that one run of the server may write
  std::uint32_t hash_every_ticks = 1000;  // 0: hashes only in keyframes
  int priority = 0;                       // SCHED_FIFO of the recorder's thread; 0: normal
};

// $XDG_STATE_HOME/tactus/black-box, ~/.local/state/tactus/black-box, or a folder for temporary files.
std::string default_folder();

// How often a state is kept, so that `seconds` of them fit: states of so many bodies and joints, in ticks of `step`,
// beside commands to all joints in each of them.
std::uint32_t state_every(std::size_t memory_bytes, double seconds, std::size_t bodies, std::size_t joints,
                          double step);

// What became of a request to save.
struct Saved {
  std::string error;  // empty: done
  std::string path;   // also of what was written before an error
  std::uint64_t bytes = 0, records = 0, first_tick = 0, last_tick = 0;
  bool full = false;  // refused: RecordOptions.files
};

struct RecorderStatus {
  double kept_s = 0;                             // simulated
  std::uint64_t bytes = 0;                       // in use
  std::uint64_t states_lost = 0, rows_lost = 0;  // since start: no room in a ring
  std::uint32_t state_every = 1, files = 0;
};

class Recorder {
 public:
  Recorder(const RecordOptions& options, RecordFeed& feed);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // False: a thread could not be created. avoid_cpu: the tick's processor, -1: none.
  [[nodiscard]] bool start(int avoid_cpu);
  void stop();  // what was asked for is written first

  // --- Net's thread
  // A new scene (header: what it is, without reason and times). Before the first of it: at start, or when the tick has
  // taken it.
  void begin(v1::RecordHeader header);
  // What net knows and the tick does not. Full: counted, not kept.
  void add(v1::Record&& record);
  // In lockstep this thread ticks: it empties the rings itself after each tick, because the recorder could not follow.
  void take_now();
  // Writes the box to a file, off this thread; `then` is called on the writer's. False: another one is being written.
  bool save(const std::string& reason, std::function<void(const Saved&)> then);
  // The same, unless one was written less than `seconds` ago: for causes that may repeat each tick.
  void save_once(const std::string& reason, std::function<void(const Saved&)> then);
  [[nodiscard]] RecorderStatus status();
  [[nodiscard]] const RecordOptions& options() const { return options_; }
  // After a failure of the tick, on the writer's thread, shortly before the process ends. Set before start().
  std::function<void(const Saved&)> on_fault_saved;

 private:
  static constexpr std::size_t kPiece = 1u << 18;  // copied out at once [bytes]
  static constexpr std::size_t kWaiting = 8192;    // net's records

  struct Wish {
    Wish(std::string why, std::function<void(const Saved&)> what) : reason(std::move(why)), then(std::move(what)) {}
    std::string reason;
    std::function<void(const Saved&)> then;
  };
  struct Piece {
    BlackBox::Entry entry;
    std::vector<std::byte> bytes;
  };

  void drain_loop();
  void write_loop();
  void drain();  // with the mutex held
  void drain_rows();
  void take_row(const RecordRow& row);
  void take_state(const StateSlot& slot);
  void begin_epoch(std::uint32_t epoch);
  v1::RecordHeader header_of_box();
  Saved write(const std::string& reason);
  void write_box(OutFile& file, Saved& saved);
  void copy_piece(std::uint64_t& position, std::uint64_t end, std::vector<Piece>& out, v1::RecordEnd& last);

  const RecordOptions options_;
  RecordFeed& feed_;
  Ring<v1::Record*> waiting_{kWaiting};  // net -> recorder; owned by whoever holds the pointer
  Counter waiting_lost_;

  std::mutex mutex_;  // what follows
  BlackBox box_;
  v1::RecordHeader header_;
  std::string scratch_;
  std::uint32_t epoch_ = 0;
  double time_ = 0;  // simulated time recorded, over resets and restores [s]
  std::uint64_t last_tick_ = 0;
  double step_ = 1e-3;
  std::uint64_t rows_lost_before_ = 0, states_lost_before_ = 0;  // of earlier scenes

  std::mutex wish_mutex_;
  std::condition_variable wished_;
  std::optional<Wish> wish_;
  bool writing_ = false, stopping_ = false, failed_ = false;
  std::uint64_t last_once_ns_ = 0;  // net's
  std::atomic<std::uint32_t> files_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> avoid_cpu_{-1};
  std::thread drainer_, writer_;
};

}  // namespace tactus::record
