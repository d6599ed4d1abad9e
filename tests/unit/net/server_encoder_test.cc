// The state encoder against libprotobuf, byte for byte; packets never exceed a datagram and cover each row once.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "realtime.pb.h"
#include "server/net/udp/state_encoder.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kNumber = (std::uint64_t{1} << 40) + 3;  // of the newest verdict

struct Case {
  StateSlot slot;
  SubscriptionSpec spec;
  std::vector<VerdictRecord> verdicts;
  Echo echo;
  std::vector<std::uint32_t> contact_rows;
  std::vector<net::EndEffectorRow> end_effectors;
  std::vector<net::JacobianRow> jacobian;
  [[nodiscard]] net::PacketSource source() const {
    return {slot,
            spec,
            verdicts,
            echo,
            contact_rows,
            0,
            end_effectors,
            jacobian,
            net::kStatePayloadMax,
            verdicts.empty() ? 0 : kNumber};
  }
};

Case random_case(std::mt19937_64& random) {
  Case c;
  const auto coin = [&] { return random() % 2 == 0; };
  const auto number = [&] { return coin() ? 0.0 : std::uniform_real_distribution<double>(-10, 10)(random); };
  const std::uint32_t bodies = static_cast<std::uint32_t>(random() % 60);
  c.slot.pose.resize(7 * bodies), c.slot.velocity.resize(6 * bodies), c.slot.wrench.resize(6 * bodies);
  for (auto* column : {&c.slot.pose, &c.slot.velocity, &c.slot.wrench}) {
    for (double& x : *column) x = number();
  }
  for (BodyIndex b = 0; b < bodies; ++b) {
    if (coin()) c.spec.bodies.push_back(b);
  }
  c.spec.id = static_cast<std::uint32_t>(random() % 3);
  c.spec.velocity = coin(), c.spec.wrench = coin(), c.spec.contacts = coin(), c.spec.single_precision = coin();
  StateFrame& f = c.slot.frame;
  f.tick = coin() ? 0 : random();
  f.epoch = static_cast<std::uint32_t>(random());
  f.sim_time = coin() ? -0.0 : number();
  f.tick_start_ns = random();
  f.status_bits = coin() ? 0 : 255;
  f.real_time_factor = coin() ? 0.0f : 1.0f;
  f.ticks_missed = coin() ? 0 : random();
  f.report.contacts = static_cast<std::uint32_t>(random() % 100);
  f.report.points_dropped = static_cast<std::uint32_t>(random() % 2);
  f.play_time_ns = random() % 2 == 0 ? 0 : random();
  f.report.solver_failures = static_cast<std::uint32_t>(random() % 2);
  f.report.solver_fallbacks = static_cast<std::uint32_t>(random() % 3);
  f.report.inconsistent = static_cast<std::uint32_t>(random() % 2);
  f.report.indeterminate = static_cast<std::uint32_t>(random() % 2);
  ExactReport& e = f.report.exact;
  for (std::uint32_t* x :
       {&e.pieces, &e.collisions, &e.evaluations, &e.bisections, &e.breaks, &e.stops, &e.unresolved, &e.exhausted})
    *x = coin() ? 0 : static_cast<std::uint32_t>(random());
  e.event_time = number();
  f.report.depth_max = number();
  f.kinetic_energy = number();
  f.work_us = coin() ? 0.0f : 17.5f;
  f.wake_late_us = coin() ? -0.0f : 3.0f;
  for (std::uint64_t i = 0; i < random() % 9; ++i)
    c.verdicts.push_back({random(), random(), static_cast<std::uint32_t>(random() % 20), 5, 0});
  if (coin()) c.echo = {random(), random(), random()};
  c.slot.contacts.resize(c.spec.contacts ? random() % 80 : 0);
  for (std::uint32_t i = 0; i < c.slot.contacts.size(); ++i) {
    c.slot.contacts[i].body_a = i, c.slot.contacts[i].body_b = i + 1;
    c.slot.contacts[i].phase = static_cast<std::uint8_t>(random() % 3);
    for (float& x : c.slot.contacts[i].value) x = static_cast<float>(number());
    if (coin()) c.contact_rows.push_back(i);
  }
  return c;
}

// Joints, sensors, end effectors and Jacobians, as many as a humanoid has.
void add_robots(Case& c, std::mt19937_64& random) {
  const auto number = [&] { return std::uniform_real_distribution<double>(-10, 10)(random); };
  const auto joints = static_cast<std::uint32_t>(random() % 60), sensors = static_cast<std::uint32_t>(random() % 30);
  for (JointIndex i = 0; i < joints; ++i) {
    c.slot.joints.push_back({number(), number(), number(), number(), static_cast<std::uint32_t>(random() % 512), i});
    if (random() % 3 != 0) c.spec.joints.push_back(i);
  }
  for (std::uint32_t i = 0; i < sensors; ++i) {
    const std::uint32_t count = std::array<std::uint32_t, 3>{2, 3, 6}[random() % 3];
    c.spec.sensors.push_back({i, static_cast<std::uint32_t>(c.slot.sensors.size()), count});
    for (std::uint32_t k = 0; k < count; ++k) c.slot.sensors.push_back(number());
  }
  for (std::uint32_t i = 0; i < random() % 5; ++i) {
    c.spec.end_effectors.push_back(7 * i);
    c.end_effectors.emplace_back();
    for (double& x : c.end_effectors.back()) x = number();
    for (std::uint32_t dof = 0; dof < random() % 40; ++dof) {
      c.jacobian.push_back({7 * i, dof, {}});
      for (double& x : c.jacobian.back().value) x = number();
    }
  }
}

