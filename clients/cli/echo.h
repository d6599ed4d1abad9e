// A bare UDP echo inside this process: what a round trip costs on this machine without Tactus.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tactus::cli {

// A socket that sends back what it gets, and one that measures the round trip; a thread each, blocking: as bare as it
// gets.
class Echo {
 public:
  // like_net: the thread that echoes asks for what a server's net thread asks for (SCHED_FIFO 70, another processor
  // than the last one, which the tick has); else the scheduler may put it where it likes.
  explicit Echo(bool like_net = false);
  ~Echo();
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  void send();                 // one datagram of the size of a command with one row
  void wait();                 // until the last one is back; on loopback none is lost
  std::vector<double> stop();  // the round trips [us]
  // Those so far: after wait(), while none is under way.
  const std::vector<double>& so_far() const;
  std::uint64_t sent() const { return sent_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::uint64_t sent_ = 0;
};

}  // namespace tactus::cli
