#include "clients/cpp/src/command_codec.h"

#include <algorithm>
#include <cmath>

#include "proto/cpp/wire.h"

namespace tactus::client {
namespace {

bool finite(const Vec3& v) {
  return std::isfinite(v[0]) && std::isfinite(v[1]) && std::isfinite(v[2]);
}

const v1::BodyDescription* find_body(const v1::SceneDescription& scene, std::uint32_t id) {
  // Ids are indices in practice; the specification does not promise it.
  const auto index = static_cast<int>(std::min<std::uint32_t>(id, 0x7fffffff));
  if (index < scene.bodies_size() && scene.bodies(index).id() == id) return &scene.bodies(index);
  for (const auto& body : scene.bodies())
    if (body.id() == id) return &body;
  return nullptr;
}

}  // namespace

SendStatus encode_command(const Command& command, const v1::SceneDescription& scene,
                          v1::CommandPacket& packet) noexcept {
  packet.Clear();
  packet.set_scene_epoch(scene.scene_epoch());
  packet.set_deadline_us(command.deadline_us);
  packet.set_expected_tick(command.expected_tick);
  if (command.rows.size() > wire::kCommandRowsMax) return SendStatus::too_large;
  const bool points =
      std::any_of(command.rows.begin(), command.rows.end(), [](const Wrench& w) { return w.p_BP.has_value(); });
  const bool frames =
      std::any_of(command.rows.begin(), command.rows.end(), [](const Wrench& w) { return w.frame != Frame::world; });
  for (const Wrench& row : command.rows) {
    const v1::BodyDescription* body = find_body(scene, row.body);
    if (body == nullptr) return SendStatus::unknown_body;
    if (!finite(row.force_n) || !finite(row.torque_n_m) || (row.p_BP && !finite(*row.p_BP)))
      return SendStatus::not_finite;
    packet.add_body_id(row.body);
    for (const double f : row.force_n) packet.add_wrench(f);
    for (const double t : row.torque_n_m) packet.add_wrench(t);
    if (frames) packet.add_frame(static_cast<std::uint32_t>(row.frame));
    if (!points) continue;
    const auto& centre = body->p_bbcm_m();
    for (const double x : row.p_BP.value_or(Vec3{centre.x(), centre.y(), centre.z()})) packet.add_point(x);
  }
  if (command.wrong_count) return SendStatus::wrong_count;
  if (command.joints.size() > wire::kJointRowsMax) return SendStatus::too_large;
  const bool modes = std::any_of(command.joints.begin(), command.joints.end(),
                                 [](const JointRow& row) { return row.mode != JointMode::effort; });
  const bool rates =
      std::any_of(command.joints.begin(), command.joints.end(), [](const JointRow& row) { return row.rate != 0; });
  for (const JointRow& row : command.joints) {
    if (!std::isfinite(row.value) || !std::isfinite(row.rate)) return SendStatus::not_finite;
    packet.add_joint_id(row.joint);
    packet.add_joint_value(row.value);
    if (modes) packet.add_joint_mode(static_cast<std::uint32_t>(row.mode));
    if (rates) packet.add_joint_rate(row.rate);
  }
  const std::size_t room = wire::kDatagramMax - wire::kHeaderBytes - wire::kMacBytes;
  // What the sender adds: client_send_ns (9 bytes), client_recv_ns and verdicts_received (10 each), states_received and
  // states_lost (6 each).
  return packet.ByteSizeLong() + 41 <= room ? SendStatus::sent : SendStatus::too_large;
}

SendStatus encode_parts(const Command& command, const v1::SceneDescription& scene,
                        std::vector<v1::CommandPacket>& parts) noexcept {
  const auto slice = [](const auto& rows, std::size_t index, std::size_t count) {
    const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(rows.size() * i / count); };
    return std::decay_t<decltype(rows)>(at(index), at(index + 1));
  };
  for (std::size_t count = 2; count <= wire::kCommandPartsMax; ++count) {
    parts.resize(count);
    SendStatus status = SendStatus::sent;
    for (std::size_t i = 0; i < count && status == SendStatus::sent; ++i) {
      Command part;
      part.rows = slice(command.rows, i, count);
      part.joints = slice(command.joints, i, count);
      part.deadline_us = command.deadline_us;
      part.expected_tick = command.expected_tick;
      part.wrong_count = command.wrong_count;
      status = encode_command(part, scene, parts[i]);
      parts[i].set_part(static_cast<std::uint32_t>(i));
      parts[i].set_parts(static_cast<std::uint32_t>(count));
      if (status == SendStatus::sent &&
          parts[i].ByteSizeLong() + 41 > wire::kDatagramMax - wire::kHeaderBytes - wire::kMacBytes)
        status = SendStatus::too_large;
    }
    if (status != SendStatus::too_large) return status;
  }
  return SendStatus::too_large;
}

}  // namespace tactus::client
