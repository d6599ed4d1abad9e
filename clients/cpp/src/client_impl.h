// What a Client is inside: one io thread that owns the session and the timers, and a mutex-guarded picture of the link
// that user threads read. Lock order: Realtime's send mutex, then `m`; nothing is called back while `m` is held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "clients/cpp/src/assembler.h"
#include "clients/cpp/src/link_math.h"
#include "clients/cpp/src/realtime.h"
#include "clients/cpp/src/session.h"
#include "clients/cpp/src/shadow_assembler.h"
#include "proto/cpp/wire.h"
#include "tactus/client.h"

namespace tactus::client {

// Channels taken together; renewed and lost together.
struct Claim {
  std::vector<std::string> channels;
  bool take_over = false;
  std::uint32_t lease = 0;        // 0: not held
  std::vector<std::string> lost;  // of the channels, since the lease was taken
  [[nodiscard]] bool holds(const std::string& channel) const;
  void lose(const std::string& channel);  // the last one takes the lease with it
};

struct Client::Impl {
  explicit Impl(Options options_in);
  ~Impl();

  // --- io thread
  void on_up(const Handshake& handshake);
  void on_down(const Error& error, bool final);
  void on_reply(const v1::Reply& reply);
  void on_event(const v1::Event& event);
  void on_packet(const std::shared_ptr<Assembler>& assembler, const v1::StatePacket& packet, std::uint64_t sequence,
                 std::int64_t receive_ns);
  void on_pong(const v1::Pong& pong, std::int64_t receive_ns);
  void on_verdicts(const v1::VerdictPacket& packet, std::int64_t receive_ns);
  void tell_verdicts();  // to the server, which have arrived; to the user, which commands are lost
  void on_granted(const v1::GrantedPacket& granted);
  void on_shadow(ShadowAssembler& assembler, const v1::ShadowPacket& packet, std::int64_t receive_ns);
  void set_up_streams();  // describe, subscribe again, then report the link up
  void finish_up();
  void adopt_scene(const v1::SceneDescription& description);
  void drop_authority(const std::string& why);
  bool stood_still() noexcept;  // while it was commanding: then it is disarmed
  void io_turned();             // the io thread is alive
  void beat();                  // timer: heartbeat, ping, lease renewal, liveness
  void renew_leases();
  void send_heartbeat(std::uint64_t challenge = 0);
  void refresh_figures();
  void look_for_deafness(const Realtime& link, std::int64_t tcp_ns);

  // --- any thread
  Outcome ask(v1::Request request, std::chrono::milliseconds timeout);
  v1::Reply request(v1::Request request);  // throws Error
  SendResult send(const Command& command, bool zero = false) noexcept;
  // One datagram, or the parts of one command.
  SendResult send_packets(const Command& command, Realtime& link, std::span<v1::CommandPacket> packets,
                          bool zero) noexcept;
  void send_zero() noexcept;
  void stamp(v1::CommandPacket& packet, const Realtime& link);
  void acquire(std::size_t claim_index);
  void forget_tick();  // the world was moved: reset, restore, load
  void deliver(const std::vector<Verdict>& verdicts);
  // For the answer to a grant: takes it in on this thread where no callback would run on it.
  bool wait_granted(Realtime& link, std::uint64_t target, std::int64_t since_ns);
  StatePtr wait_newer(std::uint64_t than, std::chrono::milliseconds timeout);
  struct Turn;
  Turn take_turn(std::uint64_t& seen, bool was_armed, std::int64_t heard_ns);
  Link link_locked() const;
  std::string why_silent_locked(const std::string& otherwise) const;
  std::string silence_text_locked() const;
  bool on_io_thread() const;

  Options options;
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  Session session;
  asio::steady_timer timer{io};
  std::uint64_t beats = 0;
  std::int64_t heartbeat_ns = 0, renewed_ns = 0, probe_sent_ns = 0;  // io thread only

  mutable std::mutex m;
  std::condition_variable cv;  // any change of what follows
  bool up = false, final_down = false;
  Error::Kind down_kind = Error::Kind::connect;
  int down_code = 0;  // ErrorCode, when the server refused
  std::string down_reason, disarm_reason, stream_problem, role;
  std::uint64_t connections = 0;
  std::shared_ptr<Realtime> realtime;
  VerdictTracker tracker;
  std::uint64_t acknowledged = 0;  // verdicts, told to the server
  Quality quality;
  LinkFigures figures;  // as computed last
  ClockFilter clock;
  std::shared_ptr<const v1::SceneDescription> scene = std::make_shared<v1::SceneDescription>();
  std::unordered_map<std::string, std::uint32_t> ids;
  bool wants_stream = false;
  Subscription wanted;
  std::uint32_t subscription = 0;
  StatePtr latest;
  std::uint64_t latest_number = 0, returned_number = 0;
  ShadowPtr shadow;  // newest
  bool shadow_returned = false;
  std::uint64_t incomplete = 0;
  std::optional<std::uint64_t> granted_tick;  // lockstep on a link with faults: up to where the server has run
  std::optional<std::uint64_t> known_tick;    // lockstep: where the last grant ended, unless the world was moved since
  std::vector<Claim> claims;
  bool armed = false;
  std::set<std::uint32_t> commanded, commanded_joints;
  std::int64_t commanded_ns = 0;  // the last command with rows, by the clock that counts a sleep of the machine
  std::atomic<std::int64_t> turned_ns{0};  // the io thread's last beat, by the same clock
  std::deque<Verdict> verdicts;

  struct Callbacks {
    std::function<void(const StatePtr&)> state;
    std::function<void(const ShadowPtr&)> shadow;
    std::function<void(const v1::ToolPacket&, std::int64_t)> tool;
    std::function<void(const Verdict&)> verdict;
    std::function<void(const v1::Event&)> event;
    std::function<void(bool, const std::string&)> link;
    std::function<void(std::int64_t, std::int64_t)> ping;
    // None that datagrams call: any thread may take them in.
    [[nodiscard]] bool deaf() const { return !state && !shadow && !tool && !verdict && !ping; }
  };
  std::shared_ptr<const Callbacks> callbacks = std::make_shared<Callbacks>();
  std::shared_ptr<const Callbacks> current_callbacks() const {
    const std::lock_guard lock(m);
    return callbacks;
  }
  template <class Set>
  void change_callbacks(Set set) {
    const std::lock_guard lock(m);
    auto changed = std::make_shared<Callbacks>(*callbacks);
    set(*changed);
    callbacks = std::move(changed);
  }

  std::thread thread;  // last: starts when all above is there
};

// A program that stood still longer than any command lives does not go on commanding by itself.
inline constexpr std::int64_t kStandstillNs = std::int64_t{1000} * wire::kDeadlineCapUs;
// A loop ends when its stream is silent for so long: a link or a server that hiccups is no end.
inline constexpr std::int64_t kSilenceNs = 1'000'000'000;
// A monotonic clock that goes on while the machine sleeps.
std::int64_t awake_ns() noexcept;
std::string stood_still_text(std::int64_t ns);

v1::Request subscribe_request(const Subscription& wanted);
// "crate" -> "body/crate/wrench"; "world" and paths stay.
std::string full_channel(const std::string& channel);
void expand_channel(const std::string& channel, const v1::SceneDescription& scene, std::vector<std::string>& out);

}  // namespace tactus::client
