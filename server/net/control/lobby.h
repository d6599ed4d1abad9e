// Who waits at the door: connections whose client has not shaken hands yet, and addresses that showed wrong tokens.
// Pure: no socket, the clock's readings are passed in. Belongs to the net thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tactus::net {

// Of an address as text: what one source may hold is counted for. IPv4 as it is, IPv6 by its network of 64 bits.
std::string source_of(const std::string& address);

// A limit of its own, so that those who never shake hands take no client's place. When it is full, room is made for the
// newcomer: the source with the most connections loses one, first of all the one that has been silent for longest.
class Lobby {
 public:
  using Ticket = std::uint64_t;  // 0: none
  explicit Lobby(std::size_t limit) : limit_(limit < 2 ? 2 : limit) {}

  // send_away is called at most once, when room is needed: after it the ticket is void.
  [[nodiscard]] Ticket enter(const std::string& source, std::function<void()> send_away);
  // It has said something: those who are silent go before it.
  void spoke(Ticket ticket);
  void leave(Ticket ticket);
  // For want of something else than room. False: nobody is there.
  bool send_one_away();
  [[nodiscard]] std::size_t size() const { return guests_.size(); }
  [[nodiscard]] std::size_t limit() const { return limit_; }
  // Of one source.
  [[nodiscard]] std::size_t share() const { return limit_ / 2; }

 private:
  struct Guest {
    Ticket ticket = 0;
    std::string source;
    bool has_spoken = false;
    std::function<void()> send_away;
  };
  [[nodiscard]] std::size_t count(const std::string& source) const;
  // The source with the most guests.
  [[nodiscard]] std::string crowd() const;
  void send_from(const std::string& source);

  std::size_t limit_;
  Ticket next_ = 1;
  std::vector<Guest> guests_;  // in the order of their coming
};

// Wrong tokens make the next answer to their source slower: nobody is locked out, and guessing is slow. A source is
// forgiven after a minute without a wrong token.
class WrongTokens {
 public:
  static constexpr std::uint64_t kFirstNs = 100'000'000, kMostNs = 2'000'000'000, kForgetNs = 60'000'000'000;
  static constexpr std::size_t kSources = 256;  // beyond them the one that was wrong longest ago is forgiven

  void add(const std::string& source, std::uint64_t now_ns);
  // How long the answer to the next proof from there has to wait.
  [[nodiscard]] std::uint64_t wait_ns(const std::string& source, std::uint64_t now_ns) const;
  [[nodiscard]] std::size_t size() const { return sources_.size(); }

 private:
  struct Source {
    std::uint32_t wrong = 0;
    std::uint64_t last_ns = 0;
  };
  std::map<std::string, Source> sources_;
};

// What is told of those who were turned away: a line of the log a second and reason, whatever their number.
class TurnedAway {
 public:
  // reason: of a few, such as the name of an error code.
  void add(const std::string& reason, const std::string& newest);
  // What came since the last time.
  [[nodiscard]] std::vector<std::string> take_lines();

 private:
  struct Told {
    std::uint64_t count = 0;
    std::string newest;
  };
  std::map<std::string, Told> reasons_;
};

}  // namespace tactus::net
