#include "server/record/recorder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <utility>

#include "server/realtime/clock.h"
#include "server/realtime/rights.h"
#include "server/record/record_codec.h"
#include "server/record/record_files.h"

namespace tactus::record {
namespace {

constexpr double kKeyframeRoom_s = 1.5;  // beyond `seconds`, so that a keyframe stands at or before their begin
constexpr double kStatesShare = 0.8;     // of the memory; the rest is for rows, commands, keyframes
constexpr double kStatesLeast = 0.3;     // of that share, however many joints are commanded in each tick
constexpr std::uint64_t kPollNs = 2'000'000;
constexpr std::uint32_t kNever = 1u << 31;  // ticks

void sleep_for(std::uint64_t ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

}  // namespace

std::string default_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string service = variable("STATE_DIRECTORY");  // of a systemd unit: one or more, between colons
  if (!service.empty()) return service.substr(0, service.find(':')) + "/black-box";
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty()) return state + "/tactus/black-box";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.local/state/tactus/black-box";
  std::error_code ignored;
  return (std::filesystem::temp_directory_path(ignored) / "tactus-black-box").string();
}

std::uint32_t state_every(std::size_t memory_bytes, double seconds, std::size_t bodies, std::size_t joints,
                          double step) {
  const double ticks = std::ceil((seconds + kKeyframeRoom_s) / std::max(step, 1e-9));
  const double rows = ticks * static_cast<double>(joints * joint_row_bytes());
  const double room = kStatesShare * static_cast<double>(memory_bytes);
  const double needed = ticks * static_cast<double>(state_bytes(bodies, joints));
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(needed / std::max(room - rows, kStatesLeast * room)), 1.0, 1e6));
}

Recorder::Recorder(const RecordOptions& options, RecordFeed& feed)
    : options_(options), feed_(feed), box_(options.memory_bytes) {
  box_.keep(options_.seconds + kKeyframeRoom_s);
}

Recorder::~Recorder() {
  [[maybe_unused]] const std::vector<std::string> stuck = stop();
  if (writer_.joinable()) writer_.join();
  v1::Record* record = nullptr;
  while (waiting_.pop(record)) delete record;
}

bool Recorder::start(int avoid) {
  avoid_cpu(avoid);
  try {
    drainer_ = std::thread([this] { drain_loop(); });
    writer_runs_ = true;
    writer_ = std::thread([this] { write_loop(); });
  } catch (const std::system_error&) {
    writer_runs_ = false;
    [[maybe_unused]] const std::vector<std::string> none = stop();
    return false;
  }
  return true;
}

std::vector<std::string> Recorder::stop() {
  stop_ = true;
  {
    const std::lock_guard lock(wish_mutex_);
    stopping_ = true;
  }
  wished_.notify_all();
  if (drainer_.joinable()) drainer_.join();
  {
    const std::lock_guard lock(mutex_);
    drain();
    end_stream(true);
  }
  std::vector<std::string> stuck = wait_for_files();
  if (!stuck.empty()) return stuck;
  if (writer_.joinable()) writer_.join();
  ending_.clear();
  return stuck;
}

// Until the threads that write have ended, or nothing of what they write has arrived for a while.
std::vector<std::string> Recorder::wait_for_files() {
  std::uint64_t seen = written_, since = now_ns();
  while (true) {
    std::vector<std::string> left;
    for (const auto& stream : ending_)
      if (!stream->finished()) left.push_back(stream->path());
    {
      const std::lock_guard lock(wish_mutex_);
      if (writer_runs_) left.push_back(writing_path_);
    }
    if (left.empty()) return left;
    if (const std::uint64_t before = std::exchange(seen, written_.load()); seen != before) since = now_ns();
    if (static_cast<double>(now_ns() - since) > 1e9 * kPatience_s) return left;
    sleep_for(kPollNs);
  }
}

// --- The black box

