#include "server/session/session.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

bool Subscriber::due(std::uint64_t tick, std::uint64_t beat, bool advanced) noexcept {
  const std::uint64_t n = spec_.decimation;
  const bool first = last_tick_ == ~std::uint64_t{0};
  const bool jumped = tick < last_tick_;  // reset, restore
  const bool is_due = first || jumped || (advanced ? tick / n != last_tick_ / n : beat / n != last_beat_ / n);
  if (!is_due) return false;
  last_tick_ = tick;
  last_beat_ = beat;
  return true;
}

void Session::add_verdict(const VerdictRecord& verdict) noexcept {
  std::copy_backward(verdicts_.begin(), verdicts_.end() - 1, verdicts_.end());
  verdicts_[0] = verdict;
  log.add(verdict);
  verdict_count_ = std::min(verdict_count_ + 1, verdicts_.size());
  TACTUS_ASSERT(verdict.code < kVerdictCodes);
  ++counters.by_code[verdict.code];
  if (verdict.code == 1 || verdict.code == 2 || verdict.code == 5) {
    ++counters.commands_applied;
    command_age_ns.record(std::uint64_t{1000} * verdict.age_us);
    if (watch) watch->applied(verdict.age_us);
  } else if (verdict.code >= 10) {
    ++counters.commands_refused;
  }
}

void Session::saw_command(const CommandStamps& stamps, std::uint64_t now_ns) {
  if (!watch) watch = std::make_unique<LinkWatch>();
  watch->command(stamps, now_ns);
}

void Session::saw_heartbeat(const CommandStamps& stamps, std::uint64_t now_ns) noexcept {
  if (watch) watch->heartbeat(stamps, now_ns);
}

void Session::saw_request(std::uint64_t now_ns) noexcept {
  if (watch) watch->request(now_ns);
}

void Session::released() noexcept {
  if (watch) watch->end();
}

void Session::sent_tick(const TickStamps& stamps) noexcept {
  if (watch) watch->tick(stamps, window.accepted(), window.gaps(), counters.commands_refused);
}

void Session::saw_datagram(std::uint64_t sequence, std::uint64_t client_send_ns, std::uint64_t now_ns) noexcept {
  last_heard_ns_ = now_ns;
  if (watch) watch->datagram(now_ns);
  if (sequence >= echo_.sequence) echo_ = {client_send_ns, now_ns, sequence};
}

Subscriber* Session::subscribe(SubscriptionSpec spec, std::size_t limit) {
  if (subscriptions.size() >= limit) return nullptr;
  spec.id = next_subscription_++;
  sight.begin();
  subscriptions.push_back(std::make_unique<Subscriber>(std::move(spec)));
  return subscriptions.back().get();
}

bool Session::unsubscribe(std::uint32_t subscription) {
  const auto has_id = [subscription](const auto& s) { return s->spec().id == subscription; };
  const bool was_there = std::erase_if(subscriptions, has_id) > 0;
  if (was_there) sight.begin();
  return was_there;
}

SessionTable::SessionTable(std::size_t limit) : entries_(limit) {
  TACTUS_ASSERT(limit >= 1 && limit <= 255);
}

std::optional<ClientSlot> SessionTable::reserve() noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t index = (next_ + i) % entries_.size();
    Entry& e = entries_[index];
    if (e.session || e.reserved) continue;
    next_ = index + 1;
    e.reserved = true;
    ++e.generation;
    return static_cast<ClientSlot>(index | (static_cast<unsigned>(e.generation) << 8));
  }
  return std::nullopt;
}

SessionTable::Entry* SessionTable::entry(ClientSlot slot) noexcept {
  const std::size_t index = slot & 0xffu;
  if (index >= entries_.size() || entries_[index].generation != slot >> 8) return nullptr;
  return &entries_[index];
}

Session& SessionTable::put(std::unique_ptr<Session> session) {
  Entry* e = entry(session->slot());
  TACTUS_ASSERT(e != nullptr && e->reserved);
  e->session = std::move(session);
  ++size_;
  return *e->session;
}

void SessionTable::remove(ClientSlot slot) noexcept {
  Entry* e = entry(slot);
  if (e == nullptr) return;
  if (e->session) --size_;
  e->session.reset();
  e->reserved = false;
}

Session* SessionTable::find(ClientSlot slot) noexcept {
  Entry* e = entry(slot);
  return e == nullptr ? nullptr : e->session.get();
}

Session* SessionTable::find_id(std::uint32_t id) noexcept {
  for (Entry& e : entries_) {
    if (e.session && e.session->id() == id) return e.session.get();
  }
  return nullptr;
}

}  // namespace tactus
