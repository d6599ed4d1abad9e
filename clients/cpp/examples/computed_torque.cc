// Computed torque: the planar arm follows sines with both joints; the error that is left is printed.
// Scene: planar_arm. Usage: tactus-example-computed-torque [PORT]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "clients/cpp/examples/planar_arm.h"
#include "tactus/client.h"

int main(int argc, char** argv) try {
  tactus::Client client("127.0.0.1", argc > 1 ? static_cast<std::uint16_t>(std::atoi(argv[1])) : 17800);
  const auto arm = client.robot("arm");
  client.arm({arm.channel()});
  double start_s = -1, start[2] = {0, 0}, worst = 0;
  const auto report = client.run([&](const auto& state, const auto&, auto& command) {
    const auto now = state.robot(arm);
    const double q[2] = {now.q(0), now.q(1)}, dq[2] = {now.dq(0), now.dq(1)};
    if (start_s < 0) start_s = state.sim_time_s, std::copy(q, q + 2, start);
    const double t = state.sim_time_s - start_s, w = 4, A[2] = {0.3, -0.4};
    double a[2], tau[2];
    for (int i = 0; i < 2; ++i) {  // q_d = start + A (1 - cos w t), with a ramp of the error's dynamics at 20 rad/s
      const double q_d = start[i] + A[i] * (1 - std::cos(w * t)), dq_d = A[i] * w * std::sin(w * t);
      a[i] = A[i] * w * w * std::cos(w * t) + 400 * (q_d - q[i]) + 40 * (dq_d - dq[i]);
      if (t > 1) worst = std::max(worst, std::abs(q_d - q[i]));
    }
    example::PlanarArm::inverse_dynamics(q, dq, a, tau);
    command.effort(arm, {tau[0], tau[1]});
    return t < 3;
  });
  std::printf("worst error %.2e rad in %llu cycles. %s\n", worst, static_cast<unsigned long long>(report.cycles),
              report.link.explain().c_str());
  return report.end == tactus::client::Report::End::finished && worst < 0.02 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
