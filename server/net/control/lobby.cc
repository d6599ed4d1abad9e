#include "server/net/control/lobby.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <string_view>
#include <utility>

namespace tactus::net {

std::string source_of(const std::string& address) {
  asio::error_code error;
  const asio::ip::address parsed = asio::ip::make_address(address, error);
  if (error || parsed.is_v4()) return address;
  const asio::ip::address_v6 v6 = parsed.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
  asio::ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return asio::ip::address_v6(bytes).to_string() + "/64";
}

Lobby::Ticket Lobby::enter(const std::string& source, std::function<void()> send_away) {
  if (count(source) >= share()) {
    send_from(source);
  } else if (guests_.size() >= limit_) {
    send_from(crowd());
  }
  guests_.push_back({next_, source, false, std::move(send_away)});
  return next_++;
}

void Lobby::spoke(Ticket ticket) {
  for (Guest& guest : guests_) {
    if (guest.ticket == ticket) guest.has_spoken = true;
  }
}

void Lobby::leave(Ticket ticket) {
  std::erase_if(guests_, [ticket](const Guest& guest) { return guest.ticket == ticket; });
}

bool Lobby::send_one_away() {
  if (guests_.empty()) return false;
  send_from(crowd());
  return true;
}

std::size_t Lobby::count(const std::string& source) const {
  return static_cast<std::size_t>(
      std::count_if(guests_.begin(), guests_.end(), [&source](const Guest& guest) { return guest.source == source; }));
}

std::string Lobby::crowd() const {
  std::map<std::string_view, std::size_t> counts;
  for (const Guest& guest : guests_) ++counts[guest.source];
  std::string_view most = guests_.front().source;
  for (const Guest& guest : guests_) {
    if (counts[guest.source] > counts[most]) most = guest.source;
  }
  return std::string(most);
}

void Lobby::send_from(const std::string& source) {
  const auto find = [&](bool silent_only) {
    return std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
      return guest.source == source && !(silent_only && guest.has_spoken);
    });
  };
  auto victim = find(true);
  if (victim == guests_.end()) victim = find(false);
  const std::function<void()> send_away = std::move(victim->send_away);
  guests_.erase(victim);  // first: it may leave on being sent away
  send_away();
}

void WrongTokens::add(const std::string& source, std::uint64_t now_ns) {
  std::erase_if(sources_, [now_ns](const auto& s) { return now_ns - s.second.last_ns >= kForgetNs; });
  if (!sources_.contains(source) && sources_.size() >= kSources) {
    sources_.erase(std::min_element(sources_.begin(), sources_.end(),
                                    [](const auto& a, const auto& b) { return a.second.last_ns < b.second.last_ns; }));
  }
  Source& s = sources_[source];
  ++s.wrong;
  s.last_ns = now_ns;
}

std::uint64_t WrongTokens::wait_ns(const std::string& source, std::uint64_t now_ns) const {
  const auto it = sources_.find(source);
  if (it == sources_.end() || now_ns - it->second.last_ns >= kForgetNs) return 0;
  const std::uint64_t delay = std::min(kMostNs, kFirstNs << std::min(it->second.wrong - 1, 10u));
  const std::uint64_t until = it->second.last_ns + delay;
  return until > now_ns ? until - now_ns : 0;
}

void TurnedAway::add(const std::string& reason, const std::string& newest) {
  Told& told = reasons_[reason];
  ++told.count;
  told.newest = newest;
}

std::vector<std::string> TurnedAway::take_lines() {
  std::vector<std::string> out;
  for (const auto& [reason, told] : std::exchange(reasons_, {}))
    out.push_back(told.count == 1 ? fmt::format("turned away, {}: {}", reason, told.newest)
                                  : fmt::format("turned away, {}: {} in the last second, the newest {}", reason,
                                                told.count, told.newest));
  return out;
}

}  // namespace tactus::net
