// A control loop in a process of its own for tests/soak/link_causes and live/miss_causes, with faults of its own
// making. It ends by printing one line: the cause and the sentence that the server and this client's own meter name.
// Usage: tactus_link_controller PORT KIND AMOUNT_MS EVERY_MS SECONDS; KIND: none, hang, busy, pause, period, sleeper.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tactus/client.h"

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

struct Plan {
  std::string kind;
  std::chrono::duration<double> amount{}, every{}, length{};
};

void waste(const Plan& plan) {
  const auto until = Clock::now() + plan.amount;
  if (plan.kind == "hang") std::this_thread::sleep_until(until);
  while (plan.kind == "busy" && Clock::now() < until) {
  }
}

void loop(tactus::Client& client, std::uint32_t body, const Plan& plan, std::chrono::duration<double> length) {
  const auto begin = Clock::now();
  auto next = begin + plan.every;
  while (Clock::now() < begin + length) {
    const tactus::client::Report report = client.run([&](const auto&, const auto&, auto& command) {
      if (Clock::now() >= next) {
        waste(plan);
        next = Clock::now() + plan.every;
      }
      command.force(body, {0.1, 0, 0});
      return Clock::now() < begin + length;
    });
    if (report.end != tactus::client::Report::End::disarmed)
      return;      // without a state for a second: the sentence says why
    client.arm();  // it stood still: as whoever sits before it would
  }
}

// A timer of its own: the newest state, whatever came in between.
void by_timer(tactus::Client& client, std::uint32_t body, const Plan& plan) {
  client.subscribe();
  const auto begin = Clock::now();
  for (auto next = begin; next < begin + plan.length; next += std::chrono::duration_cast<Clock::duration>(plan.every)) {
    std::this_thread::sleep_until(next);
    const auto state = client.latest();
    if (!state) continue;
    tactus::client::Command command;
    command.expected_tick = state->tick;
    command.deadline_us = static_cast<std::uint32_t>(1.1e6 * plan.every.count());
    client.send(command.force(body, {0.1, 0, 0}));
  }
}

void drive(tactus::Client& client, const Plan& plan) {
  std::string name;
  for (const auto& body : client.scene()->bodies())
    if (body.mode() == "free") name = body.name();
  client.arm({name});
  const std::uint32_t body = client.body(name);
  if (plan.kind == "period") return by_timer(client, body, plan);
  if (plan.kind != "pause") return loop(client, body, plan, plan.length);
  loop(client, body, plan, plan.length / 2);
  std::this_thread::sleep_for(plan.amount);
  loop(client, body, plan, plan.length / 2);
}

void report(tactus::Client& client, const std::string& name) {
  const auto own = client.link().quality;
  const auto statistics = client.statistics();
  for (const auto& c : statistics.clients())
    if (c.name() == name)
      std::printf("%d\t%s\t%d\t%s\n", static_cast<int>(c.quality().cause()), c.quality().explanation().c_str(),
                  static_cast<int>(own.cause), own.explanation.c_str());
}

// A bare loop of 1 ms on one processor: of 1,000 points of its grid in a row, the most that it came late to by most of
// a period. As many as the cause of a missed cycle is judged by.
int late_points(const Plan& plan, std::size_t processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  sched_setaffinity(0, sizeof only, &only);  // refused: wherever it is put
  constexpr std::size_t kWindow = 1000;
  std::vector<int> late;
  int within = 0, most = 0;
  const auto begin = Clock::now();
  for (auto next = begin; next < begin + plan.length; next += 1ms) {
    std::this_thread::sleep_until(next);
    late.push_back(Clock::now() - next > 700us ? 1 : 0);
    within += late.back() - (late.size() > kWindow ? late[late.size() - 1 - kWindow] : 0);
    most = std::max(most, within);
  }
  return most;
}

// On each processor one: what holds up the others may be on any.
void sleep_beside(const Plan& plan) {
  std::vector<int> late(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < late.size(); ++i)
    threads.emplace_back([&late, &plan, i] { late[i] = late_points(plan, i); });
  for (std::thread& thread : threads) thread.join();
  std::printf("%d\n", *std::max_element(late.begin(), late.end()));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) return 2;
  const std::chrono::duration<double, std::milli> amount(std::atof(argv[3])), every(std::atof(argv[4]));
  const Plan plan{argv[2], amount, every, std::chrono::duration<double>(std::atof(argv[5]))};
  if (plan.kind == "sleeper") return sleep_beside(plan), 0;
  tactus::client::Options options;
  options.control_port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  options.name = "controller";
  tactus::Client client(options);
  std::printf("ready\n");
  std::fflush(stdout);
  drive(client, plan);
  report(client, options.name);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
