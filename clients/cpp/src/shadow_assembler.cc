#include "clients/cpp/src/shadow_assembler.h"

#include <algorithm>

namespace tactus::client {
namespace {

constexpr int kColumns = 4;
constexpr std::uint32_t kPartsMax = 4096;

bool same(const Shadow& shadow, const v1::ShadowPacket& p) {
  return shadow.scene_epoch == p.scene_epoch() && shadow.subscription == p.subscription() && shadow.tick == p.tick();
}

}  // namespace

std::shared_ptr<Shadow> ShadowAssembler::add(const v1::ShadowPacket& p, std::int64_t receive_ns) {
  if (p.parts() == 0 || p.parts() > kPartsMax || p.part() >= p.parts()) return nullptr;
  if (p.difference_size() != kColumns * p.body_id_size()) return nullptr;
  const bool of_done_stream = done_epoch_ == p.scene_epoch() && done_subscription_ == p.subscription();
  if (of_done_stream && done_tick_ == p.tick()) return nullptr;
  if (!shadow_ || !same(*shadow_, p)) {
    const bool of_stream =
        shadow_ && shadow_->scene_epoch == p.scene_epoch() && shadow_->subscription == p.subscription();
    if (of_stream && p.send_ns() < static_cast<std::uint64_t>(shadow_->send_ns)) return nullptr;
    shadow_ = std::make_shared<Shadow>();
    shadow_->scene_epoch = p.scene_epoch();
    shadow_->tick = p.tick();
    shadow_->ticks = p.ticks();
    shadow_->subscription = p.subscription();
    have_.assign(p.parts(), false);
    received_ = 0;
  }
  if (p.parts() != have_.size() || have_[p.part()]) return nullptr;
  have_[p.part()] = true;
  shadow_->send_ns = static_cast<std::int64_t>(p.send_ns());
  shadow_->receive_ns = receive_ns;
  for (int i = 0; i < p.body_id_size(); ++i) {
    const int at = kColumns * i;
    shadow_->bodies.push_back(
        {p.body_id(i), p.difference(at), p.difference(at + 1), p.difference(at + 2), p.difference(at + 3)});
  }
  if (++received_ < have_.size()) return nullptr;
  done_epoch_ = p.scene_epoch(), done_subscription_ = p.subscription(), done_tick_ = p.tick();
  std::shared_ptr<Shadow> done = std::move(shadow_);
  shadow_ = nullptr;
  std::sort(done->bodies.begin(), done->bodies.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return done;
}

}  // namespace tactus::client
