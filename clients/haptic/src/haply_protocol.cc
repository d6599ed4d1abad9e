#include "clients/haptic/src/haply_protocol.h"

#include <array>
#include <nlohmann/json.hpp>

namespace tactus::haptic {
namespace {

using Json = nlohmann::json;
constexpr const char* kProfile = "tactus:haptic";

const Json* find(const Json* in, const char* key) {
  if (in == nullptr || !in->is_object()) return nullptr;
  const auto it = in->find(key);
  return it == in->end() ? nullptr : &*it;
}

// False: no object of finite numbers under these names.
template <std::size_t N>
bool read_numbers(const Json* in, const std::array<const char*, N>& names, std::array<double, N>& out) {
  for (std::size_t i = 0; i < N; ++i) {
    const Json* value = find(in, names[i]);
    if (value == nullptr || !value->is_number()) return false;
    out[i] = value->get<double>();
    if (!std::isfinite(out[i])) return false;
  }
  return true;
}
bool read_vector(const Json* in, Vec3& out) {
  std::array<double, 3> x{};
  if (!read_numbers<3>(in, {"x", "y", "z"}, x)) return false;
  out = Vec3(x[0], x[1], x[2]);
  return true;
}
bool read_flag(const Json* in, const char* key, bool otherwise) {
  const Json* value = find(in, key);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}
std::string read_text(const Json* in, const char* key) {
  const Json* value = find(in, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// The device of that id in a list; id empty: the first.
const Json* choose(const Json* list, const std::string& id) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& device : *list) {
    if (id.empty() || read_text(&device, "device_id") == id) return &device;
  }
  return nullptr;
}

std::string read_grip(const Json& frame, HaplyFrame& out) {
  const Json* grip = choose(find(&frame, "wireless_verse_grip"), "");
  if (grip == nullptr) grip = choose(find(&frame, "verse_grip"), "");
  const Json* state = find(grip, "state");
  if (state == nullptr) return {};
  std::array<double, 4> q{};
  if (!read_numbers<4>(find(state, "orientation"), {"w", "x", "y", "z"}, q))
    return "the grip's state.orientation has no numbers w, x, y, z";
  out.orientation = Quat(q[0], q[1], q[2], q[3]);
  const double norm = out.orientation.norm();
  if (!(norm > 0.9 && norm < 1.1)) return "the grip's state.orientation is no unit quaternion";
  out.orientation.coeffs() /= norm;
  out.has_grip = true;
  const Json* buttons = find(state, "buttons");
  if (read_flag(buttons, "a", false) || read_flag(state, "button", false)) out.buttons |= 1;
  if (read_flag(buttons, "b", false)) out.buttons |= 2;
  if (read_flag(buttons, "c", false)) out.buttons |= 4;
  return {};
}

}  // namespace

std::string read_haply(std::string_view text, const std::string& device_id, HaplyFrame& out) {
  const Json frame = Json::parse(text, nullptr, false);
  if (frame.is_discarded() || !frame.is_object()) return "the frame is no JSON object";
  const Json* device = choose(find(&frame, "inverse3"), device_id);
  if (device == nullptr)
    return device_id.empty() ? "the service knows no inverse3: is one plugged in and switched on?"
                             : "the service knows no inverse3 '" + device_id + "' (any more)";
  out = {};
  out.device_id = read_text(device, "device_id");
  if (out.device_id.empty()) return "inverse3 has no device_id";
  out.type = read_text(find(device, "config"), "type");
  out.calibrated = read_flag(find(device, "status"), "calibrated", true);
  const Json* state = find(device, "state");
  if (!read_vector(find(state, "cursor_position"), out.position))
    return "inverse3 " + out.device_id + ": state.cursor_position has no finite numbers x, y, z";
  out.has_velocity = read_vector(find(state, "cursor_velocity"), out.velocity);
  return read_grip(frame, out);
}

std::string haply_command(const std::string& device_id, const Vec3& force, bool first) {
  Json message;
  if (first) message["session"]["configure"]["profile"]["name"] = kProfile;
  Json device;
  device["device_id"] = device_id;
  device["commands"]["set_cursor_force"]["vector"] = {{"x", force.x()}, {"y", force.y()}, {"z", force.z()}};
  message["inverse3"] = Json::array({device});
  return message.dump();
}

}  // namespace tactus::haptic
