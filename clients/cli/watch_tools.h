// What haptic devices hold, for `tactus watch`.
#pragma once

#include <array>
#include <mutex>
#include <string>

#include "clients/cli/json.h"
#include "haptic.pb.h"

namespace tactus::cli {

class ToolWatch {
 public:
  void take(const v1::ToolPacket& packet);  // any thread
  // One line: who holds what, how hard, how old, which limits act. Empty: no device.
  [[nodiscard]] std::string words() const;
  void add(Json& json) const;  // an array "tools"

 private:
  mutable std::mutex m_;
  std::array<v1::ToolPacket, 4> newest_;
  std::array<bool, 4> seen_{};
};

}  // namespace tactus::cli
