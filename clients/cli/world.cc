// `tactus step, pause, resume, lockstep, stop, reset, snapshot, restore, model`: each takes the lease "world" for its
// own length.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"

namespace tactus::cli {
namespace {

std::string hex(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// One line for people, one object for programs.
int done(const Common& common, const std::string& what, std::uint64_t tick, const std::string& hash = {}) {
  if (common.json) {
    Json json;
    json.open('{').field("done", what).field("tick", tick);
    if (!hash.empty()) json.field("state_hash", hash);
    std::printf("%s\n", json.close('}').text().c_str());
  } else {
    std::printf("%s at tick %llu%s%s\n", what.c_str(), static_cast<unsigned long long>(tick),
                hash.empty() ? "" : ", state ", hash.c_str());
  }
  return 0;
}

template <typename Options>
client::Client open_world(const Common& common, const Options& options, const char* name) {
  client::Client client(client_options(common, name));
  claim_world(client, options.take_over);
  return client;
}

}  // namespace

int run_step(const Common& common, const WorldOptions& options) {
  client::Client client = open_world(common, options, "step");
  const v1::GrantReply reply = client.step(options.ticks);
  return done(common, "stepped " + std::to_string(options.ticks), reply.tick(), hex(reply.state_hash()));
}

int run_pause(const Common& common, const WorldOptions& options) {
  client::Client client = open_world(common, options, "pause");
  client.pause(true);  // this program leaves at once
  return done(common, "paused", client.statistics().tick());
}

int run_resume(const Common& common, const WorldOptions& options) {
  client::Client client(client_options(common, "resume"));
  if (!options.force) claim_world(client, options.take_over);
  client.resume(options.force);
  return done(common, "resumed", client.statistics().tick());
}

// The mode stays when this program leaves, which it does at once.
int run_lockstep(const Common& common, const WorldOptions& options) {
  client::Client client(client_options(common, "lockstep"));
  if (!options.force) claim_world(client, options.take_over);
  client.set_lockstep(options.on, true, options.force);
  return done(common, options.on ? "lockstep: the world waits for grants (`tactus step`)" : "free run",
              client.statistics().tick());
}

int run_stop(const Common& common, const WorldOptions&) {
  client::Client client(client_options(common, "stop"));
  client.stop();
  return done(common, "stopped: every command and all leases but \"world\" have ended", client.statistics().tick());
}

int run_reset(const Common& common, const WorldOptions& options) {
  client::Client client = open_world(common, options, "reset");
  client.reset();
  const v1::Statistics statistics = client.statistics();
  return done(common, "reset " + statistics.scene(), statistics.tick());
}

int run_snapshot(const Common& common, const WorldOptions& options) {
  client::Client client(client_options(common, "snapshot"));
  const v1::Snapshot snapshot = client.snapshot(options.name);
  if (!options.file.empty()) {
    std::ofstream file(options.file, std::ios::binary);
    snapshot.SerializeToOstream(&file);
    file.flush();
    if (!file) throw client::Error(client::Error::Kind::usage, "cannot write " + options.file);
  }
  return done(common, "snapshot " + snapshot.name(), snapshot.tick(), hex(snapshot.state_hash()));
}

int run_restore(const Common& common, const WorldOptions& options) {
  v1::Snapshot snapshot;
  if (!options.file.empty()) {
    std::ifstream file(options.file, std::ios::binary);
    if (!file || !snapshot.ParseFromIstream(&file) || snapshot.state().empty())
      throw client::Error(client::Error::Kind::usage,
                          options.file + " is not a snapshot written by `tactus snapshot --out`");
  }
  client::Client client = open_world(common, options, "restore");
  if (options.file.empty())
    client.restore(options.name);
  else
    client.restore_bytes(snapshot.state());
  const v1::Statistics now = client.statistics();
  return done(common, "restored " + (options.file.empty() ? options.name : options.file), now.tick(),
              hex(now.state_hash()));
}

int run_model(const Common& common, const ModelOptions& options) {
  const bool changes = !options.name.empty() || !options.set.empty();
  client::Client client =
      changes ? open_world(common, options, "model") : client::Client(client_options(common, "model"));
  for (const std::string& setting : options.set) {
    const auto equals = setting.find('=');
    client.set_parameter(setting.substr(0, equals), setting.substr(equals + 1));
  }
  if (!options.name.empty()) client.set_model(options.name);
  const v1::Statistics now = client.statistics();
  if (common.json) {
    Json json;
    json.open('{').field("model", now.model()).field("tick", now.tick()).field("rate_hz", now.solver().rate_hz());
    std::printf("%s\n", json.close('}').text().c_str());
    return 0;
  }
  std::printf("model %s at tick %llu", now.model().c_str(), static_cast<unsigned long long>(now.tick()));
  if (now.solver().rate_hz() > 0) std::printf(", solved %g times a second beside the beat", now.solver().rate_hz());
  std::printf("\n");
  return 0;
}

}  // namespace tactus::cli
