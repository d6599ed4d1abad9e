// Devices: capabilities that contradict each other, the keyboard, CHAI3D's class behind ours, the deadline, the
// deadband and the playout buffer.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>

#include "proto/cpp/playout.h"
#include "tactus/haptic/chai3d_device.h"
#include "tactus/haptic/deadband.h"
#include "tactus/haptic/keyboard_device.h"
#include "tactus/haptic/loop.h"
#include "tactus/haptic/virtual_device.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus::haptic {
namespace {

TEST_CASE("capabilities: what contradicts is named, what is sound passes") {
  const Capabilities sound = VirtualDevice({}).capabilities();
  CHECK(fault_in(sound).empty());
  const auto fault = [&](auto change) {
    Capabilities c = sound;
    change(c);
    return fault_in(c);
  };
  CHECK(fault([](auto& c) { c.axes_sensed = 3; }).find("axes_actuated") != std::string::npos);
  CHECK(fault([](auto& c) { c.force_max = 0; }).find("force_max") != std::string::npos);
  CHECK(fault([](auto& c) { c.force_max = std::nan(""); }).find("force_max") != std::string::npos);
  CHECK(fault([](auto& c) { c.stiffness_max = -1; }).find("stiffness_max") != std::string::npos);
  CHECK(fault([](auto& c) { c.rate_hz = 0; }).find("rate_hz") != std::string::npos);
  CHECK(fault([](auto& c) { c.damping = c.stiffness_max = 0; }).find("no stiffness") != std::string::npos);
  CHECK(fault([](auto& c) { c.axes_actuated = 0; }).find("axes_actuated") != std::string::npos);
}

TEST_CASE("virtual device: energies balance to rounding, with friction and delay, in six degrees of freedom") {
  Mechanism m;
  m.coulomb = 0.05;
  m.turn_coulomb = 1e-4;
  m.amplifier_delay = 1.5e-3;
  Hand hand;
  hand.wants = [](double t) {
    Pose X;
    X.p = Vec3(0.01 * std::sin(20 * t), 0.005 * std::cos(13 * t), 0.02 * std::sin(7 * t));
    X.q = Eigen::AngleAxisd(0.2 * std::sin(11 * t), Vec3(1, 2, 3).normalized());
    return X;
  };
  VirtualDevice device(m, hand);
  for (int k = 0; k < 2000; ++k) {
    Reading r;
    device.read(r);
    device.write({-200 * r.X_DH.p, -0.1 * rotation_vector(Quat::Identity(), r.X_DH.q)});
    device.step();
  }
  CHECK(device.losses() > 1e-3);
  CHECK_WITHIN(device.hand_work() + device.motor_work() - device.losses() - device.kinetic(), 1e-9);
}

TEST_CASE("ledger: at twice the stable stiffness it tells what the motor has given, with its sign") {
  Mechanism m;
  m.damping = 0.5;
  m.encoder_step = 0;
  m.force_max = 1e9;
  Hand hand;
  hand.damping = 0;
  VirtualDevice device(m, hand);
  Ledger ledger;
  Pose last;
  Wrench held;
  for (int k = 0; k < 500; ++k) {
    Reading r;
    device.read(r);
    ledger.add(held, motion(last, r.X_DH));
    last = r.X_DH;
    held = {-4000 * (r.X_DH.p - Vec3(1e-3, 0, 0)), Vec3::Zero()};
    device.write(held);
    if (k < 499) device.step();
  }
  CHECK(device.motor_work() > 1e-3);
  CHECK_WITHIN(ledger.net() / device.motor_work() - 1, 1e-6);
}

TEST_CASE("keyboard: no key is a jump, a mouse that leaps moves the point at 2 m/s at most") {
  KeyboardDevice device;
  CHECK(fault_in(device.capabilities()).empty());
  device.keys(Vec3(1, 0, 0));
  device.mouse(Vec3(0, 5, 0));
  Reading last, now;
  device.read(last);
  for (int k = 0; k < 500; ++k, last = now) {
    device.read(now);
    CHECK((now.X_DH.p - last.X_DH.p).norm() <= 2.0e-3 + 1e-12);
  }
  CHECK(now.X_DH.p.x() > 0);
  device.write({Vec3(0, 0, 3), Vec3::Zero()});
  CHECK(device.force().force.z() == 3);
}

struct StandIn {  // what of cGenericHapticDevice is used
  struct Vector {
    double c[3] = {0, 0, 0};
    Vector() = default;
    Vector(double x, double y, double z) : c{x, y, z} {}
    double x() const { return c[0]; }
    double y() const { return c[1]; }
    double z() const { return c[2]; }
  };
  struct Matrix {
    double operator()(int r, int k) const { return (r == 0 && k == 1) ? -1 : (r == 1 && k == 0) || (r == 2 && k == 2); }
  };
  struct Specifications {
    std::string m_modelName = "stand-in";
    bool m_sensedRotation = true, m_actuatedPosition = true, m_actuatedRotation = false;
    double m_maxLinearForce = 8, m_maxAngularTorque = 0, m_maxLinearStiffness = 1000, m_maxLinearDamping = 5;
    double m_maxAngularStiffness = 0, m_workspaceRadius = 0.1;
  };
  bool opened = false;
  Vector force;
  bool open() { return opened = true; }
  void calibrate() {}
  void close() { opened = false; }
  Specifications getSpecifications() const { return {}; }
  bool getPosition(Vector& p) const { return p = Vector(0.1, 0.2, 0.3), opened; }
  bool getRotation(Matrix&) const { return true; }
  bool getUserSwitches(unsigned int& s) const { return s = 1, true; }
  bool setForceAndTorqueAndGripperForce(const Vector& f, const Vector&, double) { return force = f, opened; }
};

TEST_CASE("CHAI3D's device class behind ours") {
  StandIn stand_in;
  Chai3dDevice<StandIn*, StandIn::Vector, StandIn::Matrix> device(&stand_in);
  CHECK(device.open().empty());
  const Capabilities c = device.capabilities();
  CHECK(fault_in(c).empty());
  CHECK(choose_gains(c).stiffness == 1000);
  Reading r;
  CHECK(device.read(r) == Status::ok);
  CHECK(r.X_DH.p.isApprox(Vec3(0.1, 0.2, 0.3)));
  CHECK((r.X_DH.q * Vec3::UnitX()).isApprox(Vec3::UnitY()));
  CHECK(r.buttons == 1);
  CHECK(device.write({Vec3(1, 2, 3), Vec3::Zero()}) == Status::ok);
  CHECK(stand_in.force.c[2] == 3);
  device.close();
  CHECK(stand_in.force.c[2] == 0);
  CHECK(device.read(r) == Status::lost);
}

TEST_CASE("deadline: points that had no cycle are counted, and no burst follows") {
  Deadline deadline(1'000'000);
  std::int64_t due = 1'000'000;
  due = deadline.next(due, due + 10'000, due + 50'000);
  CHECK(due == 2'000'000);
  due = deadline.next(due, due + 2'500'000, due + 2'600'000);
  CHECK(due == 5'000'000);
  CHECK(deadline.missed() == 2);
  CHECK(deadline.late_us_max() == doctest::Approx(2500));
}

TEST_CASE("deadband 10 %: of a hand's force at least 85 % is not sent, and the receiver is never more than that off") {
  test::Random random(3);
  double saved = 0;
  for (int run = 0; run < 20; ++run) {
    wire::ToolBand band{wire::DeadbandOptions{}};
    const double rate = random.uniform(1, 4), most = random.uniform(1, 8);
    wire::SixRow held{};
    std::uint32_t silent = 0;
    for (int k = 0; k < 5000; ++k) {
      const double f = std::max(0.0, most * std::sin(2 * M_PI * rate * 1e-3 * k));
      const wire::SixRow value{0.02 * f, 0, f, 0, 1e-3 * f, 0};
      ++silent;
      if (band.take({0, 0, 0, 1, 0, 0, 0}, value, nullptr, 0, 0)) held = value, silent = 0;
      CHECK(silent < wire::DeadbandOptions{}.heartbeat);
      const double size = std::hypot(held[0], held[2]);
      CHECK(std::hypot(value[0] - held[0], value[2] - held[2]) <= std::max(0.1 * size, 0.02) + 1e-12);
      CHECK(std::abs(value[4] - held[4]) <= std::max(0.1 * std::abs(held[4]), 5e-4) + 1e-12);
    }
    CHECK(band.count().error_max <= 1);
    saved += band.count().saved() / 20;
  }
  MESSAGE("saved " << 100 * saved << " %");
  CHECK(saved >= 0.85);
}

TEST_CASE("deadband of poses: who goes on with what was sent is never off by more than the band") {
  const wire::DeadbandOptions options;
  wire::DeviceBand band(options, 1e-3);
  DeviceMessage m;
  wire::PoseRow received{0, 0, 0, 1, 0, 0, 0};
  wire::SixRow velocity{};
  double worst = 0, worst_turn = 0;
  for (int k = 0; k < 10000; ++k) {
    const double t = 1e-3 * k;
    const Vec3 p(0.02 * std::sin(5 * t), 0.01 * std::cos(3 * t), 0.01 * std::sin(11 * t));
    const Vec3 v(0.1 * std::cos(5 * t), -0.03 * std::sin(3 * t), 0.11 * std::cos(11 * t));
    const double angle = 0.5 * std::sin(2 * t), rate = std::cos(2 * t);
    const wire::PoseRow X{p.x(), p.y(), p.z(), std::cos(0.5 * angle), 0, std::sin(0.5 * angle), 0};
    const wire::SixRow V{v.x(), v.y(), v.z(), 0, rate, 0};
    received = wire::predict_pose(received, velocity, 1e-3);
    if (band.take(X, V, {}, 0)) received = X, velocity = V;
    worst = std::max(worst, (Vec3(received[0], received[1], received[2]) - p).norm());
    const Quat q(X[3], X[4], X[5], X[6]), r(received[3], received[4], received[5], received[6]);
    worst_turn = std::max(worst_turn, q.angularDistance(r));
  }
  CHECK(worst <= options.position_band * (1 + 1e-6));
  CHECK(worst_turn <= options.angle_band * (1 + 1e-3));
  CHECK(worst > 0.5 * options.position_band);
  CHECK(band.count().saved() > 0.85);
}

TEST_CASE("deadband: what is discrete goes out at once, planes by their gap, and share 0 sends everything") {
  wire::DeadbandOptions options;
  const wire::PoseRow X{0, 0, 0.01, 1, 0, 0, 0};
  wire::PlaneRow plane{7, {0, 0, 1}, {0, 0, 0}, {0, 0, -0.009}};  // a gap of 1 mm
  wire::ToolBand band(options);
  CHECK(band.take(X, {}, &plane, 1, 0));
  CHECK_FALSE(band.take(X, {}, &plane, 1, 0));
  plane.p[2] = -0.00009;  // 9 % of the gap
  CHECK_FALSE(band.take(X, {}, &plane, 1, 0));
  plane.p[2] = -0.00011;
  CHECK(band.take(X, {}, &plane, 1, 0));
  CHECK(band.take(X, {}, &plane, 1, 1));
  plane.key = 8;
  CHECK(band.take(X, {}, &plane, 1, 1));
  CHECK(band.take(X, {}, nullptr, 0, 1));
  options.share = 0;
  wire::ToolBand all(options);
  for (int k = 0; k < 10; ++k) CHECK(all.take(X, {}, nullptr, 0, 0));
  CHECK(all.count().saved() == 0);
}

TEST_CASE(
    "playout: over a link with jitter and burst loss a wave's energy never grows, and none of its integral is lost") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test::Random random(seed);
    wire::Playout<1> playout;
    struct Item {
      int at, sent;
      double value;
    };
    std::vector<Item> way;
    double integral = 0, energy_in = 0, energy_out = 0, out = 0;
    bool bad = false;
    for (int k = 1; k <= 4000; ++k) {
      const double wave = k < 3000 ? std::sin(0.01 * k) + random.uniform(-1, 1) : 0.0;
      integral += wave;
      energy_in += wave * wave;
      bad = random.chance(bad ? 0.8 : 0.02);
      const int delay = 20 + static_cast<int>(random.below(6));
      if (!bad) way.push_back({k + delay, k, integral});
      for (const Item& item : way) {
        if (item.at == k)
          playout.push(static_cast<std::uint64_t>(item.sent), static_cast<std::uint64_t>(k), {item.value});
      }
      std::array<double, 1> played{};
      playout.advance(static_cast<std::uint64_t>(k), played);
      out += played[0];
      energy_out += played[0] * played[0];
      CHECK(energy_out <= energy_in + 1e-9);
    }
    CHECK(std::abs(out - integral) < 3.0);  // but for what the first message already held
  }
}

}  // namespace
}  // namespace tactus::haptic
