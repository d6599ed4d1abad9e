#include "clients/cli/watch_around.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tactus::cli {
namespace {

// How many pairs kept what decided them in the step before.
std::string witness_words(const v1::WitnessStatistics& w) {
  const double pairs = static_cast<double>(w.hits() + w.misses());
  if (pairs == 0) return "";
  char text[64];
  std::snprintf(text, sizeof text, ", %.4g %% of witnesses kept", 100 * static_cast<double>(w.hits()) / pairs);
  return text;
}

const v1::JointDescription* find_joint(const v1::SceneDescription& scene, std::uint32_t id) {
  for (const auto& robot : scene.robots())
    for (const auto& joint : robot.joints())
      if (joint.id() == id) return &joint;
  return nullptr;
}

}  // namespace

std::string watch_bar(double value, double full) {
  constexpr int kWidth = 30;
  const int n = full > 0 ? static_cast<int>(std::lround(kWidth * std::clamp(value / full, 0.0, 1.0))) : 0;
  std::string text(kWidth + 2, '.');
  text.front() = '[';
  text.back() = ']';
  std::fill_n(text.begin() + 1, n, '#');
  return text;
}

Around Around::look(client::Client& client) {
  Around out;
  out.known = true;
  const v1::Statistics statistics = client.statistics();
  out.scene = statistics.scene();
  out.model = statistics.model();
  out.wake_late_us = statistics.wake_late_us();
  out.work_us = statistics.work_us();
  out.clients = statistics.clients_size();
  out.witnesses = witness_words(statistics.solver().witnesses());
  if (statistics.solver().exact().pieces() > 0) out.exact = exact_words(statistics.solver().exact());
  for (const auto& c : statistics.clients())
    if (c.has_quality() && c.quality().cycles() > 0) out.commanders.push_back({c.name(), c.quality()});
  const v1::LeaseList leases = client.list_leases();
  for (const auto& lease : leases.leases()) {
    out.leases.emplace_back(lease.channel(), lease.client());
    if (lease.channel() == "world")
      out.world_holder = lease.client();
    else
      out.pushers.append(out.pushers.empty() ? "" : ", ").append(lease.channel()).append(" by ").append(lease.client());
  }
  return out;
}

void Around::add(Json& json) const {
  if (!known) return;
  json.field("scene", scene).field("model", model).field("clients", static_cast<std::uint64_t>(clients));
  json.field("wake_late_us", wake_late_us).field("work_us", work_us);
  json.open('[', "leases");
  for (const auto& [channel, holder] : leases)
    json.open('{').field("channel", channel).field("client", holder).close('}');
  json.close(']').open('[', "commanders");
  for (const Commander& c : commanders) {
    json.open('{').field("name", c.name).field("success_rate", c.quality.success_rate());
    json.field("lost_in_a_row_max", c.quality.lost_in_a_row_max()).field("explanation", c.quality.explanation());
    json.close('}');
  }
  json.close(']');
}

void JointWatch::take(const client::State& state) {
  for (const client::JointState& joint : state.joints) {
    double& most = peak_[joint.id];
    most = std::max(most, std::abs(joint.effort));
  }
}

double JointWatch::peak(const client::JointState& joint) const {
  const auto found = peak_.find(joint.id);
  return found == peak_.end() ? std::abs(joint.effort) : std::max(found->second, std::abs(joint.effort));
}

std::vector<std::string> JointWatch::rows(const v1::SceneDescription& scene, const client::State& state, int most) {
  std::vector<std::string> out;
  int left_out = 0;
  for (const client::JointState& j : state.joints) {
    const v1::JointDescription* joint = find_joint(scene, j.id);
    if (joint == nullptr || joint->kind() == "fixed") continue;
    if (static_cast<int>(out.size()) == most) {
      ++left_out;
      continue;
    }
    double& full = full_[j.id];  // the most seen; what the drive can give, where that is known
    full = std::max(full, peak(j));
    const double limit = joint->effort_limit();
    char text[200];
    std::snprintf(text, sizeof text, "torque     %s %7.4g %s (worst %.4g) %s",
                  watch_bar(std::abs(j.effort), std::isfinite(limit) && limit > 0 ? limit : full).c_str(), j.effort,
                  joint->kind() == "prismatic" ? "N" : "N m", peak(j), joint->name().c_str());
    out.emplace_back(text);
  }
  if (left_out > 0) out.push_back("           and " + std::to_string(left_out) + " joints more: tactus joints");
  if (out.empty()) out.emplace_back("torque     the scene has no robots");
  return out;
}

std::string JointWatch::words(const v1::SceneDescription& scene, const client::State& state) const {
  std::string out;
  for (const client::JointState& j : state.joints) {
    const v1::JointDescription* joint = find_joint(scene, j.id);
    if (joint == nullptr || joint->kind() == "fixed") continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s%s %.4g", out.empty() ? "" : ", ", joint->name().c_str(), j.effort);
    out += text;
  }
  return out;
}

void JointWatch::add(Json& json, const v1::SceneDescription& scene, const client::State& state) const {
  json.open('[', "joints");
  for (const client::JointState& j : state.joints) {
    const v1::JointDescription* joint = find_joint(scene, j.id);
    if (joint == nullptr) continue;
    json.open('{').field("name", joint->name()).field("effort", j.effort).field("effort_abs_max", peak(j));
    json.field("external_effort", j.external_effort).close('}');
  }
  json.close(']');
}

}  // namespace tactus::cli
