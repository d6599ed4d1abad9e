// The Tactus client: connect to a server, watch the world, push bodies at 1 kHz, and let go safely. See
// clients/cpp/README.md.
//
//   tactus::Client client("127.0.0.1");
//   client.arm({"crate"});                                             // lease body/crate/wrench, allow commands
//   const auto crate = client.body("crate");
//   client.run([&](const auto& state, const auto& link, auto& command) {
//     command.force(crate, {20, 0, 0});                                // N, world frame, at the mass centre
//     return state.sim_time_s < 2 && link.success_rate > 0.5;          // false ends the loop
//   });                                                                // the loop ends with a zero command
//
// Threads: a Client owns one io thread. Every method may be called from any thread, except from a callback set with
// on_state, on_verdict, on_event or on_link: those run on the io thread and must not call requests (they throw
// Error(usage)); latest(), link(), clock() and send() are allowed there. run(), next() and advance() are for one thread
// at a time. Errors: the constructor and requests throw Error. send() and run() never throw: they return a status.
// Safety: a command dies at its deadline (20 ms unless stated). The end of run(), disarm() and the destructor send a
// zero command to every body that was commanded, and release joints to their safe states. After a lost link, a lost
// lease or a new scene the client is disarmed: it reconnects and subscribes again by itself, but sends no command until
// user code calls arm() again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control.pb.h"
#include "tactus/types.h"

namespace tactus::client {

// Called once per received tick; fills the command; false ends the loop.
using Loop = std::function<bool(const State&, const Link&, Command&)>;

class Client {
 public:
  // Connects and shakes hands; throws Error(connect or handshake) that says what to do next.
  explicit Client(const Options& options);
  explicit Client(const std::string& host, std::uint16_t control_port = 17800, const std::string& token = {});
  static Client connect(const std::string& host, std::uint16_t control_port = 17800, const std::string& token = {});
  ~Client();  // disarm(), then leave
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // --- The link
  bool connected() const;
  // Blocks until the link is up and subscribed again; false on timeout.
  bool wait_connected(std::chrono::milliseconds timeout);
  std::uint64_t connections() const;  // 1 after the constructor, +1 per reconnect
  std::uint32_t epoch() const;        // scene_epoch that ids are valid in
  std::string role() const;           // "control" or "observe"
  Link link() const;
  Clock clock() const;
  // A reading of the server's clock in the client clock's terms; as it is when there is no estimate yet.
  std::int64_t to_client_ns(std::int64_t server_ns) const;
  // Sends one ping now. Pings go out by themselves, ten a second; this is for measuring.
  void ping();
  // Called for each answered ping: round trip and clock sample.
  void on_ping(std::function<void(std::int64_t round_trip_ns, std::int64_t offset_ns)> callback);

  // --- The scene
  std::shared_ptr<const v1::SceneDescription> scene() const;  // as last described
  std::uint32_t body(const std::string& name) const;  // id, this epoch; throws Error(usage) with the names there are
  Robot robot(const std::string& name) const;         // throws Error(usage) with the names there are
  v1::SceneList list_scenes();
  v1::SceneDescription describe_scene();
  v1::SceneDescription load_scene(const std::string& name,
                                  const std::vector<std::pair<std::string, std::string>>& set = {},
                                  std::uint64_t seed = 0);  // needs "world"

  // --- States
  // Streams these; replaces an earlier subscription. run(), next() and advance() subscribe to all bodies when nothing
  // is.
  v1::Subscription subscribe(const Subscription& subscription = {});
  void unsubscribe();
  StatePtr latest() const;                           // newest complete tick, or null
  StatePtr next(std::chrono::milliseconds timeout);  // newest not yet returned by next(); null on timeout
  // For a message about states that do not come: ": UDP port N answers nothing: ..." where that is so, or `otherwise`.
  std::string why_silent(const std::string& otherwise) const;
  void on_state(std::function<void(const StatePtr&)> callback);  // every complete tick, on the io thread

  // Comparisons with the shadow model, when subscribed with `shadow`: next_shadow() gives the newest not yet returned,
  // null on timeout; on_shadow() each one, on the io thread.
  ShadowPtr next_shadow(std::chrono::milliseconds timeout);
  void on_shadow(std::function<void(const ShadowPtr&)> callback);

