// A Haply Inverse3 (Inverse3x, Minverse), with a VerseGrip for the orientation where there is one, through Haply's
// Inverse Service on the same machine: WebSocket + JSON, one state for each force that is sent. A worked driver: what a
// device of your own needs is of this size. libwebsockets and nlohmann-json; nothing of one system only.
//
//   tactus::haptic::HaplyDevice device({.damping = 1.0});
//   tactus::haptic::Link link(client, device, {.tool = "ball"});
#pragma once

#include <memory>

#include "tactus/haptic/device.h"

namespace tactus::haptic {

struct HaplyOptions {
  std::string host = "127.0.0.1";
  int port = 10001;
  std::string device_id;       // empty: the first Inverse3
  double force_max = 5;        // [N]; the service does not say what its device bears
  double damping = 0;          // of the mechanism [N s/m], when you have measured it
  double stiffness_max = 500;  // closed loop [N/m]; cautious until measured
  double rate_hz = 1000;       // of the loop, thus of the service
  double patience_s = 0.1;     // without a state the device counts as lost
};

class HaplyDevice : public Device {
 public:
  explicit HaplyDevice(const HaplyOptions& options = {});
  ~HaplyDevice() override;  // closes

  // Connects, waits up to 2 s for the service's inventory.
  std::string open() override;
  // Sound after open(). The pose that is read is one cycle old, and delay_s says so.
  Capabilities capabilities() const override;
  Status read(Reading& out) override;
  // Not sent while four messages are unanswered: a service that is late gets no queue.
  Status write(const Wrench& F_H_D) override;
  void close() override;
  // Why it is lost; frames that made no sense, since open().
  const std::string& problem() const;
  std::uint64_t bad_frames() const;

 private:
  struct Connection;
  HaplyOptions options_;
  std::unique_ptr<Connection> connection_;
  std::string problem_;
};

}  // namespace tactus::haptic
