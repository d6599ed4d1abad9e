#include "server/session/ownership.h"

#include <utility>

namespace tactus {

void OwnedOptions::change(JointIndex joint, const ChannelOptions& before, ClientSlot client, bool keep) {
  if (keep) {
    before_.erase(joint);
    return;
  }
  const auto [at, is_first] = before_.try_emplace(joint, Before{joint, before, client});
  at->second.owner = client;
}

std::optional<OwnedOptions::Before> OwnedOptions::lost(ClientSlot client, JointIndex joint) {
  const auto at = before_.find(joint);
  if (at == before_.end() || at->second.owner != client) return std::nullopt;
  return before_.extract(at).mapped();
}

std::optional<OwnedOptions::Before> OwnedOptions::taken(ClientSlot by, JointIndex joint) {
  const auto at = before_.find(joint);
  if (at == before_.end() || at->second.owner == by) return std::nullopt;
  return before_.extract(at).mapped();
}

std::vector<OwnedOptions::Before> OwnedOptions::left(ClientSlot client) {
  std::vector<Before> out;
  for (auto at = before_.begin(); at != before_.end();) {
    if (at->second.owner != client) {
      ++at;
      continue;
    }
    out.push_back(at->second);
    at = before_.erase(at);
  }
  return out;
}

}  // namespace tactus
