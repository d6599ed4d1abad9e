// tactus_load: the clients of a measurement in one process. Subscribers at the full rate, subscribers at about 60 Hz,
// and a commander that answers each state with a force, as a haptic device does. Prints one JSON line: what arrived,
// and what became of the commands.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "tactus/client.h"

namespace {

using tactus::client::Client;
using tactus::client::StatePtr;

struct Load {
  std::uint16_t port = 0;
  double seconds = 10;
  int fast = 2, slow = 6, commanders = 1;
};

// A client and how many states it has received.
struct Subscriber {
  explicit Subscriber(const tactus::client::Options& options) : client(options) {}
  std::atomic<std::uint64_t> states{0};
  Client client;
};

tactus::client::Options options_of(const Load& load, const char* name) {
  tactus::client::Options options;
  options.control_port = load.port;
  options.name = name;
  options.reconnect = false;
  return options;
}

std::unique_ptr<Subscriber> subscriber(const Load& load, const char* name, std::uint32_t decimation) {
  auto out = std::make_unique<Subscriber>(options_of(load, name));
  out->client.on_state([counter = &out->states](const StatePtr&) { ++*counter; });
  tactus::client::Subscription wanted;  // all bodies with velocity
  wanted.single_precision = true;
  wanted.decimation = decimation;
  out->client.subscribe(wanted);
  return out;
}

// Pushes its body up and down along x with half its weight: contacts break and form.
std::unique_ptr<Subscriber> commander(const Load& load, int number) {
  auto out = std::make_unique<Subscriber>(options_of(load, "commander"));
  int seen = 0;
  for (const auto& body : out->client.scene()->bodies()) {
    if (body.mode() != "free" || seen++ != number) continue;
    out->client.arm({body.name()});
    const double newton = 5 * body.mass_kg();
    out->client.on_state([self = out.get(), id = body.id(), newton](const StatePtr& state) {
      ++self->states;
      tactus::client::Command command;
      command.expected_tick = state->tick;
      command.force(id, {state->tick / 250 % 2 == 0 ? newton : -newton, 0, 0});
      self->client.send(command);
    });
    tactus::client::Subscription wanted;
    wanted.bodies = {body.name()};
    out->client.subscribe(wanted);
    return out;
  }
  throw std::runtime_error("the scene has fewer free bodies than there are commanders");
}

void print_states(const char* name, const std::vector<std::unique_ptr<Subscriber>>& all) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < all.size(); ++i)
    std::printf("%s%llu", i == 0 ? "" : ", ", static_cast<unsigned long long>(all[i]->states.load()));
  std::printf("], ");
}

int run(const Load& load) {
  std::vector<std::unique_ptr<Subscriber>> fast, slow, commanders;
  for (int i = 0; i < load.fast; ++i) fast.push_back(subscriber(load, "fast", 1));
  for (int i = 0; i < load.slow; ++i) slow.push_back(subscriber(load, "slow", 17));  // 1000 / 17 = 59 Hz
  for (int i = 0; i < load.commanders; ++i) commanders.push_back(commander(load, i));
  std::printf("tactus_load: ready\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::duration<double>(load.seconds));
  bool connected = true;
  std::uint64_t sent = 0, applied = 0, refused = 0;
  for (const auto* group : {&fast, &slow, &commanders}) {
    for (const auto& s : *group) {
      const tactus::client::Link link = s->client.link();
      connected = connected && link.connected;
      sent += link.verdicts.sent;
      applied += link.verdicts.applied + link.verdicts.clamped;
      refused += link.verdicts.refused;
    }
  }
  std::printf("{");
  print_states("fast_states", fast);
  print_states("slow_states", slow);
  print_states("commander_states", commanders);
  std::printf("\"commands\": {\"sent\": %llu, \"applied\": %llu, \"refused\": %llu}, \"connected\": %s}\n",
              static_cast<unsigned long long>(sent), static_cast<unsigned long long>(applied),
              static_cast<unsigned long long>(refused), connected ? "true" : "false");
  return connected ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Subscribers and commanders for measurements of tactusd.", "tactus_load");
  Load load;
  app.add_option("--port", load.port, "control port of the server")->required();
  app.add_option("--seconds", load.seconds, "how long (default 10)")->check(CLI::Range(0.1, 86400.0));
  app.add_option("--fast", load.fast, "subscribers to each tick (default 2)")->check(CLI::Range(0, 64));
  app.add_option("--slow", load.slow, "subscribers to each 17th tick (default 6)")->check(CLI::Range(0, 64));
  app.add_option("--commanders", load.commanders, "clients that push a body each (default 1)")
      ->check(CLI::Range(0, 16));
  CLI11_PARSE(app, argc, argv);
  try {
    return run(load);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tactus_load: %s\n", error.what());
    return 1;
  }
}
