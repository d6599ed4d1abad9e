// Meshes in numbers: what a distance field costs and how exact it is, and what a tick costs with two meshes of 20,000
// triangles in contact, over the number of contact points. usage: tactus_bench_mesh [CSV] (about two minutes)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/collide/mesh/collide_mesh.h"
#include "tests/bench/usage.h"
#include "tests/support/meshes.h"
#include "tests/support/scenes.h"

namespace tactus::test {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double percentile(std::vector<double> x, double share) {
  std::sort(x.begin(), x.end());
  return x[static_cast<std::size_t>(share * static_cast<double>(x.size() - 1))];
}

Vec3 near_surface(const TriangleMesh& mesh, double reach, Random& random) {
  const std::uint32_t t = random.below(static_cast<std::uint32_t>(mesh.triangles.size()));
  double u = random.uniform(0, 1), v = random.uniform(0, 1);
  if (u + v > 1) u = 1 - u, v = 1 - v;
  const TriangleMesh::Triangle& c = mesh.triangles[t];
  const Vec3& a = mesh.vertices[c[0]];
  const double along = random.uniform(-reach, reach);
  return a + u * (mesh.vertices[c[1]] - a) + v * (mesh.vertices[c[2]] - a) + along * mesh.normals[t];
}

// One row: builds the field and measures it within 1 mm of the surface.
MeshPtr field_row(const char* name, const TriangleMesh& raw, double tolerance, FILE* csv) {
  const double start = now();
  const MeshPtr mesh = finish_mesh(raw, tolerance);
  const double build = now() - start;
  const FieldStats stats = field_stats(*mesh->field);
  Random random(1);
  std::vector<Vec3> points;
  for (int i = 0; i < 20000; ++i) points.push_back(near_surface(*mesh, 1e-3, random));
  double error = 0, turn = 0, sum = 0;
  for (const Vec3& p : points) {
    const MeshClosest exact = closest_on_mesh(*mesh, p);
    const FieldSample s = sample_field(*mesh->field, *mesh, p);
    error = std::max(error, std::abs(s.distance - exact.distance));
    turn = std::max(turn, std::atan2(s.gradient_S.cross(exact.gradient_S).norm(), s.gradient_S.dot(exact.gradient_S)));
  }
  double best = 1e300;
  for (int round = 0; round < 5; ++round) {
    const double t = now();
    for (const Vec3& p : points) sum += sample_field(*mesh->field, *mesh, p).distance;
    best = std::min(best, (now() - t) / static_cast<double>(points.size()));
  }
  std::printf("%-10s %9zu %9.0e %8.2f %9zu %3d %9.2f %10.2e %9.2e %7.0f%s\n", name, mesh->triangles.size(), tolerance,
              build, stats.cells, stats.depth, static_cast<double>(stats.bytes) / 1e6, error, turn, best * 1e9,
              std::isfinite(sum) ? "" : " not finite");
  std::fprintf(csv, "field,%s,%zu,%g,%.3f,%zu,%zu,%.3e,%.3e,%.0f\n", name, mesh->triangles.size(), tolerance, build,
               stats.cells, stats.bytes, error, turn, best * 1e9);
  return mesh;
}

// One row: whole ticks of b held in a while it slides by 1 um a tick, so that no tick repeats another.
void tick_row(const char* name, const MeshPtr& a, const MeshPtr& b, const Pose& X_WB, FILE* csv) {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  scene.add(make_mesh(a.get()), 1, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const BodyIndex body = scene.add(make_mesh(b.get()), 1, X_WB);
  World world = scene.world();
  MeshScratch scratch(world.limits().mesh_points_per_pair);
  PairRecord records[4] = {};
  MeshContacts found;
  collide_mesh(make_mesh(a.get()), Frame{}, make_mesh(b.get()), {X_WB.q.toRotationMatrix(), X_WB.p}, 0, records, 4,
               scratch, found);
  std::uint32_t points = 0;
  for (const ContactBuffer& patch : found.patch) points += patch.count;
  std::vector<double> us;
  for (int i = 0; i < 400; ++i) {
    Pose X = X_WB;
    X.p.x() += 1e-6 * i;
    world.set_body(body, X, {});
    const double t = now();
    world.step();
    if (i >= 50) us.push_back((now() - t) * 1e6);
  }
  const double median = percentile(us, 0.5), p99 = percentile(us, 0.99);
  const double n_lg_n = points * std::log2(std::max(2u, points));
  std::printf("%-14s %8zu %8zu %7u %10.1f %10.1f %10.4f\n", name, a->triangles.size(), b->triangles.size(), points,
              median, p99, median / n_lg_n);
  std::fprintf(csv, "tick,%s,%zu,%zu,%u,%.1f,%.1f,%.5f\n", name, a->triangles.size(), b->triangles.size(), points,
               median, p99, median / n_lg_n);
}

int bench_all(const char* path) {
  FILE* csv = std::fopen(path, "w");
  if (csv == nullptr) return 1;
  const char* commit = std::getenv("TACTUS_COMMIT");
  std::fprintf(csv,
               "# compiler %s; commit %s\n# field: mesh,triangles,tolerance_m,build_s,cells,bytes,error_m,gradient_rad,"
               "query_ns\n# tick: scene,triangles_a,triangles_b,points,us_median,us_p99,us_per_n_lg_n\n",
               __VERSION__, commit ? commit : "unknown");
  std::printf("%-10s %9s %9s %8s %9s %3s %9s %10s %9s %7s\n", "mesh", "triangles", "tolerance", "build_s", "cells",
              "lvl", "MB", "error_m", "grad_rad", "ns");
  for (const double tolerance : {1e-4, 1e-5}) {
    field_row("cube", box_mesh(Vec3::Constant(0.5)), tolerance, csv);
    field_row("l_prism", l_prism_mesh(1, 0.3, 0.5, 4), tolerance, csv);
    field_row("thin_wall", box_mesh(Vec3(0.5, 0.4, 0.002), 7, 6, 1), tolerance, csv);
    field_row("sphere", sphere_mesh(0.5, 4), tolerance, csv);
  }
  const MeshPtr torus = field_row("torus", torus_mesh(0.5, 0.2, 140, 72), 1e-5, csv);
  const MeshPtr block = field_row("block", box_mesh(Vec3::Constant(0.5), 40, 40, 40), 1e-5, csv);
  std::printf("\n%-14s %8s %8s %7s %10s %10s %10s\n", "tick", "tri a", "tri b", "points", "us median", "us p99",
              "/ N lg N");
  for (const double depth : {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2}) {
    tick_row("torus_on_block", block, torus, at(0.01, 0.02, 0.7 - depth), csv);
  }
  for (const double offset : {0.8, 0.7, 0.6, 0.5, 0.3, 0.1}) {  // how far the upper block's face lies over the lower's
    tick_row("block_on_block", block, block, {turned(Vec3::UnitZ(), 0.1), Vec3(offset, offset, 1 - 1e-5)}, csv);
  }
  std::fclose(csv);
  return 0;
}

}  // namespace
}  // namespace tactus::test

int main(int argc, char** argv) {
  if (tactus::bench::tells_usage(argc, argv, "[FILE]    where the CSV goes; the table goes to the terminal")) return 2;
  return tactus::test::bench_all(argc > 1 ? argv[1] : "/dev/null");
}
