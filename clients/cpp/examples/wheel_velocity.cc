// Wheel velocities: the mobile robot drives straight on, then turns on the spot; odometry and truth are printed.
// Scene: mobile_robot. Usage: tactus-example-wheel-velocity [PORT]
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tactus/client.h"

int main(int argc, char** argv) try {
  tactus::Client client("127.0.0.1", argc > 1 ? static_cast<std::uint16_t>(std::atoi(argv[1])) : 17800);
  const auto robot = client.robot("mobile");
  const std::size_t left = robot.joint("left_wheel_joint"), right = robot.joint("right_wheel_joint");
  const auto base = client.body("mobile/base");
  client.arm({robot.channel()});
  double start_s = -1, x = 0, y = 0, roll = 0, moved = 0, turned = 0;
  const auto report = client.run([&](const auto& state, const auto&, auto& command) {
    const auto now = state.robot(robot);
    const auto& body = state.body(base);
    if (start_s < 0) start_s = state.sim_time_s;
    const double t = state.sim_time_s - start_s;
    const double odometer = 0.5 * 0.1 * (now.q(left) + now.q(right));  // wheels of 0.1 m
    if (t < 1) x = body.p_WB[0], y = body.p_WB[1], roll = odometer;    // until it is up to speed
    if (t < 2) moved = std::hypot(body.p_WB[0] - x, body.p_WB[1] - y) - (odometer - roll);
    if (t >= 2.5) turned = body.w_WB[2];
    const double forwards = t < 2 ? 6 : 0, turn = t < 2 ? 0 : 3;  // rad/s
    std::vector<double> rates(robot.size());
    rates[left] = forwards - turn;
    rates[right] = forwards + turn;
    command.velocity(robot, rates);
    return t < 3;
  });
  std::printf("odometry is off by %.1f mm on the way, the robot turns at %.2f rad/s. %s\n", 1e3 * moved, turned,
              report.link.explain().c_str());
  const bool good = std::abs(moved) < 0.02 && turned > 1;
  return report.end == tactus::client::Report::End::finished && good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
