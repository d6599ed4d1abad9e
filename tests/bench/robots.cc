// Robots in numbers: the two driving robots of the benchmark beside ODE and MuJoCo in the same run; eight real robots
// let fall on a floor; chains of 5 to 80 links. usage: tactus_bench_robots [CSV] [REGEX of cases] (about a minute)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <regex>

#include "tests/bench/bench_cases.h"
#include "tests/bench/depth_meter.h"
#include "tests/support/real_robots.h"

#ifdef TACTUS_HAS_MUJOCO
#include <mujoco/mujoco.h>
#endif

namespace tactus::bench {
namespace {

constexpr EngineKind kEngines[] = {EngineKind::tactus, EngineKind::ode_step, EngineKind::ode_quick, EngineKind::mujoco};
constexpr int kSteps = 2500;

struct Output {
  std::string csv;
  std::regex wanted;

  [[nodiscard]] bool wants(const std::string& name) const { return std::regex_search(name, wanted); }
};

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[300];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// The links as bodies of their own, so that poses of any engine can be put in.
std::unique_ptr<Model> loose_links(const Model& model) {
  auto out = copy_model(model);
  for (Body& body : out->bodies)
    if (body.mode == BodyMode::link) body.mode = BodyMode::free;
  out->joints.clear(), out->robots.clear(), out->frames.clear(), out->drives.clear();
  out->joint_q0.clear(), out->joint_v0.clear();
  finish_model(*out);
  return out;
}

std::string mujoco_version() {
#ifdef TACTUS_HAS_MUJOCO
  return std::string("; MuJoCo ") + mj_versionString();
#else
  return "";
#endif
}

struct RobotRow {
  Percentiles cpu_us;
  double depth_mean = 0, depth_max = 0;
  Vec3 base = Vec3::Zero();  // mass centre of the first link at the end [m]
};

RobotRow drive_robot(const Model& model, EngineKind kind) {
  const auto engine = make_engine(kind, model);
  const auto loose = loose_links(model);
  DepthMeter meter(*loose);
  StepClock clock(kSteps);
  RobotRow row;
  for (int i = 0; i < kSteps; ++i) {
    clock.begin();
    engine->step();
    clock.end();
    const double depth = meter.deepest(*engine);
    row.depth_mean += depth / kSteps;
    row.depth_max = std::max(row.depth_max, depth);
  }
  row.cpu_us = percentiles(clock.finish());
  Pose X;
  SpatialVelocity V;
  engine->read(model.joints.front().child, X, V);
  row.base = X.p;
  return row;
}

// The quickest of three runs: other work on the machine only ever slows one down. All else is the same in each.
RobotRow drive_robot_thrice(const Model& model, EngineKind kind) {
  RobotRow best = drive_robot(model, kind);
  for (int i = 1; i < 3; ++i) {
    const RobotRow row = drive_robot(model, kind);
    if (row.cpu_us.median < best.cpu_us.median) best = row;
  }
  return best;
}

// The engines drive the same robot: where its base ends is beside the times.
void bench_driving(Output& out) {
  std::printf("Driving robots, %d steps: median us a step / mean depth in mm, and where the base ends\n", kSteps);
  out.csv += "# driving: scene,engine,cpu_us_median,cpu_us_p99,penetration_mean_m,penetration_max_m,x_m,y_m,z_m\n";
  for (const std::string name : {"mobile_robot", "humanoid26"}) {
    if (!out.wants(name)) continue;
    const auto model = load_scene(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + name + ".toml", {});
    model->sensors.clear();  // the peers measure nothing
    double ours = 0, fastest = 0;
    for (const EngineKind kind : kEngines) {
      if (!available(kind)) continue;
      const RobotRow r = drive_robot_thrice(*model, kind);
      const Vec3& p = r.base;
      std::printf("%-14s %-10s %8.2f / %.2g   p99 %.2f, deepest %.2g mm, base at %.4f %.4f %.4f m\n", name.c_str(),
                  to_string(kind), r.cpu_us.median, 1e3 * r.depth_mean, r.cpu_us.p99, 1e3 * r.depth_max, p.x(), p.y(),
                  p.z());
      out.csv += format("driving,%s,%s,%.4g,%.4g,%.4g,%.4g,%.6f,%.6f,%.6f\n", name.c_str(), to_string(kind),
                        r.cpu_us.median, r.cpu_us.p99, r.depth_mean, r.depth_max, p.x(), p.y(), p.z());
      if (kind == EngineKind::tactus)
        ours = r.cpu_us.median;
      else if (fastest == 0 || r.cpu_us.median < fastest)
        fastest = r.cpu_us.median;
    }
    if (fastest == 0) continue;
    std::printf("%-14s ours / fastest peer %.2f\n", name.c_str(), ours / fastest);
    out.csv += format("# %s: ours / fastest peer %.3f\n", name.c_str(), ours / fastest);
  }
}

Percentiles time_world(World& world, int settle, int steps, const std::function<void(const StepReport&)>& each) {
  for (int i = 0; i < settle; ++i) world.step();
  StepClock clock(static_cast<std::uint64_t>(steps));
  for (int i = 0; i < steps; ++i) {
    clock.begin();
    const StepReport report = world.step();
    clock.end();
    each(report);
  }
  return percentiles(clock.finish());
}

// Lowest point on the floor, no drives: each falls in the first 2 s and lies in the last.
void bench_real(Output& out) {
  if (!out.wants("real") || !test::real_robots_found()) return;
  std::printf("\nReal robots on a floor, free to fall: us a step while falling (2 s) and lying (1 s)\n");
  out.csv += "# real: robot,dofs,shapes,cpu_us_median_falling,cpu_us_p99_falling,cpu_us_median_lying,points_mean\n";
  for (const test::RealRobot& robot : test::kRealRobots) {
    auto model = test::load_real_robot(robot, "floating");
    const auto dofs = model->joint_v0.size(), shapes = model->shapes.size();
    World world(std::move(model), Limits{});
    const Percentiles falling = time_world(world, 0, 2000, [](const StepReport&) {});
    double points = 0;
    const Percentiles lying =
        time_world(world, 0, 1000, [&](const StepReport& report) { points += report.contacts / 1000.0; });
    std::printf("%-18s %2zu dofs %3zu shapes: falling %7.2f (p99 %.2f), lying %7.2f with %.1f points\n", robot.name,
                dofs, shapes, falling.median, falling.p99, lying.median, points);
    out.csv += format("real,%s,%zu,%zu,%.4g,%.4g,%.4g,%.1f\n", robot.name, dofs, shapes, falling.median, falling.p99,
                      lying.median, points);
  }
}

// n links in a row: rods of 0.1 m and 0.3 kg on hinges, axes in turn y and x; fan: the same as n / 5 arms of 5.
test::Scene chain(int n, bool fan) {
  test::Scene scene;
  Model& model = *scene.model;
  test::add_robot(model, "chain");
  BodyIndex parent = kNone;
  for (int i = 0; i < n; ++i) {
    const bool root = i == 0 || (fan && i % 5 == 0);
    if (root) parent = kNone;
    const BodyIndex link = test::add_link(model, 0.3, Vec3(2.5e-4, 2.5e-4, 1e-5).asDiagonal(), Vec3(0, 0, -0.05));
    test::add_joint(model, JointKind::revolute, parent, link, test::at(root ? 0.1 * i : 0, 0, root ? 0 : -0.1),
                    i % 2 ? Vec3::UnitX() : Vec3::UnitY());
    model.joints.back().damping = 0.01;
    parent = link;
  }
  model.joint_v0.assign(static_cast<std::size_t>(n), 2.0 / n);
  return scene;
}

void bench_chains(Output& out) {
  if (!out.wants("chain")) return;
  std::printf("\nChains and fans of arms of 5 that swing without contact: us a step, and us of one v' by ABA\n");
  out.csv += "# links: kind,links,cpu_us_median,aba_us\n";
  for (const bool fan : {false, true}) {
    const char* name = fan ? "fan" : "chain";
    std::vector<std::pair<double, double>> ticks, abas;
    for (const int n : {5, 10, 20, 40, 80}) {
      World world = chain(n, fan).world();
      std::uint32_t frozen = 0;
      const Percentiles tick = time_world(world, 0, 2000, [&](const StepReport& r) { frozen += r.bodies_frozen; });
      if (frozen > 0) throw std::runtime_error("a chain became non-finite");
      test::RobotBench bench(chain(n, fan));
      std::vector<double> tau(static_cast<std::size_t>(n), 0.0), a(tau);
      StepClock clock(2000);
      for (int i = 0; i < 2000; ++i) {
        clock.begin();
        bench.tree->positions(bench.state);
        bench.tree->velocities(bench.state);
        bench.tree->forward_dynamics(Vec3(0, 0, -9.81), tau.data(), nullptr, a.data());
        clock.end();
      }
      const double aba = percentiles(clock.finish()).median;
      ticks.emplace_back(n, tick.median), abas.emplace_back(n, aba);
      std::printf("%-6s %2d links: %7.2f, ABA %7.2f\n", name, n, tick.median, aba);
      out.csv += format("links,%s,%d,%.4g,%.4g\n", name, n, tick.median, aba);
    }
    const double grows = growth_exponent(ticks), aba_grows = growth_exponent(abas);
    std::printf("%-6s a step grows with n^%.2f, ABA with n^%.2f\n", name, grows, aba_grows);
    out.csv += format("# %s: a step grows with n^%.2f, ABA with n^%.2f\n", name, grows, aba_grows);
  }
}

int bench_all(const char* path, const char* filter) {
  Output out{"# " + machine_line() + mujoco_version() + "\n", std::regex(filter)};
  bench_driving(out);
  bench_real(out);
  bench_chains(out);
  return std::ofstream(path) << out.csv ? 0 : 1;
}

}  // namespace
}  // namespace tactus::bench

int main(int argc, char** argv) {
  try {
    return tactus::bench::bench_all(argc > 1 ? argv[1] : "/dev/null", argc > 2 ? argv[2] : "");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactus_bench_robots: %s\n", e.what());
    return 1;
  }
}
