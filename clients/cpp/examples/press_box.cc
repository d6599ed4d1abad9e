// Impedance control: the arm's tip is a spring and a damper in x and z; its rest is moved into a box, which feels the
// spring's force. Uses the server's Jacobian. Scene: arm_press. Usage: tactus-example-press-box [PORT]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "clients/cpp/examples/planar_arm.h"
#include "tactus/client.h"

int main(int argc, char** argv) try {
  tactus::Client client("127.0.0.1", argc > 1 ? static_cast<std::uint16_t>(std::atoi(argv[1])) : 17800);
  const auto arm = client.robot("arm");
  const std::uint32_t tip = arm.link("tip"), touch = arm.sensor("touch");
  tactus::client::Subscription wanted;
  wanted.joints = {"arm"}, wanted.sensors = {"arm"}, wanted.end_effectors = {"arm/tip"}, wanted.jacobian = true;
  client.subscribe(wanted);
  client.arm({arm.channel()});
  const double stiffness = 1000, damping = 40;  // N/m, N s/m
  double start_s = -1, x_d = 0, z_d = 0, pushed = 0, felt = 0;
  const auto report = client.run([&](const auto& state, const auto&, auto& command) {
    const auto now = state.robot(arm);
    const auto& E = state.end_effector(tip);
    if (start_s < 0) start_s = state.sim_time_s, x_d = E.p_WE[0], z_d = E.p_WE[2];
    const double t = state.sim_time_s - start_s;
    const double rest_z = z_d - std::min(0.05 * t, 0.1);  // down to 20 mm below the box's top, then wait
    const double F[2] = {stiffness * (x_d - E.p_WE[0]) - damping * E.v_WE[0],
                         stiffness * (rest_z - E.p_WE[2]) - damping * E.v_WE[2]};
    const double q[2] = {now.q(0), now.q(1)};
    double tau[2];
    example::PlanarArm::gravity(q, tau);
    const auto J = now.jacobian(tip);
    for (std::size_t i = 0; i < 2; ++i) tau[i] += J[i].v[0] * F[0] + J[i].v[2] * F[1];  // J^T F
    command.effort(arm, {tau[0], tau[1]});
    pushed = -F[1];
    felt = state.sensor(touch).value[2];
    return t < 4;
  });
  std::printf("the spring pushes with %.2f N, the box answers with %.2f N. %s\n", pushed, felt,
              report.link.explain().c_str());
  const bool good = felt > 5 && std::abs(pushed - felt) < 0.05 * felt;
  return report.end == tactus::client::Report::End::finished && good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
