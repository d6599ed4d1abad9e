// COMMANDS_EXPIRED as news: a robot whose channels all expired in one tick is one piece, and what expires again and
// again is told once a second, with a count. Pure: times and names are passed in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tactus {

class ExpiryNews {
 public:
  static constexpr std::uint64_t kEveryNs = 1'000'000'000;
  static constexpr std::size_t kTexts = 16;  // of a second; the rest is told as one, kMany

  struct News {
    std::string text;
    std::uint32_t count = 1;
  };
  static constexpr const char* kMany = "*";

  void body(const std::string& channel) { ++fresh_[channel]; }
  // channels: that the robot has.
  void joint(const std::string& robot, const std::string& channel, std::size_t channels) {
    Robot& r = robots_[robot];
    r.channels = channels;
    r.expired.push_back(channel);
  }
  // What is to be told now: to be asked after each tick's notices, and now and then.
  [[nodiscard]] std::vector<News> take(std::uint64_t now_ns);

 private:
  struct Robot {
    std::size_t channels = 0;
    std::vector<std::string> expired;
  };
  struct Told {
    std::uint64_t at_ns = 0;
    std::uint32_t waiting = 0;
  };
  std::map<std::string, Robot> robots_;         // this tick's
  std::map<std::string, std::uint32_t> fresh_;  // this tick's, by text
  std::map<std::string, Told> told_;
};

}  // namespace tactus
