// Balance: state feedback holds a pole upright by forces on its cart, from a start at 0.05 rad; poles at -3 to -5 1/s.
// Takes "world" for a moment to start afresh. Scene: cart_pole. Usage: tactus-example-balance [PORT]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tactus/client.h"

int main(int argc, char** argv) try {
  tactus::Client client("127.0.0.1", argc > 1 ? static_cast<std::uint16_t>(std::atoi(argv[1])) : 17800);
  const auto robot = client.robot("cart_pole");
  const std::size_t cart = robot.joint("rail"), pole = robot.joint("hinge");
  client.arm({"world", "joint/cart_pole/rail"});
  tactus::client::Subscription wanted;
  wanted.joints = {"cart_pole"};
  client.subscribe(wanted);
  client.reset();
  double start_s = -1, tilt = 0, drift = 0;
  const auto report = client.run([&](const auto& state, const auto&, auto& command) {
    const auto now = state.robot(robot);
    if (start_s < 0) start_s = state.sim_time_s;
    const double t = state.sim_time_s - start_s;
    const double force = 7.492 * now.q(cart) + 45.420 * now.q(pole) + 8.010 * now.dq(cart) + 8.095 * now.dq(pole);
    command.joint({robot.joints[cart].id, tactus::client::JointMode::effort, force, 0});
    if (t > 3) tilt = std::max(tilt, std::abs(now.q(pole))), drift = std::max(drift, std::abs(now.q(cart)));
    return t < 4 && std::abs(now.q(pole)) < 1;
  });
  std::printf("after 3 s: at most %.4f rad and %.4f m off. %s\n", tilt, drift, report.link.explain().c_str());
  const bool good = tilt > 0 && tilt < 0.02 && drift < 0.1;
  return report.end == tactus::client::Report::End::finished && good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