void put_robots(const Case& c, const net::PacketRange& range, v1::StatePacket& p) {
  const bool single = c.spec.single_precision;
  for (std::uint32_t i = range.joint_begin; i < range.joint_end; ++i) {
    const JointSample& x = c.slot.joints[c.spec.joints[i]];
    p.add_joint_id(c.spec.joints[i]), p.add_joint_bits(x.bits), p.add_joint_missed(x.missed);
    for (const double value : {x.q, x.v, x.effort, x.external_effort}) {
      if (single)
        p.add_joint_f(static_cast<float>(value));
      else
        p.add_joint(value);
    }
  }
  for (std::uint32_t i = range.sensor_begin; i < range.sensor_end; ++i) {
    const SubscriptionSpec::Sensor& s = c.spec.sensors[i];
    p.add_sensor_id(s.id);
    for (std::uint32_t k = 0; k < 6; ++k) {
      const double value = k < s.count ? c.slot.sensors[s.first + k] : 0.0;
      if (single)
        p.add_sensor_f(static_cast<float>(value));
      else
        p.add_sensor(value);
    }
  }
  for (std::uint32_t i = range.end_effector_begin; i < range.end_effector_end; ++i) {
    p.add_end_effector_id(c.spec.end_effectors[i]);
    for (const double x : c.end_effectors[i]) p.add_end_effector(x);
  }
  for (std::uint32_t i = range.jacobian_begin; i < range.jacobian_end; ++i) {
    p.add_jacobian_end_effector(c.jacobian[i].end_effector), p.add_jacobian_dof(c.jacobian[i].dof);
    for (const double x : c.jacobian[i].value) p.add_jacobian(x);
  }
}

void add_bodies(const Case& c, const net::PacketRange& range, v1::StatePacket& p) {
  for (std::uint32_t i = range.body_begin; i < range.body_end; ++i) {
    const std::size_t b = c.spec.bodies[i];
    p.add_body_id(static_cast<std::uint32_t>(b));
    for (std::size_t k = 0; k < 7; ++k) {
      if (c.spec.single_precision)
        p.add_pose_f(static_cast<float>(c.slot.pose[7 * b + k]));
      else
        p.add_pose(c.slot.pose[7 * b + k]);
    }
    for (std::size_t k = 0; k < 6; ++k) {
      const double v = c.slot.velocity[6 * b + k], w = c.slot.wrench[6 * b + k];
      if (c.spec.velocity && c.spec.single_precision) p.add_velocity_f(static_cast<float>(v));
      if (c.spec.velocity && !c.spec.single_precision) p.add_velocity(v);
      if (c.spec.wrench && c.spec.single_precision) p.add_wrench_f(static_cast<float>(w));
      if (c.spec.wrench && !c.spec.single_precision) p.add_wrench(w);
    }
  }
}

std::string by_protobuf(const Case& c, const net::PacketRange& range, std::uint32_t part, std::uint32_t parts,
                        std::uint64_t send_ns) {
  v1::StatePacket p;
  const StateFrame& f = c.slot.frame;
  p.set_scene_epoch(f.epoch), p.set_tick(f.tick), p.set_part(part), p.set_parts(parts), p.set_sim_time_s(f.sim_time);
  p.set_tick_start_ns(f.tick_start_ns), p.set_send_ns(send_ns), p.set_subscription(c.spec.id),
      p.set_status_bits(f.status_bits);
  p.set_real_time_factor(f.real_time_factor), p.set_ticks_missed(f.ticks_missed);
  p.set_echo_client_send_ns(c.echo.client_send_ns), p.set_echo_server_recv_ns(c.echo.server_recv_ns),
      p.set_echo_sequence(c.echo.sequence);
  add_bodies(c, range, p);
  for (std::uint32_t i = range.contact_begin; i < range.contact_end; ++i) {
    const ContactRow& row = c.slot.contacts[c.contact_rows[i]];
    p.add_contact_body_a(row.body_a), p.add_contact_body_b(row.body_b);
    for (const float x : row.value) p.add_contact(x);
    p.mutable_contact_phase()->push_back(static_cast<char>(row.phase));
  }
  for (const VerdictRecord& v : c.verdicts) {
    p.add_verdict_sequence(v.sequence), p.add_verdict_code(v.code), p.add_verdict_tick(v.tick);
    p.add_verdict_age_us(v.age_us), p.add_verdict_item(v.item);
  }
  if (!c.verdicts.empty()) p.set_verdict_number(kNumber);
  p.set_contacts(f.report.contacts), p.set_contacts_dropped(f.report.points_dropped + f.report.pairs_dropped);
  p.set_penetration_max_m(static_cast<float>(f.report.depth_max)),
      p.set_kinetic_energy_j(static_cast<float>(f.kinetic_energy));
  p.set_work_us(f.work_us), p.set_wake_late_us(f.wake_late_us);
  p.set_solver_failures(f.report.solver_failures), p.set_solver_fallbacks(f.report.solver_fallbacks);
  p.set_inconsistent(f.report.inconsistent), p.set_indeterminate(f.report.indeterminate);
  const ExactReport& e = f.report.exact;
  p.set_exact_pieces(e.pieces), p.set_exact_collisions(e.collisions), p.set_exact_evaluations(e.evaluations);
  p.set_exact_bisections(e.bisections), p.set_exact_breaks(e.breaks), p.set_exact_stops(e.stops);
  p.set_exact_unresolved(e.unresolved), p.set_exact_exhausted(e.exhausted), p.set_exact_event_time_s(e.event_time);
  p.set_play_time_ns(f.play_time_ns);
  put_robots(c, range, p);
  return p.SerializeAsString();
}

}  // namespace

