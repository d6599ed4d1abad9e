// One recording that goes to its file as it comes: a ring that the recorder fills, and a thread that empties it into
// the file. A chunk is closed at least twice a second, so that a crash loses no more. A ring that runs over loses its
// oldest entries: counted, and marked in the file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "record.pb.h"
#include "server/record/black_box.h"
#include "server/record/record_files.h"
#include "server/record/record_writer.h"
#include "server/record/viewer_frames.h"

namespace tactus::record {

// What became of a request to save or of a recording.
struct Saved {
  std::string error;  // empty: done
  std::string path;   // also of what was written before an error
  std::uint64_t bytes = 0, records = 0, first_tick = 0, last_tick = 0;
  std::uint64_t bytes_overtaken = 0;  // of the ring, before they were written
  bool full = false;                  // refused: RecordOptions.files
};

// Entries of a ring become records, in a file that is open; counts what it has seen.
class EntryWriter {
 public:
  EntryWriter(OutFile& file, const v1::RecordHeader& header, double first_time, const ViewerOptions& viewers)
      : file_(file),
        writer_(header),
        frames_(writer_, viewers, header.written_unix_ns()),
        start_ns_(header.written_unix_ns()),
        first_time_(first_time) {}
  void add(const BlackBox::Entry& entry, Bytes bytes);
  void add_lost_mark();  // entries are missing here
  void flush();          // what was added stands in the file
  void finish(const v1::RecordEnd& end);
  void report(Saved& out) const;
  [[nodiscard]] bool pending() const { return writer_.pending(); }

 private:
  void write_out();

  OutFile& file_;
  RecordWriter writer_;
  ViewerFrames frames_;
  v1::Record record_;
  std::uint64_t start_ns_, last_ns_ = 0;
  double first_time_;
  std::uint64_t first_tick_ = 0, last_tick_ = 0;
  bool any_state_ = false;
};

class RecordStream {
 public:
  using Then = std::function<void(const Saved&)>;

  // header.written_unix_ns: when it begins. time: of entries to come, simulated [s]. on_end: once, on the stream's
  // thread, after the file was closed, asked for or because it could not be written any more.
  // overtaken: bytes that the ring lost, counted up.
  RecordStream(std::unique_ptr<OutFile> file, const v1::RecordHeader& header, ViewerOptions viewers, BlackBox ring,
               double time, std::atomic<std::uint64_t>& overtaken, Then on_end);
  ~RecordStream();  // ends it, and waits for the disk
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;
  // avoid_cpu: the tick's processor once it is known, -1: none.
  [[nodiscard]] bool start(const std::atomic<int>& avoid_cpu);

  // --- The recorder: appends to ring() while it holds lock().
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  [[nodiscard]] BlackBox& ring() { return ring_; }
  // After appending: what the ring gave up before it was written is counted now, not when the disk answers again.
  void note_overtaken();
  // Lockstep: until there is room again, at most a second.
  void wait_for_room();
  // What was appended is written, and the file closed, on the stream's thread. lost: for its end.
  void end(const v1::RecordEnd& lost);

  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] bool finished() const { return finished_.load(std::memory_order_acquire); }  // and on_end has returned
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t bytes() const { return file_->bytes(); }
  [[nodiscard]] std::uint64_t bytes_overtaken() const { return overtaken_.load(std::memory_order_relaxed); }

 private:
  void run();
  bool write_piece(EntryWriter& out);

  static constexpr std::size_t kPiece = 1u << 18;  // copied out at once [bytes]

  std::unique_ptr<OutFile> file_;
  const v1::RecordHeader header_;
  const ViewerOptions viewers_;
  const double first_time_;
  const std::string path_;
  const Then on_end_;
  std::mutex mutex_;  // ring_, position_, end_, stopping_
  std::condition_variable changed_;
  BlackBox ring_;
  std::uint64_t position_ = 0;
  v1::RecordEnd end_;
  bool stopping_ = false, lost_ = false;  // lost_: to be marked in the file
  std::atomic<bool> ended_{false}, finished_{false};
  std::atomic<std::uint64_t> overtaken_{0};
  std::atomic<std::uint64_t>& overtaken_total_;
  std::vector<std::byte> piece_;
  const std::atomic<int>* avoid_cpu_ = nullptr;
  std::thread thread_;
};

}  // namespace tactus::record
