#include "server/session/link_faults.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/check.h"

namespace tactus {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): integers only, the same everywhere.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

double value_of(const LinkFaultSettings& s, std::size_t key) noexcept {
  const std::array<double, kLinkFaultKeys.size()> values{
      static_cast<double>(s.delay_us),   static_cast<double>(s.jitter_us), s.loss, s.loss_burst, s.duplicate, s.reorder,
      static_cast<double>(s.reorder_us), s.keep_order ? 1.0 : 0.0};
  return values[key];
}

void set_value(LinkFaultSettings& s, std::size_t key, double value) noexcept {
  const auto whole = [value] { return static_cast<std::uint32_t>(value); };
  switch (key) {
    case 0:
      s.delay_us = whole();
      break;
    case 1:
      s.jitter_us = whole();
      break;
    case 2:
      s.loss = value;
      break;
    case 3:
      s.loss_burst = value;
      break;
    case 4:
      s.duplicate = value;
      break;
    case 5:
      s.reorder = value;
      break;
    case 6:
      s.reorder_us = whole();
      break;
    default:
      s.keep_order = value != 0;
  }
}

std::string check(const LinkFaultKey& key, double value) {
  const bool inside = value >= 0 && value <= key.high && (!key.whole || value == std::floor(value));
  if (inside) return {};
  return std::string(key.name) + ": found " + number(value) + ", expected " +
         (key.whole ? "a whole number" : "a number") + " from 0 to " + number(key.high);
}

}  // namespace

std::string set_link_fault(LinkFaultSettings& settings, std::string_view key, double value) {
  std::string names;
  for (std::size_t i = 0; i < kLinkFaultKeys.size(); ++i) {
    if (key != kLinkFaultKeys[i].name) {
      names += (names.empty() ? "" : ", ") + std::string(kLinkFaultKeys[i].name);
      continue;
    }
    std::string problem = check(kLinkFaultKeys[i], value);
    if (problem.empty()) set_value(settings, i, value);
    return problem;
  }
  return std::string(key) + ": unknown; expected one of " + names;
}

std::string parse_link_faults(std::string_view text, LinkFaultSettings& settings) {
  LinkFaultSettings out = settings;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return "'" + std::string(item) + "': expected KEY=VALUE, for example delay_us=2000";
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    double parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size())
      return std::string(key) + ": found '" + std::string(value) + "', expected a number";
    if (std::string problem = set_link_fault(out, key, parsed); !problem.empty()) return problem;
  }
  if (std::string problem = problem_of(out); !problem.empty()) return problem;
  settings = out;
  return {};
}

std::string problem_of(const LinkFaultSettings& s) {
  for (std::size_t i = 0; i < kLinkFaultKeys.size(); ++i) {
    if (std::string problem = check(kLinkFaultKeys[i], value_of(s, i)); !problem.empty()) return problem;
  }
  if (s.loss_burst > 0 && s.loss_burst < 1)
    return "loss_burst: found " + number(s.loss_burst) + ", expected 0 (independent losses) or 1 to 1000 datagrams";
  if (s.loss_burst >= 1 && s.loss * (1 + s.loss_burst) > s.loss_burst)
    return "loss: found " + number(s.loss) + ", expected at most " + number(s.loss_burst / (1 + s.loss_burst)) +
           " with bursts of " + number(s.loss_burst) + ": between two bursts at least one datagram arrives";
  return {};
}

std::string text_of(const LinkFaultSettings& settings) {
  std::string out;
  for (std::size_t i = 0; i < kLinkFaultKeys.size(); ++i) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value_of(settings, i));
    if (value_of(settings, i) != 0) out += (out.empty() ? "" : ",") + std::string(kLinkFaultKeys[i].name) + "=" + text;
  }
  return out.empty() ? "sound" : out;
}

LinkFates::LinkFates(const LinkFaultSettings& settings, std::uint64_t seed) noexcept
    : settings_(settings), seed_(seed), state_(mix(seed + kGolden)) {
  if (settings_.reorder_us == 0) settings_.reorder_us = 2000;
  if (settings.loss_burst < 1) return;
  leave_ = 1 / settings.loss_burst;
  enter_ = settings.loss < 1 ? settings.loss * leave_ / (1 - settings.loss) : 1;
}

double LinkFates::draw() noexcept {
  state_ += kGolden;
  return 0x1p-53 * static_cast<double>(mix(state_) >> 11);
}

// The same number of draws whatever is set, so that one setting does not shift the others' dice.
LinkFate LinkFates::next() noexcept {
  const double loss = draw(), jitter = draw(), duplicate = draw(), copy_jitter = draw(), reorder = draw();
  if (settings_.loss_burst >= 1) bad_ = bad_ ? loss >= leave_ : loss < enter_;
  LinkFate fate;
  fate.lost = settings_.loss_burst >= 1 ? bad_ : loss < settings_.loss;
  fate.duplicated = duplicate < settings_.duplicate;
  fate.reordered = reorder < settings_.reorder;
  const auto jittered = [this](double share) {
    return 1000 * std::uint64_t{settings_.delay_us} + static_cast<std::uint64_t>(1000.0 * settings_.jitter_us * share);
  };
  fate.delay_ns = jittered(jitter) + (fate.reordered ? 1000 * std::uint64_t{settings_.reorder_us} : 0);
  fate.copy_delay_ns = jittered(copy_jitter);
  return fate;
}