TEST_CASE("server_encoder: the same bytes as libprotobuf, every row once, every packet within a datagram") {
  std::mt19937_64 random(11);
  std::vector<net::PacketRange> plan;
  std::array<std::uint8_t, net::kStatePayloadMax> out{};
  for (int i = 0; i < 2000; ++i) {
    Case c = random_case(random);
    if (i % 2 == 0) add_robots(c, random);
    net::plan_packets(c.source(), plan);
    REQUIRE(!plan.empty());
    std::uint32_t body = 0, contact = 0, joint = 0, sensor = 0, end_effector = 0, column = 0;
    for (std::uint32_t part = 0; part < plan.size(); ++part) {
      const net::PacketRange& range = plan[part];
      REQUIRE(range.body_begin == body);
      REQUIRE(range.contact_begin == contact);
      REQUIRE(range.joint_begin == joint);
      REQUIRE(range.sensor_begin == sensor);
      REQUIRE(range.end_effector_begin == end_effector);
      REQUIRE(range.jacobian_begin == column);
      body = range.body_end, contact = range.contact_end, joint = range.joint_end, sensor = range.sensor_end;
      end_effector = range.end_effector_end, column = range.jacobian_end;
      const auto parts = static_cast<std::uint32_t>(plan.size());
      const std::size_t length = net::encode_packet(c.source(), range, part, parts, 99, out.data());
      const std::string expected = by_protobuf(c, range, part, parts, 99);
      REQUIRE(length == expected.size());
      REQUIRE(std::memcmp(out.data(), expected.data(), length) == 0);
    }
    REQUIRE(body == c.spec.bodies.size());
    REQUIRE(contact == c.contact_rows.size());
    REQUIRE(joint == c.spec.joints.size());
    REQUIRE(sensor == c.spec.sensors.size());
    REQUIRE(end_effector == c.end_effectors.size());
    REQUIRE(column == c.jacobian.size());
  }
}

TEST_CASE("server_encoder: a longer packet holds all rows at once, and is as long as it may be at most") {
  std::mt19937_64 random(12);
  std::vector<net::PacketRange> plan;
  for (const std::size_t most : {3000u, 256u << 10}) {
    std::vector<std::uint8_t> out(most);
    for (int i = 0; i < 200; ++i) {
      const Case c = random_case(random);
      net::PacketSource source = c.source();
      source.payload_max = most;
      net::plan_packets(source, plan);
      if (most > 20'000) REQUIRE(plan.size() == 1);
      for (std::uint32_t part = 0; part < plan.size(); ++part) {
        const auto parts = static_cast<std::uint32_t>(plan.size());
        const std::size_t length = net::encode_packet(source, plan[part], part, parts, 99, out.data());
        REQUIRE(length <= most);
        REQUIRE(std::string(out.begin(), out.begin() + static_cast<long>(length)) ==
                by_protobuf(c, plan[part], part, parts, 99));
      }
    }
  }
}

TEST_CASE(
    "server_encoder: a packet carries what proto/README.md promises: about 25 bodies in single precision, 12 with pose "
    "and velocity") {
  SubscriptionSpec spec;
  for (BodyIndex b = 0; b < 100; ++b) spec.bodies.push_back(b);
  spec.velocity = true;
  CHECK(net::packets_per_tick(spec) == 13);  // 8 bodies a packet
  spec.single_precision = true;
  CHECK(net::packets_per_tick(spec) == 6);  // 17
  spec.bodies.clear();
  CHECK(net::packets_per_tick(spec) == 1);
}
