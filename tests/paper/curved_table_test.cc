// Baraff 1990, Table 1: the falling jack (Fig. 10) and the dice (Fig. 11) at the paper's number of steps, with and
// without coherence. All steps, times and the larger steps: tests/bench/curved_scenes.cc.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/paper/paper_output.h"

namespace tactus {
namespace {

struct Row {
  const char* scene;
  int steps;
  double hit_rate;       // at least, as published
  int discontinuities;   // published
  int polygons, curved;  // published
  int our_polygons, our_curved;
  double searched_rate;  // at least, of pairs that are searched for alone
};
// The paper does not say how the dice's 89 polygons and 102 curved surfaces are shared out. Five dice of three boxes,
// twelve capsules and eight balls, and the floor, come nearest with dice that are alike.
constexpr Row kTable1[] = {{"jack", 1475, 0.99, 60, 97, 6, 97, 6, 0.99},
                           {"dice", 4162, 0.996, 343, 89, 102, 91, 100, 0.99}};

// As the scene file has it; or the floor a box and balls ellipsoids, so that no pair is in closed form.
enum class Variant : std::uint8_t { as_it_is, searched };

struct Surfaces {
  int polygons = 0, curved = 0;
};

// A ball is one curved surface; a capsule too: its ends lie in the balls of the corners. A bar is a polyhedron.
Surfaces count(const Model& model) {
  Surfaces out;
  for (const ShapeInstance& instance : model.shapes) {
    const Shape& shape = instance.shape;
    switch (shape.kind) {
      case ShapeKind::half_space:
        ++out.polygons;
        break;
      case ShapeKind::box:
        out.polygons += 6;
        break;
      case ShapeKind::convex:
        out.polygons += static_cast<int>(shape.hull->faces.size());
        break;
      default:
        CHECK((shape.kind == ShapeKind::sphere || shape.kind == ShapeKind::capsule));
        ++out.curved;
    }
  }
  return out;
}

struct Run {
  WitnessTotals witnesses;
  std::uint64_t discontinuities = 0, unsolved = 0;
  Surfaces surfaces;
  [[nodiscard]] std::uint64_t hits() const { return witnesses.hits + witnesses.closed_hits; }
  [[nodiscard]] std::uint64_t misses() const { return witnesses.misses + witnesses.closed_misses; }
  // Of all pairs, as in the paper; of those that are searched for alone (1 where there are none).
  [[nodiscard]] double rate() const { return static_cast<double>(hits()) / static_cast<double>(hits() + misses()); }
  [[nodiscard]] double searched_rate() const {
    const std::uint64_t all = witnesses.hits + witnesses.misses;
    return all == 0 ? 1 : static_cast<double>(witnesses.hits) / static_cast<double>(all);
  }
};

void make_searched(Model& model, std::vector<std::unique_ptr<SmoothSurface>>& surfaces) {
  for (ShapeInstance& instance : model.shapes) {
    if (instance.shape.kind == ShapeKind::half_space) {
      instance.shape = make_box({5, 5, 0.5});
      model.X_WB0[instance.body].p.z() -= 0.5;
    } else if (instance.shape.kind == ShapeKind::sphere) {
      surfaces.push_back(make_ellipsoid(Vec3::Constant(instance.shape.radius)));
      instance.shape = make_smooth(surfaces.back().get());
    }
  }
}

Run run(const Row& row, bool coherence, Variant variant) {
  std::vector<std::unique_ptr<SmoothSurface>> surfaces;
  SceneRun loaded =
      load_scene_run(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + row.scene + std::string(".toml"), {});
  Run out;
  out.surfaces = count(*loaded.model);
  if (variant == Variant::searched) make_searched(*loaded.model, surfaces);
  loaded.model->contact_model = ContactModelKind::lcp;
  loaded.model->parameters.lcp_stepper = LcpStepper::exact;
  loaded.model->parameters.coherence = coherence;
  loaded.model->step = 1e-3;
  World world(std::move(loaded.model), Limits{});
  for (int i = 0; i < row.steps; ++i) {
    const StepReport report = world.step();
    out.discontinuities += report.exact.discontinuities();
    out.unsolved += report.solver_failures + report.inconsistent + report.exact.unresolved + report.exact.exhausted;
  }
  out.witnesses = world.state().witnesses;
  return out;
}

void write(std::ofstream& csv, const Row& row, const char* name, const Run& found) {
  const WitnessTotals& w = found.witnesses;
  csv << row.scene << ',' << name << ',' << found.hits() << ',' << found.misses() << ',' << found.rate() << ','
      << w.hits << ',' << w.misses << ',' << found.searched_rate() << ',' << found.discontinuities << ','
      << row.hit_rate << ',' << row.discontinuities << '\n';
  MESSAGE(std::string(row.scene) << ", " << std::string(name) << ": " << found.hits() << " hits, " << found.misses()
                                 << " misses, " << found.rate() << "; searched for " << w.hits << " and " << w.misses
                                 << ", " << found.searched_rate() << "; " << found.discontinuities
                                 << " discontinuities (published: " << row.discontinuities << ")");
}

TEST_CASE(
    "Baraff 1990, Table 1: witnesses of the jack and the dice hold as often as published, first meetings are misses") {
  auto csv = test::open_csv("curved_table1.csv",
                            "scene,run,hits,misses,hit_rate,searched_hits,searched_misses,searched_hit_rate,"
                            "discontinuities,published_rate,published_discontinuities");
  for (const Row& row : kTable1) {
    CAPTURE(std::string(row.scene));
    const Run with = run(row, true, Variant::as_it_is), without = run(row, false, Variant::as_it_is),
              searched = run(row, true, Variant::searched);
    write(csv, row, "coherence", with), write(csv, row, "no coherence", without),
        write(csv, row, "all searched for", searched);
    CHECK(with.rate() >= row.hit_rate);
    CHECK(with.searched_rate() >= row.searched_rate);
    CHECK(without.rate() < 0.01);
    CHECK(searched.searched_rate() >= row.hit_rate);
    CHECK(searched.witnesses.closed_hits + searched.witnesses.closed_misses == 0);
    CHECK(with.surfaces.polygons == row.our_polygons);
    CHECK(with.surfaces.curved == row.our_curved);
    CHECK(std::abs(row.our_polygons - row.polygons) <= 2);
    CHECK(std::abs(row.our_curved - row.curved) <= 2);
    // The paper gives counts, not sizes, starts or restitutions: another fall of the same kind has its own number of
    // discontinuities, within a factor of two.
    for (const Run* r : {&with, &without, &searched}) {
      CHECK(r->unsolved == 0);
      CHECK(r->discontinuities >= static_cast<std::uint64_t>(row.discontinuities) / 2);
      CHECK(r->discontinuities <= 2 * static_cast<std::uint64_t>(row.discontinuities));
    }
  }
}

}  // namespace
}  // namespace tactus
