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
#include "server/record/record_stream.h"
#include "server/record/viewer_frames.h"

namespace tactus::record {

struct RecordOptions {
  double seconds = 10;                    // simulated, kept at least where the memory allows. 0: no black box
  std::size_t memory_bytes = 64u << 20;   // for what is kept
  std::string folder;                     // empty: default_folder()
  std::uint32_t files = 100;              // that one run of the server may write
  std::uint32_t hash_every_ticks = 1000;  // 0: hashes only in keyframes
  int priority = 0;                       // SCHED_FIFO of the recorder's thread; 0: normal
  // Recordings on request.
  std::string record_folder;             // clients may have files made there; empty: nowhere
  double viewer_hz = 60;                 // frames for viewers that know Foxglove's schemas; 0: none
  double record_state_hz = 1000;         // states of a second of simulated time, where nobody asks otherwise
  std::size_t stream_bytes = 32u << 20;  // what a recording may lag behind
};

// $STATE_DIRECTORY/black-box, $XDG_STATE_HOME/tactus/black-box, ~/.local/state/tactus/black-box, or a folder for
// temporary files.
std::string default_folder();

// How often a state is kept, so that `seconds` of them fit: states of so many bodies and joints, in ticks of `step`,
// beside commands to all joints in each of them.
std::uint32_t state_every(std::size_t memory_bytes, double seconds, std::size_t bodies, std::size_t joints,
                          double step);

struct RecorderStatus {
  double kept_s = 0;                             // simulated
  std::uint64_t bytes = 0;                       // in use
  std::uint64_t states_lost = 0, rows_lost = 0;  // since start: no room in a ring
  std::uint32_t state_every = 1, files = 0;
  // Of the recording that runs.
  std::string path;  // empty: none
  std::uint64_t recorded_bytes = 0, bytes_overtaken = 0;
  std::uint64_t written_bytes = 0, overtaken_bytes = 0;  // since start, of all files
  std::uint32_t recorded_state_every = 1;
};

class Recorder {
 public:
  static constexpr double kPatience_s = 5;  // for a disk that takes nothing, at the end

  Recorder(const RecordOptions& options, RecordFeed& feed);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // False: a thread could not be created. avoid_cpu: the tick's processor, -1: none.
  [[nodiscard]] bool start(int avoid);
  void avoid_cpu(int cpu) { avoid_cpu_ = cpu; }  // once it is known
  // What was asked for is written first, for as long as the disk takes it. Gives the files at which nothing more
  // arrived for kPatience: threads are still writing them, and neither this nor what it uses may be destroyed any more.
  [[nodiscard]] std::vector<std::string> stop();

  // --- Net's thread
  // A new scene (header: what it is, without reason and times). Before the first of it: at start, or when the tick has
  // taken it.
  // drawing: for viewers' frames; null: none.
  void begin(v1::RecordHeader header, std::shared_ptr<const FoxgloveScene> drawing = nullptr);
  // What net knows and the tick does not. Full: counted, not kept.
  void add(v1::Record&& record);
  // In lockstep this thread ticks: it empties the rings itself after each tick, because the recorder could not follow.
  void take_now();
  // Writes the box to a file, off this thread; `then` is called on the writer's. False: another one is being written.
  bool save(const std::string& reason, std::function<void(const Saved&)> then);
  // The same, unless one was written less than `seconds` ago: for causes that may repeat each tick.
  void save_once(const std::string& reason, std::function<void(const Saved&)> then);
  // A recording of all that comes from now on, until stop_recording(): to `path`, or FOLDER/STEM-of-now.mcap when it is
  // empty. A new scene goes on in a file of its own. Gives what is wrong, empty: nothing.
  [[nodiscard]] std::string start_recording(const std::string& path, const std::string& reason, double state_hz);
  // False: none runs. `then` is called on the recording's thread.
  bool stop_recording(std::function<void(const Saved&)> then);
  [[nodiscard]] bool recording();
  // A recording of this run could not be written to its end.
  [[nodiscard]] bool any_failed() const { return any_failed_; }
  // Each file of a recording that has ended, on its thread. Set before start().
  std::function<void(const Saved&)> on_recorded;
  [[nodiscard]] RecorderStatus status();
  [[nodiscard]] const RecordOptions& options() const { return options_; }
  // After a failure of the tick, on the writer's thread, shortly before the process ends. Set before start().
  std::function<void(const Saved&)> on_fault_saved;