FaultyLink::FaultyLink(const LinkFaultSettings& settings, std::uint64_t seed, std::size_t capacity)
    : settings_(settings), fates_(settings, seed), bytes_(capacity * wire::kDatagramMax) {
  TACTUS_ASSERT(capacity >= 1 && problem_of(settings).empty());
  heap_.reserve(capacity);
  free_.reserve(capacity);
  for (std::size_t i = capacity; i > 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
}

void FaultyLink::note(const LinkFate& fate) noexcept {
  const std::uint32_t bits = (fate.lost ? 1u : 0u) | (fate.duplicated ? 2u : 0u) | (fate.reordered ? 4u : 0u);
  kept_[counters_.datagrams % kFatesKept] = static_cast<std::uint32_t>(fate.delay_ns / 1000) * 8 + bits;
  counters_.sequence_hash = mix(counters_.sequence_hash ^ mix(8 * fate.delay_ns + bits) ^ mix(fate.copy_delay_ns));
  ++counters_.datagrams;
  counters_.lost += fate.lost ? 1 : 0;
  counters_.bursts += fate.lost && !was_lost_ ? 1 : 0;
  was_lost_ = fate.lost;
  if (fate.lost) return;
  counters_.duplicated += fate.duplicated ? 1 : 0;
  counters_.reordered += fate.reordered ? 1 : 0;
  counters_.delay_ns.record(fate.delay_ns);
}

void FaultyLink::submit(std::span<const std::uint8_t> datagram, std::uint64_t now, std::uint64_t unit_ns) noexcept {
  TACTUS_ASSERT(datagram.size() <= wire::kDatagramMax && unit_ns >= 1);
  const LinkFate fate = fates_.next();
  note(fate);
  if (fate.lost) return;
  std::uint64_t due = now + fate.delay_ns / unit_ns;
  if (settings_.keep_order && !fate.reordered) newest_due_ = due = std::max(due, newest_due_);
  enqueue(datagram, due);
  if (fate.duplicated) enqueue(datagram, std::max(now + fate.copy_delay_ns / unit_ns, settings_.keep_order ? due : 0));
}

namespace {
constexpr auto kLater = [](const auto& a, const auto& b) { return a.due != b.due ? a.due > b.due : a.order > b.order; };
}  // namespace

void FaultyLink::enqueue(std::span<const std::uint8_t> datagram, std::uint64_t due) noexcept {
  if (free_.empty()) {
    ++counters_.queue_full;
    return;
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  std::memcpy(&bytes_[slot * wire::kDatagramMax], datagram.data(), datagram.size());
  heap_.push_back({due, order_++, slot, static_cast<std::uint32_t>(datagram.size())});
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

// The bytes stay readable until the slot is filled again.
std::span<const std::uint8_t> FaultyLink::pop() noexcept {
  std::pop_heap(heap_.begin(), heap_.end(), kLater);
  const Waiting out = heap_.back();
  heap_.pop_back();
  free_.push_back(out.slot);
  return {&bytes_[out.slot * wire::kDatagramMax], out.length};
}

std::span<const std::uint8_t> FaultyLink::take_due(std::uint64_t now) noexcept {
  if (heap_.empty() || heap_.front().due > now) return {};
  ++counters_.delivered;
  return pop();
}

std::span<const std::uint8_t> FaultyLink::flush_one() noexcept {
  if (heap_.empty()) return {};
  ++counters_.flushed;
  return pop();
}

std::uint64_t FaultyLink::next_due() const noexcept {
  return heap_.empty() ? ~std::uint64_t{0} : heap_.front().due;
}

void FaultyLink::restart() noexcept {
  fates_.restart();
  counters_ = LinkFaultCounters{};
  counters_.flushed = heap_.size();
  while (!heap_.empty()) static_cast<void>(pop());
  order_ = newest_due_ = 0;
  was_lost_ = false;
}

std::vector<std::uint32_t> FaultyLink::fates() const {
  std::vector<std::uint32_t> out;
  const std::uint64_t n = counters_.datagrams;
  for (std::uint64_t i = n - std::min<std::uint64_t>(n, kFatesKept); i < n; ++i) out.push_back(kept_[i % kFatesKept]);
  return out;
}

FaultyLinks::FaultyLinks(std::uint64_t link_seed, const LinkFaultSettings& up_settings,
                         const LinkFaultSettings& down_settings, std::size_t capacity)
    : seed(link_seed) {
  if (up_settings.any()) up = std::make_unique<FaultyLink>(up_settings, mix(link_seed ^ 0x7570), capacity);
  if (down_settings.any()) down = std::make_unique<FaultyLink>(down_settings, mix(link_seed ^ 0x646f776e), capacity);
}

std::uint64_t link_seed(std::uint64_t seed, std::string_view client) noexcept {
  for (const char c : client) seed = mix(seed + kGolden + static_cast<unsigned char>(c));
  return seed;
}

}  // namespace tactus
