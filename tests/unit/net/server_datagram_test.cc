// Decoding of what strangers send: each defect has its name, and random bytes do no harm.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "realtime.pb.h"
#include "server/net/udp/datagram.h"

using namespace tactus;

namespace {

v1::CommandPacket good(int rows) {
  v1::CommandPacket p;
  p.set_scene_epoch(5);
  p.set_client_send_ns(1234);
  for (int i = 0; i < rows; ++i) {
    p.add_body_id(static_cast<std::uint32_t>(i));
    for (int k = 0; k < 6; ++k) p.add_wrench(k);
  }
  return p;
}

net::Refusal decode(const v1::CommandPacket& packet, net::CommandDatagram& out) {
  net::DatagramDecoder decoder;
  const std::string bytes = packet.SerializeAsString();
  return decoder.decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, out);
}

}  // namespace

TEST_CASE("server_datagram: a good command arrives as sent; deadline default and cap") {
  net::CommandDatagram out;
  v1::CommandPacket p = good(3);
  CHECK(decode(p, out).code == v1::VERDICT_NONE);
  CHECK(out.rows == 3);
  CHECK(out.epoch == 5);
  CHECK(out.client_send_ns == 1234);
  CHECK(out.deadline_us == 20'000);
  CHECK(out.row[2].force[1] == 1);
  CHECK(out.row[2].torque[2] == 5);
  CHECK_FALSE(out.row[2].at_point);
  p.set_deadline_us(900'000);
  decode(p, out);
  CHECK(out.deadline_us == 200'000);
  CHECK(decode(good(0), out).code == v1::VERDICT_NONE);
  CHECK(out.rows == 0);
  CHECK(decode(good(64), out).code == v1::VERDICT_NONE);
}

TEST_CASE("server_datagram: joint rows arrive as sent, one by one and for a whole robot, beside wrenches") {
  net::CommandDatagram out;
  v1::CommandPacket p = good(2);
  for (std::uint32_t i = 0; i < 3; ++i) p.add_joint_id(10 + i), p.add_joint_value(0.5 * i), p.add_joint_mode(i);
  CHECK(decode(p, out).code == v1::VERDICT_NONE);
  CHECK(out.rows == 2);
  REQUIRE(out.joint_rows == 3);
  CHECK(out.joint[2].joint == 12);
  CHECK(out.joint[2].kind == DriveKind::position);
  CHECK(out.joint[2].value == 1);
  v1::CommandPacket robot;
  robot.set_robot(4);
  robot.add_joint_mode(v1::JOINT_VELOCITY);
  for (int i = 0; i < 7; ++i) robot.add_joint_value(i), robot.add_joint_rate(-i);
  CHECK(decode(robot, out).code == v1::VERDICT_NONE);
  CHECK(out.robot == 4);
  REQUIRE(out.joint_rows == 7);
  CHECK(out.joint[6].joint == kNone);
  CHECK(out.joint[6].kind == DriveKind::velocity);
  CHECK(out.joint[6].rate == -6);
}

TEST_CASE("server_datagram: defects of joint rows have their names, and rows count on from the wrenches") {
  net::CommandDatagram out;
  const auto refused = [&](auto change) {
    v1::CommandPacket p = good(2);
    for (std::uint32_t i = 0; i < 3; ++i) p.add_joint_id(10 + i), p.add_joint_value(1);
    change(p);
    return decode(p, out);
  };
  using P = v1::CommandPacket;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused([](P& p) { p.add_joint_value(1); }).code == v1::VERDICT_REFUSED_WRONG_COUNT);
  CHECK(refused([](P& p) { p.set_robot(1); }).code == v1::VERDICT_REFUSED_WRONG_COUNT);
  CHECK(refused([](P& p) { p.add_joint_mode(0), p.add_joint_mode(0); }).code == v1::VERDICT_REFUSED_WRONG_COUNT);
  CHECK(refused([](P& p) { p.add_joint_rate(0); }).code == v1::VERDICT_REFUSED_WRONG_COUNT);
  const net::Refusal not_finite = refused([&](P& p) { p.set_joint_value(2, nan); });
  CHECK(not_finite.code == v1::VERDICT_REFUSED_NOT_FINITE);
  CHECK(not_finite.row == 4);
  CHECK(refused([](P& p) { p.set_joint_value(0, -1.1e6); }).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  CHECK(refused([](P& p) { p.set_joint_id(2, 10); }).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  CHECK(refused([](P& p) { p.add_joint_mode(4); }).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  CHECK(refused([](P& p) {
          for (std::uint32_t i = 100; i < 230; ++i) p.add_joint_id(i), p.add_joint_value(1);
        }).code == v1::VERDICT_REFUSED_WRONG_COUNT);
}

TEST_CASE("server_datagram: each defect has its name and its row") {
  net::CommandDatagram out;
  v1::CommandPacket p = good(2);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    p.set_wrench(7, bad);
    const net::Refusal refusal = decode(p, out);
    CHECK(refusal.code == v1::VERDICT_REFUSED_NOT_FINITE);
    CHECK(refusal.row == 1);
  }
  p.set_wrench(7, 2e6);
  CHECK(decode(p, out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  p = good(2);
  p.add_wrench(1);
  CHECK(decode(p, out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  p = good(2);
  p.add_frame(0);
  CHECK(decode(p, out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  p.add_frame(2);
  CHECK(decode(p, out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  p = good(2);
  p.set_body_id(1, 0);  // one body twice
  CHECK(decode(p, out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  CHECK(decode(good(65), out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
  p = good(1);
  for (int k = 0; k < 3; ++k) p.add_point(k == 1 ? 1e9 : 0);
  CHECK(decode(p, out).code == v1::VERDICT_REFUSED_OUT_OF_RANGE);
}

TEST_CASE("server_datagram: random bytes and damaged commands are refused or decode to finite rows") {
  std::mt19937_64 random(1);
  net::DatagramDecoder decoder;
  const auto out = std::make_unique<net::CommandDatagram>();
  const std::string whole = good(10).SerializeAsString();
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::uint8_t> bytes(whole.begin(), whole.end());
    if (i % 2 == 0) bytes.resize(random() % 1368);
    const std::size_t damages = i % 2 == 0 ? bytes.size() : 1 + random() % 4;
    for (std::size_t k = 0; k < damages && !bytes.empty(); ++k)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    const net::Refusal refusal = decoder.decode(bytes, *out);
    REQUIRE(out->rows <= 64);
    if (refusal.code != v1::VERDICT_NONE) continue;
    for (std::uint32_t r = 0; r < out->rows; ++r) {
      for (int k = 0; k < 3; ++k)
        REQUIRE(std::isfinite(out->row[r].force[k] + out->row[r].torque[k] + out->row[r].point_B[k]));
      REQUIRE(out->row[r].frame <= 1);
    }
    net::PingDatagram ping;
    net::GrantDatagram grant;
    decoder.decode(bytes, ping);
    decoder.decode(bytes, grant);
  }
}