void Recorder::begin(v1::RecordHeader header, std::shared_ptr<const FoxgloveScene> drawing) {
  BlackBox ring(recording() ? options_.stream_bytes : 0);  // these two cost milliseconds, and so come before the lock
  std::vector<std::unique_ptr<RecordStream>> before;
  const std::lock_guard lock(mutex_);
  drain();  // what is still of the old scene goes with it
  begin_epoch(header.scene_epoch());
  before = take_finished();
  step_ = header.step_s();
  const std::uint32_t every =
      state_every(options_.memory_bytes, options_.seconds, static_cast<std::size_t>(header.bodies_size()),
                  static_cast<std::size_t>(header.joints_size()), step_);
  header.set_state_every(every);
  header.set_hash_every_ticks(options_.hash_every_ticks);
  box_every_ = every;
  header_ = std::move(header);
  drawing_ = std::move(drawing);
  if (course_) {
    const std::string problem = begin_stream(std::move(opened_), std::move(ring));
    if (!problem.empty()) {
      recorded({problem, course_->path, 0, 0, 0, 0, 0, false});
      course_.reset();
    }
  }
  set_state_every();
}

void Recorder::set_state_every() {
  std::uint32_t every = 0;  // gcd(0, n) = n
  if (options_.seconds > 0) every = box_every_;
  if (stream_ != nullptr) every = std::gcd(every, stream_every_);
  feed_.state_every.store(every == 0 ? kNever : every, std::memory_order_relaxed);
  // Contacts with those states that become frames of viewers: of the recording's, or else of the box's.
  feed_.contacts_every.store(viewers(stream_ != nullptr ? stream_every_ : box_every_).every, std::memory_order_relaxed);
}

// Whole periods of the states that are kept.
ViewerOptions Recorder::viewers(std::uint32_t state_every) const {
  if (drawing_ == nullptr || options_.viewer_hz <= 0) return {};
  const double ticks = std::ceil(1 / (options_.viewer_hz * std::max(step_, 1e-9)) - 1e-9);
  const double kept = std::ceil(ticks / state_every) * state_every;
  return {drawing_, static_cast<std::uint32_t>(std::clamp(kept, 1.0, 1e9))};
}

void Recorder::begin_epoch(std::uint32_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  end_stream(false);
  box_.clear();
  last_tick_ = 0;
  rows_lost_before_ = rows_lost();
  states_lost_before_ = feed_.states_lost.read();
}

void Recorder::add(v1::Record&& record) {
  auto kept = std::make_unique<v1::Record>(std::move(record));
  if (waiting_.push(kept.get())) {
    [[maybe_unused]] const v1::Record* taken = kept.release();
  } else {
    waiting_lost_.add();
  }
}

void Recorder::take_now() {
  RecordStream* stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    drain();
    stream = stream_.get();  // only this thread, net's, lets it go
  }
  if (stream != nullptr) stream->wait_for_room();
}

void Recorder::drain() {
  if (stream_ != nullptr && stream_->ended()) end_stream(true);  // it could not be written any more
  if (stream_ != nullptr) ring_lock_ = stream_->lock();
  const bool lost = std::exchange(rows_lost_seen_, rows_lost()) != rows_lost();
  RecordRow gap;  // the rows before it, or some of them, came before the gap, those after it later
  gap.kind = RecordRow::Kind::lost;
  gap.tick = last_tick_;
  if (lost) keep_row(gap);
  drain_rows();
  if (lost) keep_row(gap);
  while (!feed_.states.front().empty()) {
    drain_rows();  // of a tick they come before its state: here, too
    take_states(~std::uint64_t{0}, 1);
  }
  v1::Record* record = nullptr;
  while (waiting_.pop(record)) {
    const std::unique_ptr<v1::Record> kept(record);
    scratch_.clear();
    kept->AppendToString(&scratch_);
    const Bytes bytes = std::as_bytes(std::span(scratch_));
    const auto kind = static_cast<std::uint16_t>(Kind::message);
    bool kept_all = options_.seconds <= 0 || box_.append(kind, time_, {bytes});
    if (stream_ != nullptr) kept_all = stream_->ring().append(kind, time_, {bytes}) && kept_all;
    if (!kept_all) waiting_lost_.add();
  }
  if (stream_ != nullptr && ring_lock_.owns_lock()) stream_->note_overtaken();
  if (ring_lock_.owns_lock()) ring_lock_.unlock();
}

void Recorder::drain_rows() {
  RecordRow row;
  while (feed_.rows.pop(row)) {
    const bool jump = row.kind == RecordRow::Kind::notice && row.what == Notice::Kind::done && row.ok &&
                      (row.command == Command::Kind::reset || row.command == Command::Kind::restore);
    if (jump) take_states(static_cast<std::uint64_t>(row.value[0]), kAllStates);  // they stand before it
    take_row(row);
  }
}

