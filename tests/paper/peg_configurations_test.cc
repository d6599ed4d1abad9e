// PEG paper, Figures 1 and 3 to 8: which contacts each configuration has, what the constraints over them say, and that
// motions past a corner stay free. One test a figure.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "tests/paper/paper_output.h"
#include "tests/paper/peg_scenes.h"

namespace tactus {
namespace {

using test::Random;
using Kind = FeatureGroup::Kind;

// Two polyhedra, and what collision finds of them in any pose.
class Pair {
 public:
  Pair(const std::vector<Vec3>& a, const std::vector<Vec3>& b, bool planar) : points_{a, b}, planar_(planar) {
    std::vector<FeatureShape> shapes;
    for (int i = 0; i < 2; ++i) {
      std::string error;
      REQUIRE(build_convex_hull(planar ? test::prism(points_[i]) : points_[i], 256, hulls_[i], error));
      shapes_[i] = make_convex(&hulls_[i]);
      shapes.push_back(make_feature_shape(shapes_[i], planar, Mat3::Identity()));
    }
    pairs_ = std::make_unique<FeaturePairs>(std::move(shapes), 512);
  }
  const FeaturePairs& find(const Pose& X_WA, const Pose& X_WB, const FeatureRules& rules, double reach) {
    Witness witness;
    pairs_->start(rules);
    pairs_->find(0, shapes_[0], frame(X_WA), 1, shapes_[1], frame(X_WB), reach, 0, witness);
    REQUIRE(pairs_->dropped() == 0);
    return *pairs_;
  }
  double gap(const Pose& X_WA, const Pose& X_WB) const {
    std::vector<Vec3> a, b;
    for (const Vec3& p : points_[0]) a.push_back(X_WA * p);
    for (const Vec3& p : points_[1]) b.push_back(X_WB * p);
    return test::gap_between(a, b, planar_);
  }

 private:
  static Frame frame(const Pose& X) {
    Frame f;
    f.R = X.q.toRotationMatrix(), f.p = X.p;
    return f;
  }
  std::vector<Vec3> points_[2];
  bool planar_;
  ConvexHull hulls_[2];
  Shape shapes_[2];
  std::unique_ptr<FeaturePairs> pairs_;
};

FeatureRules printed() {
  FeatureRules rules;
  rules.repaired = false, rules.inter = rules.cross = true;
  return rules;
}
FeatureRules lnc() {
  FeatureRules rules;
  rules.repaired = false, rules.inter = true;
  return rules;
}

int count(const FeaturePairs& pairs, Kind kind) {
  int n = 0;
  for (const FeatureGroup& group : pairs.groups()) n += group.kind == kind ? 1 : 0;
  return n;
}
int unilateral(const FeaturePairs& pairs) {
  int n = 0;
  for (const FeatureContact& contact : pairs.contacts()) n += contact.unilateral ? 1 : 0;
  return n;
}

// The least of what the constraints ask to be >= 0: gaps of U, largest gaps of I and X.
double least_constraint(const FeaturePairs& pairs) {
  double least = 1e300;
  for (const FeatureContact& contact : pairs.contacts()) {
    if (contact.unilateral) least = std::min(least, contact.gap);
  }
  for (const FeatureGroup& group : pairs.groups()) {
    double largest = -1e300;
    for (const std::uint32_t i : pairs.members(group)) largest = std::max(largest, pairs.contacts()[i].gap);
    least = std::min(least, largest);
  }
  return least;
}

// In random poses about a figure's the constraints hold exactly where the bodies are apart, by more than applicability
// is relaxed.
void check_meaning(Pair& pair, const Pose& X_WA, const FeatureRules& rules, bool planar, int& apart, int& inside) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    Vec3 shift = random.in_cube(0.1), axis = random.direction();
    if (planar) shift.z() = 0, axis = Vec3::UnitZ();
    const Quat turn = test::turned(axis, random.uniform(-0.1, 0.1));
    const Pose X_WB{turn, shift};
    const double gap = pair.gap(X_WA, X_WB);
    if (std::abs(gap) < 0.01) continue;
    ++(gap > 0 ? apart : inside);
    const double least = least_constraint(pair.find(X_WA, X_WB, rules, 0.05));
    CHECK((least >= 0) == (gap > 0));
  }
}

// A step of h = 0.1 s of a body that flies (body 1) past one that stands (body 0).
World past(const test::PegMethod& method, const std::vector<Vec3>& fixed, const std::vector<Vec3>& flies, const Vec3& v,
           bool planar) {
  test::Scene scene = test::peg_scene(method, 0.1, 0.5, planar);
  scene.set_gravity(Vec3::Zero());
  test::add_points(scene, planar ? test::prism(fixed) : fixed, Vec3::Zero(), Vec3::Zero(), BodyMode::fixed);
  test::add_points(scene, planar ? test::prism(flies) : flies, Vec3::Zero(), v);
  return scene.world();
}

