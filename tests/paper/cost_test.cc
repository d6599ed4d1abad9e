// Drumwright section V: what it costs to find contacts, over the features of both solids. The paper's worst case is
// O(m n), and it asks for something near O(m + n).
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/collide/mesh/collide_mesh.h"
#include "core/contact/bottom_points.h"
#include "tests/paper/paper_output.h"
#include "tests/support/meshes.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

double cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

constexpr int kRepeats = 41;

// The least: what else runs on the machine only adds to it.
template <typename Work>
double least_us(const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepeats; ++i) {
    const double start = cpu_us();
    work(i);
    least = std::min(least, cpu_us() - start);
  }
  return least;
}

// Two boxes face to face, n x n x n cells each, one sunk 5 mm into the other and moved a little each time: every vertex
// of both faces is a contact point.
struct Row {
  double features = 0, points = 0, find_us = 0, bottom_us = 0, deepest_us = 0;
};
Row face_to_face(int n) {
  const auto mesh = test::finish_mesh(test::box_mesh(Vec3::Constant(0.5), n, n, n));
  const Shape box = make_mesh(mesh.get());
  MeshScratch scratch(1u << 16);
  std::array<PairRecord, kMaxMeshPatches> records{};
  MeshContacts found;
  Row row;
  row.features = 2.0 * static_cast<double>(mesh->vertices.size() + mesh->triangles.size());
  row.find_us = least_us([&](int i) {
    const Frame X_WB{Mat3::Identity(), Vec3(1e-3 * i, 2e-3, 0.995)};
    collide_mesh(box, {Mat3::Identity(), Vec3::Zero()}, box, X_WB, 0, records.data(), 1, scratch, found);
  });
  const ContactBuffer& patch = found.patch[0];
  row.points = patch.count;
  Arena arena(2 * bottom_points_scratch(patch.count) + 4096);
  std::vector<std::uint32_t> chosen(patch.count);
  const Vec3 nhat = patch.nhat_BA_W;
  // A new order each time: a flat face is one level, and a processor learns a short order by heart.
  test::Random random(1);
  std::vector<std::vector<ContactPoint>> orders(kRepeats, {patch.points, patch.points + patch.count});
  for (auto& points : orders) {
    for (auto& p : points) p.depth += random.uniform(0, 1e-3);
  }
  row.bottom_us = least_us([&](int i) {
    bottom_points(nhat, orders[static_cast<std::size_t>(i)].data(), patch.count, 0, chosen.data(), arena);
  });
  row.deepest_us = least_us([&](int i) {
    const auto less = [](const ContactPoint& a, const ContactPoint& b) { return a.depth < b.depth; };
    const std::vector<ContactPoint>& points = orders[static_cast<std::size_t>(i)];
    chosen[0] =
        static_cast<std::uint32_t>(std::max_element(points.begin() + i % 2, points.end(), less) - points.begin());
  });
  return row;
}

TEST_CASE("section V: finding contacts grows with m + n features, choosing the bottom of N points with N lg N") {
  auto csv = test::open_csv("section5_cost.csv", "features,points,find_us,bottom_us,deepest_us,n_lg_n");
  std::vector<Row> rows;
  for (const int n : {4, 8, 16, 24}) {
    rows.push_back(face_to_face(n));
    const Row& r = rows.back();
    const double n_lg_n = r.points * std::log2(r.points);
    csv << r.features << ',' << r.points << ',' << r.find_us << ',' << r.bottom_us << ',' << r.deepest_us << ','
        << n_lg_n << '\n';
    MESSAGE(r.features << " features, N = " << r.points << " points: found in " << r.find_us << " us, bottom chosen in "
                       << r.bottom_us << " us (" << 1e3 * r.bottom_us / n_lg_n << " ns per N lg N), deepest in "
                       << r.deepest_us << " us");
  }
  const Row &a = rows[1], &b = rows[3];
  const double grown = std::log(b.features / a.features);
  const double find = std::log(b.find_us / a.find_us) / grown;
  const double choose =
      std::log(b.bottom_us * a.points * std::log2(a.points) / (a.bottom_us * b.points * std::log2(b.points))) /
      std::log(b.points / a.points);
  MESSAGE("finding ~ features^" << find << ", choosing ~ N lg N * N^" << choose);
  test::table_row("e1_cost", "V: cost of finding contacts, m and n features",
                  "O(m n) worst case, \"near O(m + n)\" wished", "(m + n)^" + test::number(find), "the same");
  CHECK(b.points > 4 * a.points);
  CHECK(find < 1.4);     // 2 for m n
  CHECK(choose < 0.35);  // 0; 1 for N^2
}

}  // namespace
}  // namespace tactus
