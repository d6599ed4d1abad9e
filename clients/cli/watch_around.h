// What `tactus watch` knows beside the newest state: asked for once a second, and each joint's torque.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/json.h"
#include "tactus/client.h"

namespace tactus::cli {

// The scene, the model, the beat of the last second, who drives, who commands, and how many look on.
struct Around {
  std::string scene, model, world_holder = "nobody", pushers, witnesses;
  std::string exact;                                        // empty: the exact stepper has not moved this world
  v1::Histogram wake_late_us, work_us;                      // of the last second
  std::vector<std::pair<std::string, std::string>> leases;  // channel, who holds it
  struct Commander {
    std::string name;
    v1::LinkQuality quality;
  };
  std::vector<Commander> commanders;
  int clients = 0;
  bool known = false;

  static Around look(client::Client& client);
  void add(Json& json) const;
};

// Torques (forces, where a joint slides) of the drives, and the largest that each had since the last line.
class JointWatch {
 public:
  void take(const client::State& state);
  void forget_peaks() { peak_.clear(); }
  // A line a joint of the scene, at most `most`; what is left out is counted in the last one.
  std::vector<std::string> rows(const v1::SceneDescription& scene, const client::State& state, int most);
  std::string words(const v1::SceneDescription& scene, const client::State& state) const;
  void add(Json& json, const v1::SceneDescription& scene, const client::State& state) const;

 private:
  double peak(const client::JointState& joint) const;
  std::map<std::uint32_t, double> peak_, full_;
};

// `value` of `full` as a bar of 30 characters.
std::string watch_bar(double value, double full);

}  // namespace tactus::cli
