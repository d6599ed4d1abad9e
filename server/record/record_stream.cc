#include "server/record/record_stream.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "server/realtime/clock.h"
#include "server/realtime/rights.h"
#include "server/record/record_codec.h"

namespace tactus::record {
namespace {

constexpr std::uint64_t kFlushNs = 400'000'000;
constexpr auto kPoll = std::chrono::milliseconds(10);

}  // namespace

// --- EntryWriter

void EntryWriter::write_out() {
  const std::string bytes = writer_.take();
  if (!bytes.empty()) file_.write(bytes);
}

void EntryWriter::add(const BlackBox::Entry& entry, Bytes bytes) {
  if (!to_record(entry, bytes, record_)) return;
  if (record_.has_state()) {
    if (!std::exchange(any_state_, true)) first_tick_ = record_.state().tick();
    last_tick_ = record_.state().tick();
  }
  last_ns_ = start_ns_ + static_cast<std::uint64_t>(std::llround(1e9 * std::max(0.0, entry.time - first_time_)));
  writer_.add(record_, last_ns_);
  if (record_.has_state()) frames_.add(record_.state(), last_ns_);
  write_out();
}

void EntryWriter::add_lost_mark() {
  record_.Clear();
  record_.mutable_mark()->set_kind(v1::TickMark::LOST);
  record_.mutable_mark()->set_tick(last_tick_);
  writer_.add(record_, last_ns_);
}

void EntryWriter::flush() {
  writer_.flush();
  write_out();
}

void EntryWriter::finish(const v1::RecordEnd& end) {
  writer_.finish(end, last_ns_);
  write_out();
}

void EntryWriter::report(Saved& out) const {
  out.path = file_.path();
  out.error = file_.error();
  out.bytes = file_.bytes();
  out.records = writer_.records();
  out.first_tick = first_tick_;
  out.last_tick = last_tick_;
}

// --- RecordStream

RecordStream::RecordStream(std::unique_ptr<OutFile> file, const v1::RecordHeader& header, ViewerOptions viewers,
                           BlackBox ring, double time, std::atomic<std::uint64_t>& overtaken, Then on_end)
    : file_(std::move(file)),
      header_(header),
      viewers_(std::move(viewers)),
      first_time_(time),
      path_(file_->path()),
      on_end_(std::move(on_end)),
      ring_(std::move(ring)),
      overtaken_total_(overtaken) {}

RecordStream::~RecordStream() {
  end(v1::RecordEnd());
  if (thread_.joinable()) thread_.join();
}

bool RecordStream::start(const std::atomic<int>& avoid_cpu) {
  avoid_cpu_ = &avoid_cpu;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void RecordStream::wait_for_room() {
  std::unique_lock waiting(mutex_);
  if (ring_.head() - position_ < ring_.capacity() / 2) return;
  changed_.notify_all();
  changed_.wait_for(waiting, std::chrono::seconds(1),
                    [this] { return ended() || ring_.head() - position_ < ring_.capacity() / 4; });
}

void RecordStream::note_overtaken() {
  if (position_ >= ring_.tail()) return;
  const std::uint64_t bytes = ring_.tail() - position_;
  overtaken_.fetch_add(bytes, std::memory_order_relaxed);
  overtaken_total_.fetch_add(bytes, std::memory_order_relaxed);
  position_ = ring_.tail();
  lost_ = true;
}

void RecordStream::end(const v1::RecordEnd& lost) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  end_ = lost;
  changed_.notify_all();
}

// Copies a piece out under the lock and encodes it without. False: there was nothing.
bool RecordStream::write_piece(EntryWriter& out) {
  piece_.clear();
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    note_overtaken();
    lost = std::exchange(lost_, false);
    BlackBox::Entry entry;
    Bytes bytes;
    while (piece_.size() < kPiece && position_ < ring_.head() && ring_.at(position_, ring_.head(), entry, bytes)) {
      const Bytes head = std::as_bytes(std::span(&entry, 1));
      piece_.insert(piece_.end(), head.begin(), head.end());
      piece_.insert(piece_.end(), bytes.begin(), bytes.end());
    }
    changed_.notify_all();
  }
  if (lost) out.add_lost_mark();
  for (std::size_t at = 0; at < piece_.size();) {
    BlackBox::Entry entry;
    std::memcpy(&entry, &piece_[at], sizeof entry);
    at += sizeof entry;
    out.add(entry, Bytes(piece_).subspan(at, entry.size));
    at += entry.size;
  }
  return !piece_.empty();
}

void RecordStream::run() {
  pthread_setname_np(pthread_self(), "tactus-record-s");
  set_helper_priority(0);
  int avoided = *avoid_cpu_;
  [[maybe_unused]] Rights rights = ask_for_helper_rights(0, avoided);
  ask_for_a_larger_share();
  EntryWriter out(*file_, header_, first_time_, viewers_);
  out.flush();
  std::uint64_t flushed_ns = now_ns();
  while (file_->ok()) {
    if (std::exchange(avoided, avoid_cpu_->load()) != avoided) rights = ask_for_helper_rights(0, avoided);
    const bool any = write_piece(out);
    if (now_ns() - flushed_ns >= kFlushNs) {
      if (out.pending()) out.flush();
      flushed_ns = now_ns();
    }
    if (any) continue;
    std::unique_lock waiting(mutex_);
    if (position_ < ring_.head()) continue;
    if (stopping_) break;
    changed_.wait_for(waiting, kPoll);
  }
  v1::RecordEnd last;
  {
    const std::lock_guard lock(mutex_);
    last = end_;
  }
  last.set_bytes_overtaken(overtaken_);
  out.finish(last);
  file_->close();
  Saved saved;
  out.report(saved);
  saved.bytes_overtaken = overtaken_;
  ended_.store(true, std::memory_order_release);
  changed_.notify_all();
  if (on_end_) on_end_(saved);
  finished_.store(true, std::memory_order_release);
}

}  // namespace tactus::record
