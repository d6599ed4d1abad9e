// The driver for Haply's Inverse Service: texts, a hand on a wall through the mock service, and a service that fails.
#include <doctest/doctest.h>

#include <chrono>

#include "clients/haptic/src/haply_protocol.h"
#include "tactus/haptic/haply_device.h"
#include "tests/support/haply_mock.h"

namespace tactus::haptic {
namespace {

using Mock = test::HaplyMock;
using Clock = std::chrono::steady_clock;

constexpr const char* kFrame =
    R"({"session_id":7,"inverse3":[{"device_id":"049D","config":{"type":"minverse"},"state":{"cursor_position":)"
    R"({"x":0.01,"y":-0.12,"z":0.15},"cursor_velocity":{"x":1,"y":2,"z":3}},"status":{"calibrated":true}}],)"
    R"("wireless_verse_grip":[{"device_id":"61548","state":{"orientation":{"w":0,"x":1,"y":0,"z":0},)"
    R"("buttons":{"a":true,"b":false,"c":true}}}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kFrame;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("haply: a frame is read, by the device that was asked for or the first") {
  HaplyFrame f;
  REQUIRE(read_haply(kFrame, "", f).empty());
  CHECK(f.device_id == "049D");
  CHECK(f.type == "minverse");
  CHECK(f.position == Vec3(0.01, -0.12, 0.15));
  CHECK(f.velocity == Vec3(1, 2, 3));
  CHECK(f.has_grip);
  CHECK(f.orientation.x() == 1);
  CHECK(f.buttons == 5);
  CHECK(read_haply(kFrame, "049D", f).empty());
  CHECK(read_haply(kFrame, "1234", f).find("1234") != std::string::npos);
}

TEST_CASE("haply: a frame that makes no sense is refused by name, and nothing of it is taken for a pose") {
  HaplyFrame f;
  for (const std::string& text :
       {std::string(), std::string("7"), std::string("["), std::string("{}"), with("\"inverse3\":[", "\"inverse4\":["),
        with("\"049D\"", "3"), std::string("{\"inverse3\":7}"), std::string("{\"inverse3\":[1,2]}")}) {
    CAPTURE(text);
    CHECK_FALSE(read_haply(text, "", f).empty());
  }
  for (const char* y : {"null", "\"a\"", "1e999", "{}", "true"})
    CHECK_FALSE(read_haply(with("-0.12", y), "", f).empty());
  CHECK(read_haply(with("\"y\":-0.12", "\"u\":1"), "", f).find("cursor_position") != std::string::npos);
  CHECK(read_haply(with("\"w\":0,\"x\":1", "\"w\":0,\"x\":7"), "", f).find("unit") != std::string::npos);
  CHECK_FALSE(read_haply(std::string(100000, '['), "", f).empty());
}

TEST_CASE("haply: what is sent is a force to the device, and once a name") {
  const auto first = nlohmann::json::parse(haply_command("049D", Vec3(1, 2, 3), true));
  CHECK(first.at("session").at("configure").at("profile").at("name") == "tactus:haptic");
  const auto& device = first.at("inverse3").at(0);
  CHECK(device.at("device_id") == "049D");
  CHECK(device.at("commands").at("set_cursor_force").at("vector") == nlohmann::json({{"x", 1}, {"y", 2}, {"z", 3}}));
  CHECK_FALSE(nlohmann::json::parse(haply_command("049D", Vec3::Zero(), false)).contains("session"));
}

// The next reading, or what came instead; waits at most as long as the device's patience.
Status next(HaplyDevice& device, Reading& r) {
  Status status = Status::not_ready;
  const auto patience = Clock::now() + std::chrono::seconds(20);
  while (status == Status::not_ready && Clock::now() < patience) {
    status = device.read(r);
    if (status == Status::not_ready) std::this_thread::yield();
  }
  return status;
}

HaplyOptions at(const Mock& mock, double patience = 10) {
  HaplyOptions o;
  o.port = mock.port();
  o.patience_s = patience;
  return o;
}

TEST_CASE("haply: a hand presses on a wall through the mock service, and feels the wall's force") {
  Hand hand;
  hand.damping = 20;
  hand.wants = [](double t) {
    Pose X;
    X.p.z() = -0.01 * std::min(1.0, t / 0.5);
    return X;
  };
  Mock mock({}, hand);
  REQUIRE(mock.port() > 0);
  HaplyDevice device(at(mock));
  REQUIRE(device.open().empty());
  const Capabilities c = device.capabilities();
  CHECK(fault_in(c).empty());
  CHECK(c.axes_sensed == 6);
  CHECK(c.axes_actuated == 3);
  constexpr double kWall = 400;
  Reading r;
  for (int k = 0; k < 1500; ++k) {
    REQUIRE(next(device, r) == Status::ok);
    REQUIRE(device.write({Vec3(0, 0, -kWall * std::min(0.0, r.X_DH.p.z())), Vec3::Zero()}) == Status::ok);
  }
  const Mock::Seen seen = mock.seen();
  CHECK_MESSAGE(seen.wrong == 0, seen.first_wrong);
  CHECK(seen.profile == "tactus:haptic");
  // Springs in series: hand 500 N/m to -10 mm, wall 400 N/m from 0.
  CHECK(seen.position.z() == doctest::Approx(-0.01 * 500 / 900).epsilon(0.002));
  CHECK(seen.force.z() == doctest::Approx(0.01 * 500 * 400 / 900).epsilon(0.002));
  CHECK(seen.hand_force.z() == doctest::Approx(-seen.force.z()).epsilon(0.002));
  device.close();
  const auto patience = Clock::now() + std::chrono::seconds(5);
  while (!mock.seen().force.isZero(0) && Clock::now() < patience) std::this_thread::yield();
  CHECK(mock.seen().force.isZero(0));  // the service holds what it was told last
  CHECK(device.read(r) == Status::lost);
}

TEST_CASE("haply: the force that is sent is never above the device's, and never no number") {
  Mock mock({});
  HaplyDevice device(at(mock));
  REQUIRE(device.open().empty());
  Reading r;
  REQUIRE(next(device, r) == Status::ok);
  CHECK(device.write({Vec3(0, std::nan(""), 0), Vec3::Zero()}) == Status::not_ready);
  CHECK(device.write({Vec3(300, 400, 0), Vec3::Zero()}) == Status::ok);
  REQUIRE(next(device, r) == Status::ok);
  CHECK(mock.seen().force.isApprox(Vec3(3, 4, 0)));
}

TEST_CASE("haply: a service that falls silent, talks nonsense or hangs up is lost, and says why") {
  for (const Mock::Conduct conduct :
       {Mock::Conduct::silent, Mock::Conduct::no_json, Mock::Conduct::no_number, Mock::Conduct::hangs_up}) {
    Mock mock({});
    HaplyDevice device(at(mock, 0.2));
    REQUIRE(device.open().empty());
    Reading r;
    REQUIRE(next(device, r) == Status::ok);
    mock.behave(conduct);
    (void)device.write({});  // who hangs up may have done so before this returns
    CHECK(next(device, r) == Status::lost);
    CHECK_FALSE(device.problem().empty());
    const bool nonsense = conduct == Mock::Conduct::no_json || conduct == Mock::Conduct::no_number;
    CHECK((device.bad_frames() > 0) == nonsense);
  }
}

TEST_CASE("haply: an unanswered message or four, but no queue") {
  Mock mock({});
  HaplyDevice device(at(mock));
  REQUIRE(device.open().empty());
  mock.behave(Mock::Conduct::silent);
  int sent = 0;
  for (int k = 0; k < 100; ++k) {
    sent += device.write({}) == Status::ok ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(sent >= 1);
  CHECK(sent <= 5);
}

TEST_CASE("haply: nobody there, or no device there, is told with what to do") {
  HaplyOptions nobody;
  nobody.port = 1;
  HaplyDevice none(nobody);
  CHECK(none.open().find("service running") != std::string::npos);
  Reading r;
  CHECK(none.read(r) == Status::lost);
  Mock mock({});
  mock.behave(Mock::Conduct::no_device);
  HaplyDevice empty(at(mock));
  CHECK(empty.open().find("plugged in") != std::string::npos);
}

}  // namespace
}  // namespace tactus::haptic
