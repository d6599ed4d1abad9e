// A device at a server: attaches a tool, and runs the device's loop on a thread of its own against the wall clock.
//
//   tactus::Client client("127.0.0.1");
//   MyDevice device;
//   tactus::haptic::Link link(client, device, {.tool = "ball"});   // leases tool/ball, attaches, engages
//   ... link.status() ...                                          // the destructor ramps down and lets go
//
// Threads: the loop's own calls the device; status(), engage() and let_go() are for any. The constructor throws
// client::Error, or std::runtime_error when the device cannot be opened.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tactus/client.h"
#include "tactus/haptic/admittance.h"
#include "tactus/haptic/deadband.h"
#include "tactus/haptic/device.h"
#include "tactus/haptic/loop.h"

namespace tactus::haptic {

struct LinkOptions {
  std::string tool;          // a body that moves, or robot/link
  std::optional<Mode> mode;  // none: the server chooses by scene, device and the link as it is measured
  double position_scale = 1;
  Quat q_WD = Quat::Identity();  // the device's frame in the world
  double stiffness = 0;          // wished for at the tool [N/m]; 0: what is passive
  double mass = 0;               // felt with an admittance device [kg]; 0: the least that it says
  double watchdog_s = 0;         // 0: the server's
  double reach = 0;              // 0: the server's [m]
  double deadband = 0;           // share below which neither side sends anew, 0..0.5; 0: all is sent
  bool passivity = false;        // mode direct under time-domain passivity, where the link is within its limits
  bool engage = true;            // at once
};

// What the loop is doing.
struct LinkStatus {
  std::uint32_t device_bits = 0, tool_bits = 0;
  std::string reason;  // why it is not engaged any more
  Pose X_WT, X_WR;
  Wrench force;                 // on the hand, in W
  Wrench tool_force;            // of the coupling on the tool: what a device without motor can show
  double given = 0, taken = 0;  // the motor's ledger [J]
  double round_trip_s = 0;      // newest, by the echoed sample
  std::uint64_t cycles = 0, missed = 0, tools = 0, send_failures = 0;
  double late_us_p50 = 0, late_us_max = 0;
  double stiffness = 0;
  double saved_up = 0, saved_down = 0;  // by the deadband: shares of the datagrams to and from the server
  double band_error = 0;                // largest that either side's receiver had, in units of the band
};

// DEVICE and TOOL of the wire to and from the loop's plain values.
void fill(const DeviceMessage& from, std::uint32_t epoch, std::uint32_t tool, v1::DevicePacket& to);
// False: columns that do not match.
bool read(const v1::ToolPacket& from, ToolMessage& to);
// Characters that the wire's names do not allow become '-'.
void fill(const Capabilities& from, v1::DeviceCapabilities& to);
// The link as pings see it, in 0.1 s: round_trip_s, jitter_s, loss.
void measure_link(Client& client, v1::AttachTool& out);
LoopOptions loop_options(const Capabilities& device, const v1::ToolAttached& attached, const LinkOptions& wishes);

class Link {
 public:
  Link(Client& client, Device& device, const LinkOptions& options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void engage();
  void let_go();
  LinkStatus status() const;
  const v1::ToolAttached& attached() const { return attached_; }
  // Virtual devices are stepped by the loop: called after each cycle, on its thread.
  void set_after_cycle(std::function<void(int cycles)> call);

 private:
  void run();
  void cycle(int cycles);
  void move_device(int cycles);
  Reading read_device(int cycles);

  Client& client_;
  Device& device_;
  const LinkOptions options_;
  v1::ToolAttached attached_;
  std::unique_ptr<Loop> loop_;
  AdmittanceLoop* admittance_ = nullptr;  // loop_, of an admittance device
  std::optional<DeviceDeadband> band_;
  Reading reading_;        // newest
  int silent_cycles_ = 0;  // since then
  Deadline deadline_;
  std::uint32_t epoch_ = 0;
  mutable std::mutex m_;  // guards what follows
  std::vector<ToolMessage> arrived_;
  std::uint64_t tool_seen_ = 0, tool_sent_ = 0;  // of the server's deadband
  double tool_error_ = 0;
  LinkStatus status_;
  int wish_ = 0;  // 1: engage, -1: let go
  std::function<void(int)> after_cycle_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tactus::haptic
