#include "core/scene/scene_links.h"

#include <algorithm>

#include "core/scene/strict_table.h"

namespace tactus {
namespace {

constexpr std::int64_t kMostUs = 1'000'000, kMostSeed = 4'294'967'295;
constexpr Range kShare{0, 1}, kBurst{0, 1000};

std::uint32_t micros(StrictTable& table, const char* key) {
  return static_cast<std::uint32_t>(table.integer(key, 0, kMostUs, 0));
}

SceneLinkDirection read_direction(StrictTable& link, const char* key) {
  SceneLinkDirection out;
  if (!link.has(key)) return out;
  StrictTable table = link.table(key);
  out.delay_us = micros(table, "delay_us");
  out.jitter_us = micros(table, "jitter_us");
  out.loss = table.number("loss", kShare, 0.0);
  out.loss_burst = table.number("loss_burst", kBurst, 0.0);
  out.duplicate = table.number("duplicate", kShare, 0.0);
  out.reorder = table.number("reorder", kShare, 0.0);
  out.reorder_us = micros(table, "reorder_us");
  out.keep_order = table.flag("keep_order", false);
  table.finish();
  if (out.loss_burst > 0 && out.loss_burst < 1)
    table.fail("loss_burst",
               "found " + number_text(out.loss_burst) + ", expected 0 (independent losses) or 1 to 1000 datagrams");
  const double most = out.loss_burst / (1 + out.loss_burst);
  if (out.loss_burst >= 1 && out.loss > most)
    table.fail("loss", "found " + number_text(out.loss) + ", expected at most " + number_text(most) +
                           " with bursts of " + number_text(out.loss_burst) +
                           ": between two bursts at least one datagram arrives");
  return out;
}

}  // namespace

std::vector<SceneLink> read_links(StrictTable& root) {
  std::vector<SceneLink> out;
  for (auto& table : root.tables("link")) {
    SceneLink link;
    if (table.has("client")) link.client = table.name("client");
    link.seed = static_cast<std::uint64_t>(table.integer("seed", 0, kMostSeed, 1));
    link.up = read_direction(table, "up");
    link.down = read_direction(table, "down");
    table.finish();
    const auto same = [&](const SceneLink& other) { return other.client == link.client; };
    if (std::any_of(out.begin(), out.end(), same))
      table.fail("client", link.client.empty()
                               ? std::string("missing for the second time; expected one [[link]] for all "
                                             "other clients at most")
                               : "found \"" + link.client + "\" for the second time, expected once");
    out.push_back(link);
  }
  return out;
}

}  // namespace tactus