  // --- Leases. A name without '/' (but "world") is short for "body/NAME/wrench".
  void claim(const std::vector<std::string>& channels,
             bool take_over = false);  // all or nothing; renewed until released
  bool holds(const std::string& channel) const;
  void release();  // all; disarms first
  v1::LeaseList list_leases();

  // --- Commands
  void arm(const std::vector<std::string>& channels, bool take_over = false);  // claim, then arm
  void arm();              // allow commands; takes leases again that were lost
  void disarm() noexcept;  // zero command, release leases; arm() takes them again
  bool armed() const;
  std::string disarm_reason() const;  // one sentence, for people; empty while armed, or before the first arm()
  SendResult send(const Command& command) noexcept;  // from any thread
  void send_zero() noexcept;                         // zero to every body commanded since arm()
  std::vector<Verdict> take_verdicts();              // those not yet taken, oldest first; keeps at most 4,096
  void on_verdict(std::function<void(const Verdict&)> callback);
  Report run(const Loop& loop);
  // --- Joints. Channels "joint/ROBOT/JOINT", "joint/ROBOT/*". How those named (robots or robot/joint) take commands; a
  // robot whose fault has latched takes them again after recover(). Both need the leases of the joints, or "world".
  void set_joint_options(const std::vector<std::string>& joints, const JointOptions& options);
  void recover(const std::string& robot);

  // --- Haptic devices (proto/haptic.proto; clients/haptic does all this). Needs the lease tool/NAME.
  v1::ToolAttached attach_tool(const v1::AttachTool& request);  // the scene's epoch is filled in
  void detach_tool(std::uint32_t tool);
  SendResult send_device(const v1::DevicePacket& packet) noexcept;  // from any thread
  // Every TOOL datagram: of one's own device, and with Subscription::tools of all (subscription != 0); on the io
  // thread.
  void on_tool(std::function<void(const v1::ToolPacket&, std::int64_t receive_ns)> callback);

  // Ends every command of every client, and all leases but "world"; needs none. Everybody is disarmed, this client too.
  void stop();

  // --- The world. All but snapshot and statistics need the lease "world". Pause and lockstep fall back when this
  // client leaves, unless `keep`; `force` ends them without the lease.
  void pause(bool keep = false);
  void resume(bool force = false);
  v1::GrantReply step(std::uint32_t ticks = 1);  // n ticks, in lockstep or in a paused world; deterministic
  void set_lockstep(bool on, bool keep = false, bool force = false);
  v1::GrantReply grant(std::uint64_t run_to_tick);  // lockstep, over TCP: tick reached and state hash
  // Lockstep over UDP: sends the command (if any), grants n ticks and returns the state of the last one; repeats the
  // grant until it answers (a repeated grant is harmless). Throws Error(timeout). The command needs a deadline_us of n
  // ticks. On a link with faults: the newest state that has arrived by then; null when none has.
  StatePtr advance(std::uint32_t ticks = 1, const Command* command = nullptr,
                   std::chrono::milliseconds timeout = std::chrono::milliseconds(5000));
  v1::SceneDescription reset();
  v1::Snapshot snapshot(const std::string& name);
  void restore(const std::string& name);         // one kept in the server
  void restore_bytes(const std::string& state);  // Snapshot.state of the same scene
  void set_model(const std::string& name);
  // A second model on copies of the live state; empty: none. rate_hz 0: the server's setting.
  void set_shadow(const std::string& model, double rate_hz = 0);
  void set_parameter(const std::string& key, const std::string& value);
  v1::Statistics statistics();

  // --- A link with faults on purpose (proto SetLinkFaults): of this client, or of another session (needs "world").
  // Throws Error(refused) that names key and range.
  v1::LinkFaultsReply set_link_faults(const v1::SetLinkFaults& faults);
  v1::LinkFaultsReply link_faults(std::uint32_t session = 0);

  // --- Events: once each, in order, on the io thread.
  void on_event(std::function<void(const v1::Event&)> callback);
  void on_link(std::function<void(bool up, const std::string& reason)> callback);

  // Any request not named above: fills in the id, throws Error as the others do.
  v1::Reply request(v1::Request request);

 private:
  void ensure_subscribed();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tactus::client

namespace tactus {
using client::Client;
}
