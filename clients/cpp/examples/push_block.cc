// Pushes the first free body of the running scene for two seconds of simulated time, and says what became of it.
// Usage: tactus-example-push [BODY]
#include <cstdio>

#include "tactus/client.h"

int main(int argc, char** argv) try {
  tactus::Client client("127.0.0.1");
  std::string name = argc > 1 ? argv[1] : "";
  for (const auto& body : client.scene()->bodies())
    if (name.empty() && body.mode() == "free") name = body.name();

  client.arm({name});  // lease body/NAME/wrench, allow commands
  const auto block = client.body(name);
  double start_s = -1, from = 0, to = 0;
  const auto report = client.run([&](const auto& state, const auto& link, auto& command) {
    to = state.body(block).p_WB[0];
    if (start_s < 0) start_s = state.sim_time_s, from = to;
    command.force(block, {20, 0, 0});  // N, world frame, at the mass centre
    return state.sim_time_s - start_s < 2 && link.success_rate > 0.5;
  });

  std::printf("%s moved %.3f m along x in %llu cycles. %s %s\n", name.c_str(), to - from,
              static_cast<unsigned long long>(report.cycles), report.reason.c_str(), report.link.explain().c_str());
  return report.end == tactus::client::Report::End::finished ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