// At most so many, up to this beat.
void Recorder::take_states(std::uint64_t beat, int count) {
  for (; count > 0; --count) {
    const Bytes state = feed_.states.front();
    if (state.empty()) return;
    StateFrame frame;
    std::memcpy(&frame, state.data(), sizeof frame);
    if (frame.beat > beat) return;
    if (frame.epoch == epoch_) take_state(frame, state);
    feed_.states.pop();
  }
}

void Recorder::take_row(const RecordRow& row) {
  const bool new_scene = row.kind == RecordRow::Kind::notice && row.what == Notice::Kind::done &&
                         row.command == Command::Kind::swap_world && row.ok;
  if (new_scene) begin_epoch(row.epoch);
  if (row.epoch != epoch_) return;
  keep_row(row);
}

void Recorder::keep_row(const RecordRow& row) {
  if (options_.seconds > 0) append_row(box_, time_, row);
  if (stream_ != nullptr) append_row(stream_->ring(), time_, row);
}

void Recorder::take_state(const StateFrame& frame, Bytes state) {
  const std::uint64_t tick = frame.tick;
  if (tick > last_tick_) time_ += step_ * static_cast<double>(std::min<std::uint64_t>(tick - last_tick_, 1000));
  last_tick_ = tick;
  const bool last = (frame.status_bits & kStatusFault) != 0;
  if (options_.seconds > 0 && (tick % box_every_ == 0 || last)) append_state(box_, time_, state);
  if (stream_ != nullptr && (tick % stream_every_ == 0 || last)) append_state(stream_->ring(), time_, state);
}

void Recorder::drain_loop() {
  pthread_setname_np(pthread_self(), "tactus-recorder");
  set_helper_priority(0);
  ask_for_a_larger_share();
  int avoided = avoid_cpu_;
  [[maybe_unused]] Rights rights = ask_for_helper_rights(options_.priority, avoided);
  while (!stop_) {
    if (std::exchange(avoided, avoid_cpu_.load()) != avoid_cpu_)
      rights = ask_for_helper_rights(options_.priority, avoided);
    double step = 0;
    {
      const std::lock_guard lock(mutex_);
      drain();
      step = step_;
    }
    if (feed_.failed.load(std::memory_order_acquire)) {
      const std::lock_guard lock(wish_mutex_);
      failed_ = true;
      wished_.notify_all();
      return;  // the tick is no more
    }
    sleep_for(std::min(kPollNs, static_cast<std::uint64_t>(2e9 * step)));
  }
}

// --- Files

bool Recorder::save(const std::string& reason, std::function<void(const Saved&)> then) {
  const std::lock_guard lock(wish_mutex_);
  if (writing_ || wish_ || stopping_ || failed_) return false;
  wish_.emplace(reason, std::move(then));
  wished_.notify_all();
  return true;
}

void Recorder::save_once(const std::string& reason, std::function<void(const Saved&)> then) {
  const std::uint64_t now = now_ns();
  if (last_once_ns_ != 0 && static_cast<double>(now - last_once_ns_) < 1e9 * options_.seconds) return;
  if (save(reason, std::move(then))) last_once_ns_ = now;
}

void Recorder::write_loop() {
  pthread_setname_np(pthread_self(), "tactus-record-w");
  set_helper_priority(0);
  [[maybe_unused]] const Rights rights = ask_for_helper_rights(0, avoid_cpu_);
  std::unique_lock lock(wish_mutex_);
  while (true) {
    wished_.wait(lock, [this] { return wish_ || stopping_ || (failed_ && !feed_.saved); });
    const bool fault = failed_ && !feed_.saved;
    if (!wish_ && !fault) break;
    const Wish wish = fault ? Wish{"fault", nullptr} : *std::exchange(wish_, std::nullopt);
    writing_ = true;
    lock.unlock();
    if (fault) end_after_fault();
    const Saved saved = fault && options_.seconds <= 0 ? Saved{} : write(wish.reason);
    if (fault && on_fault_saved && options_.seconds > 0) on_fault_saved(saved);
    lock.lock();
    writing_ = false;
    writing_path_.clear();
    if (fault) feed_.saved.store(true, std::memory_order_release);
    if (!wish.then) continue;
    // Whoever is told may ask again at once.
    lock.unlock();
    wish.then(saved);
    lock.lock();
  }
  writer_runs_ = false;
}