const std::vector<Vec3> kSquare{Vec3(-1, -1, 0), Vec3(0, -1, 0), Vec3::Zero(), Vec3(-1, 0, 0)};
// A spike whose point is v, both of whose edges lead away from the top and from the right side of kSquare.
std::vector<Vec3> spike(const Vec3& v) {
  return {v, v + Vec3(0.7, 0.6, 0), v + Vec3(0.6, 0.7, 0)};
}
// Of the contacts that push the ones with another direction or another place (a prism shows each point twice).
int directions(const World& world) {
  std::vector<Vec3> seen;
  for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m) {
    const Manifold& manifold = world.contacts().manifolds[m];
    for (std::uint32_t i = manifold.first; i < manifold.first + manifold.count; ++i) {
      if (world.contact_force(i).norm() < 1e-9) continue;
      const Vec3 n = manifold.nhat_BA_W;
      if (std::none_of(seen.begin(), seen.end(), [&](const Vec3& s) { return (s - n).norm() < 1e-9; }))
        seen.push_back(n);
    }
  }
  return static_cast<int>(seen.size());
}

}  // namespace

TEST_CASE("PEG Fig. 1: beside a corner Stewart and Trinkle's half-spaces hold a vertex back; lnc and peg do not") {
  auto csv = test::open_csv("peg_fig1.csv", "model,x_m,y_m");
  const Vec3 v(0.05, 0.05, 0), free_end = v + 0.1 * Vec3(-1, -0.2, 0);
  for (const test::PegMethod& method : test::kPegMethods) {
    World world = past(method, kSquare, spike(v), Vec3(-1, -0.2, 0), true);
    world.step();
    const Vec3 end = test::corner_of(world, 1, Vec3(0.05, 0.05, 0));
    csv << method.name << ',' << end.x() << ',' << end.y() << '\n';
    CAPTURE(std::string(method.name));
    if (method.form == PegForm::unilateral) {
      CHECK(end.x() > -1e-9);  // held in front of the right side's plane
    } else if (method.kind == ContactModelKind::lnc || method.kind == ContactModelKind::peg) {
      CHECK((end - free_end).norm() < 1e-9);
    }
  }
  // Into the body it may not go: one of the two gaps is kept.
  for (const test::PegMethod& method : {test::kLnc, test::kPrinted, test::kPeg}) {
    World world = past(method, kSquare, spike(v), Vec3(-1, -0.9, 0), true);
    CHECK(world.step().solver_residual <= 1e-9);
    const Vec3 end = test::corner_of(world, 1, v);
    CHECK(std::max(end.x(), end.y()) > -2e-3);  // to first order zero; the body has turned
    CHECK(directions(world) == 1);
  }
}

TEST_CASE("PEG Fig. 3: at the border of stability applicability is decided by rounding; relaxed it is not") {
  Random random(3);
  const Wedge below = make_wedge(Vec3::UnitY(), Vec3::UnitZ(), Vec3::UnitX());
  for (const EdgeTest test : {EdgeTest::gauss, EdgeTest::paper}) {
    int strict = 0, relaxed = 0;
    for (int i = 0; i < 200; ++i) {
      const Quat q = test::turned(random.direction(), random.uniform(0, 1e-14));
      const Wedge above = make_wedge(q * Vec3::UnitX(), q * -Vec3::UnitZ(), q * Vec3::UnitY());
      const Vec3 nhat = edge_normal(above, below, 1e-6);
      strict += edges_apply(above, below, nhat, test, 0) ? 1 : 0;
      relaxed += edges_apply(above, below, nhat, test, 1e-4) ? 1 : 0;
    }
    CHECK(strict > 0);
    CHECK(strict < 200);
    CHECK(relaxed == 200);
  }
  // (19): two crossed bars, the ends far away: their four edge pairs are U-constraints, nothing else is there.
  Pair bars(test::box_corners(Vec3(1, 0.1, 0.1)), test::box_corners(Vec3(0.1, 1, 0.1)), false);
  const auto& found = bars.find({Quat::Identity(), Vec3(0, 0, 0.205)}, {}, FeatureRules{}, 0.02);
  CHECK(found.contacts().size() == 4);
  CHECK(unilateral(found) == 4);
  for (const FeatureContact& contact : found.contacts()) {
    CHECK(contact.kind == FeatureContact::Kind::edge_edge);
    CHECK(contact.gap == doctest::Approx(0.005));
    CHECK((contact.nhat_BA_W - Vec3::UnitZ()).norm() < 1e-12);
  }
}

