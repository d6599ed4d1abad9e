// One client as the server sees it: identity, key, sequence window, subscriptions, link quality, last verdicts. No
// socket, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dynamics/model.h"
#include "proto/cpp/seal.h"
#include "server/metrics/histogram.h"
#include "server/session/authority.h"
#include "server/session/command_parts.h"
#include "server/session/link_faults.h"
#include "server/session/link_watch.h"
#include "server/session/rate_cap.h"
#include "server/session/replay_window.h"
#include "server/session/sight.h"
#include "server/session/verdict_log.h"

namespace tactus {

inline constexpr std::size_t kVerdictCodes = 32;  // proto VerdictCode, all below this

// What a client asked to see.
struct SubscriptionSpec {
  std::uint32_t id = 0;
  std::vector<BodyIndex> bodies;       // ascending
  std::vector<std::uint8_t> has_body;  // by body index
  bool velocity = false, wrench = false, contacts = false, single_precision = false, shadow = false, tools = false;
  std::uint32_t decimation = 1;
  std::uint32_t contacts_every = 1;  // of the states that are sent
  std::vector<JointIndex> joints;    // ascending
  struct Sensor {
    std::uint32_t id, first, count;  // its values in StateSlot::sensors
  };
  std::vector<Sensor> sensors;               // ascending
  std::vector<std::uint32_t> end_effectors;  // into Model::frames, ascending
  bool jacobian = false;
};

class Subscriber {
 public:
  explicit Subscriber(SubscriptionSpec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] const SubscriptionSpec& spec() const noexcept { return spec_; }
  // Every decimation-th tick; while the world stands still (paused), every decimation-th beat.
  bool due(std::uint64_t tick, std::uint64_t beat, bool advanced) noexcept;
  // Asked once for each state that is sent: whether its contacts go with it.
  bool contacts_due() noexcept { return spec_.contacts && sent_++ % spec_.contacts_every == 0; }

 private:
  SubscriptionSpec spec_;
  std::uint64_t last_tick_ = ~std::uint64_t{0}, last_beat_ = 0, sent_ = 0;
};

// The newest datagram of this client that the server has seen.
struct Echo {
  std::uint64_t client_send_ns = 0, server_recv_ns = 0, sequence = 0;
};

// Of a client that gets its states in frames: the newest verdict at each of the last states, and how many were
// replaced.
struct FramedVerdicts {
  std::array<std::uint64_t, 5> marks{};
  std::uint64_t replaced = 0;
};

struct LinkCounters {
  std::uint64_t commands_received = 0, commands_applied = 0, commands_refused = 0;
  std::uint64_t packets_sent = 0, packets_dropped = 0;
  std::uint32_t packets_lost = 0;                      // as the client says, in commands and heartbeats
  std::array<std::uint64_t, kVerdictCodes> by_code{};  // every verdict given
};

class Session {
 public:
  Session(ClientSlot slot, std::uint32_t id, std::string name, const wire::Key& key, bool by_token, const RateCap& cap)
      : window(), cap_udp(cap), sealer(key), slot_(slot), id_(id), name_(std::move(name)), by_token_(by_token) {}

  [[nodiscard]] ClientSlot slot() const noexcept { return slot_; }
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool by_token() const noexcept { return by_token_; }  // may take over

  // Remembers a verdict, numbers and counts it. The last 8 are repeated in each state packet, newest first.
  void add_verdict(const VerdictRecord& verdict) noexcept;
  [[nodiscard]] std::span<const VerdictRecord> verdicts() const noexcept { return {verdicts_.data(), verdict_count_}; }

  // A command has come: with rows, or as heartbeat.
  void saw_command(const CommandStamps& stamps, std::uint64_t now_ns);
  void saw_heartbeat(const CommandStamps& stamps, std::uint64_t now_ns) noexcept;
  void saw_request(std::uint64_t now_ns) noexcept;
  // It gave a lease back.
  void released() noexcept;
  // The client has been sent the state of a tick.
  void sent_tick(const TickStamps& stamps) noexcept;
  void saw_datagram(std::uint64_t sequence, std::uint64_t client_send_ns, std::uint64_t now_ns) noexcept;
  // Anything authentic came from this client, a datagram or a request (ownership.h, SilenceWatch).
  void heard(std::uint64_t now_ns) noexcept { heard_ns_ = now_ns; }
  [[nodiscard]] std::uint64_t heard_ns() const noexcept { return heard_ns_; }
  [[nodiscard]] const Echo& echo() const noexcept { return echo_; }
  // Streams only to a client that was heard in the last 5 s.
  [[nodiscard]] bool is_heard(std::uint64_t now_ns) const noexcept {
    return last_heard_ns_ != 0 && now_ns < last_heard_ns_ + 5'000'000'000u;
  }

  // Null when there are `limit` of them already.
  Subscriber* subscribe(SubscriptionSpec spec, std::size_t limit);
  bool unsubscribe(std::uint32_t subscription);

  std::uint64_t next_sequence() noexcept { return ++sequence_out_; }
  // True: no authentic datagram with such a sequence number came before; its sender's address is the client's.
  bool is_newest_arrival(std::uint64_t sequence) noexcept {
    if (sequence <= newest_arrival_) return false;
    newest_arrival_ = sequence;
    return true;
  }

  ReplayWindow window;
  RateCap cap_udp;
  wire::Sealer sealer;  // datagrams
  LinkCounters counters;
  HistogramData command_age_ns;
  std::vector<std::unique_ptr<Subscriber>> subscriptions;
  std::unique_ptr<FaultyLinks> faults;  // null: none
  Role role = Role::control;
  Sight sight;
  bool framed = false;               // states go in frames of its control conversation (WebSocket), not in datagrams
  std::unique_ptr<LinkWatch> watch;  // null: has not commanded yet
  VerdictLog log;
  FramedVerdicts framed_verdicts;
  std::unique_ptr<CommandParts> parts;  // null: no command over several datagrams yet

 private:
  ClientSlot slot_;
  std::uint32_t id_;
  std::string name_;
  bool by_token_;
  Echo echo_;
  std::uint64_t last_heard_ns_ = 0, heard_ns_ = 0, sequence_out_ = 0, newest_arrival_ = 0;
  std::uint32_t next_subscription_ = 1;
  std::array<VerdictRecord, wire::kVerdictsRepeated> verdicts_{};
  std::size_t verdict_count_ = 0;
};

// Slots of all clients. A slot names index and generation, so that what is still under way for a client that has left
// never reaches the one that took its place.
class SessionTable {
 public:
  explicit SessionTable(std::size_t limit);

  // A free slot's name, or nothing when the server is full. put() fills it.
  [[nodiscard]] std::optional<ClientSlot> reserve() noexcept;
  Session& put(std::unique_ptr<Session> session);
  void remove(ClientSlot slot) noexcept;
  [[nodiscard]] Session* find(ClientSlot slot) noexcept;
  [[nodiscard]] Session* find_id(std::uint32_t id) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool is_full() const noexcept { return size_ >= entries_.size(); }
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& entry : entries_) {
      if (entry.session) visit(*entry.session);
    }
  }

 private:
  struct Entry {
    std::unique_ptr<Session> session;
    std::uint8_t generation = 0;
    bool reserved = false;
  };
  [[nodiscard]] Entry* entry(ClientSlot slot) noexcept;
  std::vector<Entry> entries_;
  std::size_t size_ = 0, next_ = 0;
};

}  // namespace tactus