 private:
  static constexpr int kAllStates = 1 << 30;       // more than the belt holds
  static constexpr std::size_t kPiece = 1u << 18;  // copied out at once [bytes]
  static constexpr std::size_t kWaiting = 32768;   // net's records
  static constexpr std::size_t kEnding = 4;        // recordings that the disk has not taken yet

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
  void take_states(std::uint64_t beat, int count);
  void take_row(const RecordRow& row);
  void take_state(const StateFrame& frame, Bytes state);
  void begin_epoch(std::uint32_t epoch);
  v1::RecordHeader header_of_box();
  [[nodiscard]] ViewerOptions viewers(std::uint32_t state_every) const;
  Saved write(const std::string& reason);
  void write_box(OutFile& file, EntryWriter& out);
  void copy_piece(std::uint64_t& position, std::uint64_t end, std::vector<Piece>& out, v1::RecordEnd& last);
  void keep_row(const RecordRow& row);
  std::uint64_t rows_lost() const { return feed_.rows_lost.read() + waiting_lost_.read(); }
  // Recordings; with the mutex held.
  struct Course {  // of a recording over its files
    std::string path, reason;
    double state_hz = 0;
    std::uint32_t files = 0;
  };
  std::string begin_stream(std::unique_ptr<OutFile> file, BlackBox ring);
  [[nodiscard]] std::string too_many_ending() const;
  [[nodiscard]] std::vector<std::unique_ptr<RecordStream>> take_finished();
  [[nodiscard]] std::vector<std::string> wait_for_files();
  void end_stream(bool for_good);
  void set_state_every();
  void end_after_fault();
  void recorded(const Saved& saved);

  const RecordOptions options_;
  RecordFeed& feed_;
  Ring<v1::Record*> waiting_{kWaiting};  // net -> recorder; owned by whoever holds the pointer
  Counter waiting_lost_;

  std::mutex mutex_;  // what follows
  BlackBox box_;
  v1::RecordHeader header_;
  std::shared_ptr<const FoxgloveScene> drawing_;
  std::string scratch_;
  std::uint32_t epoch_ = 0;
  double time_ = 0;  // simulated time recorded, over resets and restores [s]
  std::uint64_t last_tick_ = 0;
  double step_ = 1e-3;
  std::uint64_t rows_lost_before_ = 0, states_lost_before_ = 0;  // of earlier scenes
  std::uint64_t rows_lost_seen_ = 0;                             // marked
  std::uint32_t box_every_ = 1, stream_every_ = 1;               // ticks
  std::optional<Course> course_;                                 // a recording was asked for
  std::unique_ptr<OutFile> opened_;                              // its file, before the first scene
  std::unique_ptr<RecordStream> stream_;
  std::vector<std::unique_ptr<RecordStream>> ending_;            // what came is still being written
  std::unique_lock<std::mutex> ring_lock_;                       // of stream_, during drain()
  std::uint64_t stream_rows_lost_ = 0, stream_states_lost_ = 0;  // before it
  std::function<void(const Saved&)> stopped_;
  std::mutex stopped_mutex_;  // stopped_

  std::mutex wish_mutex_;
  std::condition_variable wished_;
  std::optional<Wish> wish_;
  bool writing_ = false, stopping_ = false, failed_ = false, writer_runs_ = false;
  std::string writing_path_;
  std::uint64_t last_once_ns_ = 0;  // net's
  std::atomic<std::uint32_t> files_{0};
  std::atomic<std::uint64_t> written_{0};  // bytes of all files
  std::atomic<bool> any_failed_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> avoid_cpu_{-1};
  std::thread drainer_, writer_;
};

}  // namespace tactus::record
