#include "clients/cli/watch_tools.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tactus::cli {
namespace {

template <class Column>
double length(const Column& column, int first) {
  if (column.size() < first + 3) return 0;
  double sum = 0;
  for (int i = first; i < first + 3; ++i)
    sum += static_cast<double>(column.Get(i)) * static_cast<double>(column.Get(i));
  return std::sqrt(sum);
}

std::string bit_words(const v1::ToolPacket& p) {
  struct Word {
    bool set;
    const char* text;
  };
  const std::uint32_t t = p.bits(), d = p.device_bits();
  const Word words[] = {{(t & v1::TOOL_ENGAGED) == 0, "not engaged"},
                        {(t & v1::TOOL_LOST) != 0, "let go by the watchdog"},
                        {((t & v1::TOOL_RAMP_IN) | (d & v1::DEVICE_RAMP_IN)) != 0, "ramping in"},
                        {((t & v1::TOOL_RAMP_OUT) | (d & v1::DEVICE_RAMP_OUT)) != 0, "ramping out"},
                        {((t & v1::TOOL_FORCE_LIMITED) | (d & v1::DEVICE_FORCE_LIMITED)) != 0, "force limited"},
                        {(t & v1::TOOL_SPEED_LIMITED) != 0, "speed limited"},
                        {(t & v1::TOOL_SWEPT) != 0, "swept"},
                        {(t & v1::TOOL_GAINS_LIMITED) != 0, "gains limited by the body"},
                        {(t & v1::TOOL_GATE_ACTED) != 0, "passivity gate at the server"},
                        {(t & v1::TOOL_SLOW) != 0, "slow model"},
                        {(t & v1::TOOL_DOUBTED) != 0, "its word on the hand's force is doubted"},
                        {(d & v1::DEVICE_LINK_LOST) != 0, "device lost the link"},
                        {(d & v1::DEVICE_FAULT) != 0, "device fault"},
                        {(d & v1::DEVICE_SLEW_LIMITED) != 0, "slew limited"},
                        {(d & v1::DEVICE_GATE_ACTED) != 0, "passivity gate"},
                        {(d & v1::DEVICE_CLUTCHED) != 0, "clutched"},
                        {(d & v1::DEVICE_STALLED) != 0, "device stalled"}};
  std::string out;
  for (const Word& word : words) {
    if (word.set) out.append(out.empty() ? "" : ", ").append(word.text);
  }
  return out.empty() ? "engaged" : out;
}

// By a deadband: the share of datagrams that were not sent.
double saved(std::uint64_t seen, std::uint64_t sent) {
  return seen == 0 ? 0 : 1 - static_cast<double>(sent) / static_cast<double>(seen);
}

const char* mode_words(std::uint32_t mode) {
  return mode == v1::TOOL_LOCAL ? "local" : mode == v1::TOOL_WAVE ? "wave" : "direct";
}

}  // namespace

void ToolWatch::take(const v1::ToolPacket& packet) {
  if (packet.tool() >= newest_.size()) return;
  const std::lock_guard lock(m_);
  newest_[packet.tool()] = packet;
  seen_[packet.tool()] = true;
}

std::string ToolWatch::words() const {
  const std::lock_guard lock(m_);
  std::string out;
  for (std::size_t i = 0; i < newest_.size(); ++i) {
    if (!seen_[i]) continue;
    const v1::ToolPacket& p = newest_[i];
    char text[320];
    std::snprintf(text, sizeof text,
                  "%sbody %u %s: hand %.2f N, tool %.2f N, spring %.3g mJ, ledger %.3g J out %.3g J in, round trip "
                  "%.1f ms, age %u ticks, %s",
                  out.empty() ? "" : "; ", p.body_id(), mode_words(p.mode()), length(p.device_wrench(), 0),
                  length(p.wrench(), 0), 1e3 * p.stored_j(), p.given_j(), p.taken_j(), 1e3 * p.round_trip_s(),
                  p.age_ticks(), bit_words(p).c_str());
    out += text;
    if (p.band_seen() == 0) continue;
    std::snprintf(text, sizeof text, ", deadband saves %.0f %% up %.0f %% down, error %.2f of the band",
                  100 * saved(p.device_band_seen(), p.device_band_sent()), 100 * saved(p.band_seen(), p.band_sent()),
                  std::max(p.band_error(), p.device_band_error()));
    out += text;
  }
  return out;
}

void ToolWatch::add(Json& json) const {
  const std::lock_guard lock(m_);
  json.open('[', "tools");
  for (std::size_t i = 0; i < newest_.size(); ++i) {
    if (!seen_[i]) continue;
    const v1::ToolPacket& p = newest_[i];
    json.open('{').field("tool", p.tool()).field("body", p.body_id()).field("mode", std::string(mode_words(p.mode())));
    json.field("hand_n", length(p.device_wrench(), 0)).field("tool_n", length(p.wrench(), 0));
    json.field("stored_j", p.stored_j()).field("given_j", p.given_j()).field("taken_j", p.taken_j());
    json.field("round_trip_s", p.round_trip_s()).field("age_ticks", p.age_ticks());
    json.field("saved_up", saved(p.device_band_seen(), p.device_band_sent()));
    json.field("saved_down", saved(p.band_seen(), p.band_sent()));
    json.field("band_error", std::max(p.band_error(), p.device_band_error()));
    json.field("state", bit_words(p)).close('}');
  }
  json.close(']');
}

}  // namespace tactus::cli