TEST_CASE("PEG Fig. 4: of two edges near a vertex one can push; the other still tells where the body ends") {
  // v_a over the top, near its end; its own edges lead back over the right side: C2 does not apply.
  const Vec3 v(-0.02, 0.03, 0);
  const std::vector<Vec3> a{v, v + Vec3(0.42, 0.77, 0), v + Vec3(-0.38, 0.77, 0)};
  Pair pair(a, kSquare, true);
  const auto& found = pair.find({}, {}, lnc(), 0.1);
  int with_both = 0;
  for (const FeatureGroup& group : found.groups()) {
    if (group.iota != 1 || group.kappa != 1) continue;
    const auto members = found.members(group);
    const FeatureContact &c1 = found.contacts()[members[0]], &c2 = found.contacts()[members[1]];
    if (c1.kind != FeatureContact::Kind::vertex_face) continue;
    ++with_both;
    CHECK((c1.nhat_BA_W - Vec3::UnitY()).norm() < 1e-12);
    CHECK((c2.nhat_BA_W - Vec3::UnitX()).norm() < 1e-12);
    CHECK(c1.gap == doctest::Approx(0.03));
    CHECK(c2.gap == doctest::Approx(-0.02));
  }
  CHECK(with_both == 1);
  for (const test::PegMethod& method : {test::kLnc, test::kPrinted, test::kPeg}) {
    CAPTURE(std::string(method.name));
    // Down: one contact stops it (C1; or in peg the other body's corner pushes it aside). Past the corner: free.
    World down = past(method, kSquare, a, Vec3(0, -1, 0), true);
    down.step();
    CHECK(directions(down) == 1);
    CHECK(test::gap_between(down, 0, 1) > -0.01);  // to first order zero; it has turned
    if (method.kind == ContactModelKind::lnc) CHECK(std::abs(test::corner_of(down, 1, v).y()) < 1e-3);
    World beside = past(method, kSquare, a, Vec3(0.7, -0.8, 0), true);
    beside.step();
    CHECK((beside.state().v_WBcm(1) - Vec3(0.7, -0.8, 0)).norm() < 1e-9);
    CHECK(test::gap_between(beside, 0, 1) > 0);
  }
}

TEST_CASE("PEG Fig. 5, (17): two corners in the plane: two I, two X; with them, and in one, apart means apart") {
  // Two corners of 90 degrees that look at each other, b's to the right.
  const std::vector<Vec3> a{Vec3(-1, -1, 0), Vec3::Zero(), Vec3(-1, 1, 0), Vec3(-2, 0, 0)};
  std::vector<Vec3> b;
  for (const Vec3& p : a) b.push_back(Vec3(0.03 - p.x(), p.y(), 0));
  Pair pair(a, b, true);
  const auto& found = pair.find({}, {}, printed(), 0.1);
  CHECK(found.contacts().size() == 4);
  CHECK(count(found, Kind::inter) == 2);
  CHECK(count(found, Kind::cross) == 2);
  for (const FeatureGroup& group : found.groups()) {
    const auto members = found.members(group);
    REQUIRE(members.size() == 2);
    const FeatureContact &c = found.contacts()[members[0]], &d = found.contacts()[members[1]];
    if (group.kind == Kind::inter) {
      CHECK(group.iota == 2);
      CHECK(c.kind == d.kind);
    } else {  // sides that lie face to face above, or below
      CHECK(c.kind != d.kind);
      CHECK(c.nhat_BA_W.y() * d.nhat_BA_W.y() < 0);
    }
  }
  const auto& repaired = pair.find({}, {}, FeatureRules{}, 0.1);
  CHECK(count(repaired, Kind::repaired) == 1);
  CHECK(repaired.groups()[0].iota == 4);
  int apart = 0, inside = 0;
  check_meaning(pair, {}, printed(), true, apart, inside);
  check_meaning(pair, {}, FeatureRules{}, true, apart, inside);
  CHECK(apart > 500);
  CHECK(inside > 300);
}

TEST_CASE("PEG Fig. 6, (18): a vertex before a face is one U-constraint, and stops there") {
  const double r = 0.5;
  const std::vector<Vec3> tetrahedron{Vec3(0, 0, 0.02), Vec3(r, 0, r), Vec3(-r, r, r), Vec3(-r, -r, r)};
  std::vector<Vec3> block = test::box_corners(Vec3(1, 1, 0.5));
  for (Vec3& p : block) p.z() -= 0.5;
  for (const FeatureRules& rules : {printed(), FeatureRules{}, lnc()}) {
    Pair pair(tetrahedron, block, false);
    const auto& found = pair.find({}, {}, rules, 0.1);
    REQUIRE(found.contacts().size() == 1);
    CHECK(found.contacts()[0].unilateral);
    CHECK(found.contacts()[0].gap == doctest::Approx(0.02));
    CHECK(found.groups().empty());
  }
  for (const test::PegMethod& method : {test::kLnc, test::kPrinted, test::kPeg}) {
    World world = past(method, block, tetrahedron, Vec3(0.1, 0, -1), false);
    world.step();
    // Exact: the point's velocity at the end closes the gap; it goes on sideways without friction.
    const Vec3 end = test::corner_of(world, 1, tetrahedron[0]);
    CHECK(std::abs(end.z()) < 1e-2);
    CHECK(test::pushing(world) == 1);
    CHECK(world.state().v_WBcm(1).x() == doctest::Approx(0.1));
  }
}

