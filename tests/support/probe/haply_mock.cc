// tactus_haply_mock PORT SECONDS: the simulated Inverse Service as a program, with a hand that presses 10 mm down; says
// at the end what it was sent. Ends by itself.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/support/haply_mock.h"

int main(int argc, char** argv) {
  namespace haptic = tactus::haptic;
  if (argc != 3) {
    std::fprintf(stderr, "usage: tactus_haply_mock PORT SECONDS\n");
    return 2;
  }
  haptic::Hand hand;
  hand.damping = 20;
  hand.wants = [](double t) {
    haptic::Pose X;
    X.p.z() = -0.01 * std::min(1.0, std::max(0.0, t - 0.5) / 0.5);
    return X;
  };
  tactus::test::HaplyMock mock({}, hand, std::atoi(argv[1]));
  if (mock.port() <= 0) {
    std::fprintf(stderr, "tactus_haply_mock: port %s cannot be had\n", argv[1]);
    return 1;
  }
  std::printf("{\"port\":%d}\n", mock.port());
  std::fflush(stdout);
  double largest = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
  while (std::chrono::steady_clock::now() < end) {
    largest = std::max(largest, mock.seen().force.norm());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto seen = mock.seen();
  std::printf("{\"messages\":%llu,\"wrong\":%llu,\"force_max_n\":%.6f,\"force_n\":%.6f,\"profile\":\"%s\"}\n",
              static_cast<unsigned long long>(seen.messages), static_cast<unsigned long long>(seen.wrong), largest,
              seen.force.norm(), seen.profile.c_str());
  return 0;
}