// Between the tick's taking a new scene and net's telling which, there is none: that lasts milliseconds.
v1::RecordHeader Recorder::header_of_box() {
  for (int tries = 0;; ++tries) {
    {
      const std::lock_guard lock(mutex_);
      if (header_.scene_epoch() == epoch_ || tries == 100) return header_;
    }
    sleep_for(kPollNs);
  }
}

RecorderStatus Recorder::status() {
  const std::lock_guard lock(mutex_);
  RecorderStatus out;
  out.kept_s = box_.tail() < box_.head() ? time_ - box_.oldest_time() : 0;
  out.bytes = box_.head() - box_.tail();
  out.states_lost = feed_.states_lost.read();
  out.rows_lost = rows_lost();
  out.state_every = feed_.state_every.load(std::memory_order_relaxed);
  out.files = files_;
  out.written_bytes = written_;
  out.overtaken_bytes = feed_.bytes_overtaken.load(std::memory_order_relaxed);
  if (stream_ != nullptr) {
    out.path = stream_->path();
    out.recorded_bytes = stream_->bytes();
    out.bytes_overtaken = stream_->bytes_overtaken();
    out.recorded_state_every = stream_every_;
  }
  return out;
}

Saved Recorder::write(const std::string& reason) {
  Saved saved;
  if (files_ >= options_.files) {
    saved.full = true;
    saved.error = "this run has written as many files as it may (" + std::to_string(options_.files) +
                  ", black_box.files): restart the server, or raise the key";
    return saved;
  }
  v1::RecordHeader header = header_of_box();
  const std::int64_t now = unix_ns();
  header.set_reason(reason);
  header.set_written_unix_ns(static_cast<std::uint64_t>(now));
  OutFile file;
  file.count_into(&written_);
  {
    const std::lock_guard lock(wish_mutex_);
    writing_path_ = "a black box in " + (options_.folder.empty() ? default_folder() : options_.folder);
  }
  file.create(options_.folder.empty() ? default_folder() : options_.folder,
              file_stem(now / 1'000'000'000, header.scene_name(), reason), true);
  if (file.ok()) ++files_;
  double oldest = 0;
  ViewerOptions drawing;
  {
    const std::lock_guard lock(mutex_);
    drawing = viewers(box_every_);
    oldest = box_.tail() < box_.head() ? box_.oldest_time() : 0;
    header.set_written_unix_ns(header.written_unix_ns() - static_cast<std::uint64_t>(1e9 * (time_ - oldest)));
  }
  EntryWriter out(file, header, oldest, drawing);
  out.flush();
  write_box(file, out);
  file.close();
  out.report(saved);
  return saved;
}

// In pieces: the box goes on being filled meanwhile, and the disk may be slow.
void Recorder::write_box(OutFile& file, EntryWriter& out) {
  std::vector<Piece> piece;
  std::uint64_t position = 0, end = 0;
  v1::RecordEnd last;
  {
    const std::lock_guard lock(mutex_);
    drain();
    position = box_.tail();
    end = box_.head();
    last.set_states_lost(feed_.states_lost.read() - states_lost_before_);
    last.set_rows_lost(rows_lost() - rows_lost_before_);
  }
  while (position < end && file.ok()) {
    const std::uint64_t overtaken = last.bytes_overtaken();
    copy_piece(position, end, piece, last);
    if (last.bytes_overtaken() != overtaken) out.add_lost_mark();
    for (const Piece& entry : piece) out.add(entry.entry, entry.bytes);
  }
  out.finish(last);
}

void Recorder::copy_piece(std::uint64_t& position, std::uint64_t end, std::vector<Piece>& out, v1::RecordEnd& last) {
  out.clear();
  std::size_t copied = 0;
  const std::lock_guard lock(mutex_);
  if (position < box_.tail()) {
    last.set_bytes_overtaken(last.bytes_overtaken() + std::min(box_.tail(), end) - position);
    position = box_.tail();
  }
  Piece piece;
  Bytes bytes;
  while (copied < kPiece && position < end && box_.at(position, end, piece.entry, bytes)) {
    piece.bytes.assign(bytes.begin(), bytes.end());
    copied += bytes.size();
    out.push_back(piece);
  }
}

}  // namespace tactus::record
