// The recorder's recordings: their files begin and end; the ring between is RecordStream's.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "server/record/recorder.h"

namespace tactus::record {
namespace {

// run.mcap, run-2.mcap ...
std::string numbered(const std::string& path, std::uint32_t number) {
  if (number <= 1) return path;
  const std::filesystem::path whole(path);
  const std::string name = whole.stem().string() + "-" + std::to_string(number) + whole.extension().string();
  return (whole.parent_path() / name).string();
}

}  // namespace

std::string Recorder::start_recording(const std::string& path, const std::string& reason, double state_hz) {
  BlackBox ring(options_.stream_bytes);  // these two cost milliseconds, and so come before the lock
  std::vector<std::unique_ptr<RecordStream>> before;
  const std::lock_guard lock(mutex_);
  before = take_finished();
  if (course_) return "a recording runs already, to " + (stream_ != nullptr ? stream_->path() : course_->path);
  if (const std::string problem = too_many_ending(); !problem.empty()) return problem;
  drain();
  auto file = std::make_unique<OutFile>();
  if (path.empty()) {
    file->create(options_.record_folder, file_stem(unix_ns() / 1'000'000'000, header_.scene_name(), reason), false);
  } else {
    file->create(path);
  }
  if (!file->ok()) return file->error();
  course_ = Course{file->path(), reason, state_hz > 0 ? state_hz : options_.record_state_hz, 1};
  feed_.recording_failed = false;
  std::string problem;
  if (header_.scene_epoch() == 0 && header_.scene().empty()) {  // before the first scene
    opened_ = std::move(file);
  } else {
    problem = begin_stream(std::move(file), std::move(ring));
  }
  if (!problem.empty()) course_.reset();
  set_state_every();
  return problem;
}

std::string Recorder::too_many_ending() const {
  if (ending_.size() < kEnding) return "";
  return ending_.front()->path() + ": the disk has not taken it yet, nor those after it";
}

// file: null for a later file of the recording.
std::string Recorder::begin_stream(std::unique_ptr<OutFile> file, BlackBox ring) {
  if (stream_ != nullptr) return "";
  if (file == nullptr) {
    if (const std::string problem = too_many_ending(); !problem.empty()) return problem;
    file = std::make_unique<OutFile>();
    file->create(numbered(course_->path, ++course_->files));
    if (!file->ok()) return file->error();
  }
  stream_every_ = static_cast<std::uint32_t>(std::clamp(std::round(1 / (step_ * course_->state_hz)), 1.0, 1e6));
  v1::RecordHeader header = header_;
  header.set_reason(course_->reason);
  header.set_written_unix_ns(static_cast<std::uint64_t>(unix_ns()));
  header.set_state_every(stream_every_);
  file->count_into(&written_);
  stream_rows_lost_ = rows_lost();
  stream_states_lost_ = feed_.states_lost.read();
  stream_ = std::make_unique<RecordStream>(std::move(file), header, viewers(stream_every_), std::move(ring), time_,
                                           feed_.bytes_overtaken, [this](const Saved& saved) { recorded(saved); });
  if (stream_->start(avoid_cpu_)) return "";
  stream_.reset();
  return "the recording's thread could not be created: see ulimit -u and -v";
}

void Recorder::end_stream(bool for_good) {
  if (for_good) course_.reset();
  if (stream_ == nullptr) return;
  if (ring_lock_.owns_lock()) ring_lock_.unlock();  // amid a drain()
  v1::RecordEnd lost;
  lost.set_rows_lost(rows_lost() - stream_rows_lost_);
  lost.set_states_lost(feed_.states_lost.read() - stream_states_lost_);
  stream_->end(lost);
  ending_.push_back(std::move(stream_));
  set_state_every();
}

bool Recorder::stop_recording(std::function<void(const Saved&)> then) {
  const std::lock_guard lock(mutex_);
  if (!course_) return false;
  drain();
  {
    const std::lock_guard stopped(stopped_mutex_);
    stopped_ = std::move(then);
  }
  end_stream(true);
  return true;
}

bool Recorder::recording() {
  const std::lock_guard lock(mutex_);
  return course_.has_value();
}

// On the recording's thread: it was stopped, or the file could not be written.
void Recorder::recorded(const Saved& saved) {
  if (!saved.error.empty()) any_failed_ = feed_.recording_failed = true;
  if (on_recorded) on_recorded(saved);
  std::function<void(const Saved&)> then;
  {
    const std::lock_guard stopped(stopped_mutex_);
    then = std::exchange(stopped_, nullptr);
  }
  if (then) then(saved);
}

// Destroyed after the lock.
std::vector<std::unique_ptr<RecordStream>> Recorder::take_finished() {
  std::vector<std::unique_ptr<RecordStream>> out;
  for (auto& stream : ending_)
    if (stream->finished()) out.push_back(std::move(stream));
  std::erase(ending_, nullptr);
  return out;
}

// The tick is no more: what came before that stands in the file when this returns.
void Recorder::end_after_fault() {
  std::vector<std::unique_ptr<RecordStream>> ended;
  {
    const std::lock_guard lock(mutex_);
    drain();
    end_stream(true);
    ended = std::move(ending_);
    ending_.clear();
  }
}

}  // namespace tactus::record