TEST_CASE("PEG Fig. 7, (20), (21): a tetrahedron's vertex over an edge: one I, an X for each edge that can touch") {
  // The ridge along y; the vertex stands over it and leans: its edge to v_k3 leads down the right flank's side.
  const std::vector<Vec3> roof{Vec3(-1, -1, -1), Vec3(1, -1, -1), Vec3(0, -1, 0),
                               Vec3(-1, 1, -1),  Vec3(1, 1, -1),  Vec3(0, 1, 0)};
  const Vec3 v(0, 0, 0.02);
  const std::vector<Vec3> tetrahedron{v, v + Vec3(0.5, 0.4, 0.6), v + Vec3(0.5, -0.4, 0.6), v + Vec3(-0.6, 0, 0.5)};
  Pair pair(tetrahedron, roof, false);
  const auto& found = pair.find({}, {}, printed(), 0.1);
  CHECK(count(found, Kind::inter) == 1);
  for (const FeatureGroup& group : found.groups()) {
    if (group.kind == Kind::inter) CHECK(group.iota + group.kappa == 2);  // both flanks
    if (group.kind != Kind::cross) continue;
    const auto members = found.members(group);
    REQUIRE(members.size() == 2);
    const FeatureContact &c = found.contacts()[members[0]], &e = found.contacts()[members[1]];
    CHECK(c.kind == FeatureContact::Kind::vertex_face);
    CHECK(e.kind == FeatureContact::Kind::edge_edge);
  }
  const auto& repaired = pair.find({}, {}, FeatureRules{}, 0.1);
  CHECK(count(repaired, Kind::repaired) == 1);
  int apart = 0, inside = 0;
  check_meaning(pair, {}, FeatureRules{}, false, apart, inside);
  CHECK(apart > 300);
  CHECK(inside > 200);
  // Down either flank it is free to go, into the roof it is not.
  for (const test::PegMethod& method : {test::kPrinted, test::kPeg}) {
    for (const double side : {-1.0, 1.0}) {
      World beside = past(method, roof, tetrahedron, Vec3(2 * side, 0, -1), false);
      beside.step();
      const double gap = test::gap_between(beside, 0, 1);
      CHECK(gap > -1e-3);
      World down = past(method, roof, tetrahedron, Vec3(0.02 * side, 0, -1), false);
      CHECK(down.step().solver_failures == 0);
      CHECK(test::gap_between(down, 0, 1) > -5e-3);
      CHECK(test::pushing(down) == 1);
    }
  }
}

TEST_CASE("PEG Fig. 8, (22) to (24): vertex over vertex: an I for either side, an X for each pair of faces") {
  const std::vector<Vec3> below{Vec3::Zero(), Vec3(-0.8, 0, -1), Vec3(0.5, 0.7, -1), Vec3(0.5, -0.7, -1)};
  std::vector<Vec3> above;
  for (const Vec3& p : below) above.push_back(Vec3(-p.x() + 0.01, p.y(), 0.02 - p.z()));
  Pair pair(above, below, false);
  const auto& found = pair.find({}, {}, printed(), 0.1);
  CHECK(count(found, Kind::inter) == 2);
  const int cross = count(found, Kind::cross);
  CHECK(cross > 0);
  CHECK(cross <= 9);
  for (const FeatureGroup& group : found.groups()) {
    if (group.kind == Kind::inter) CHECK(group.iota + group.kappa == 3);
    if (group.kind == Kind::cross) CHECK(group.kappa >= 3);  // two of vertex and face, at least one of edges
  }
  const auto& repaired = pair.find({}, {}, FeatureRules{}, 0.1);
  CHECK(count(repaired, Kind::repaired) == 1);
  int apart = 0, inside = 0;
  check_meaning(pair, {}, FeatureRules{}, false, apart, inside);
  check_meaning(pair, {Quat::Identity(), Vec3(0, 0, -0.12)}, FeatureRules{}, false, apart, inside);
  CHECK(apart > 300);
  CHECK(inside > 300);
  for (const test::PegMethod& method : {test::kPrinted, test::kPeg}) {
    World world = past(method, below, above, Vec3(0, 0, -1), false);
    CHECK(world.step().solver_failures == 0);
    CHECK(test::gap_between(world, 0, 1) > -0.01);
    if (method.form == PegForm::repaired) CHECK(test::pushing(world) == 1);
  }
}

}  // namespace tactus
