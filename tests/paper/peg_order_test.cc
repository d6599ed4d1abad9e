// PEG paper, Discussion: "re-ordering the constraints may affect a given solver's choice of active contact". The four
// contacts of Figure 5's corners, their groups and the groups' members in every order: what each solver chooses.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "core/contact/feature/feature_solver.h"
#include "tests/paper/paper_output.h"
#include "tests/paper/peg_scenes.h"

namespace tactus {
namespace {

// psi / h: the gap at the end of the step is not negative.
class Gaps final : public ContactRule {
 public:
  bool bias(const ContactStart& start, double& out) const noexcept override {
    out = start.gap / start.h;
    return true;
  }
};

// Two mirror images, corner against corner along x, and their constraints in a given order. Mirrored up and down the
// scene is itself: each answer has its mirror answer.
class Corners {
 public:
  explicit Corners(double lift) : scene_(test::peg_scene(test::kPeg, 0.1, 0.2, true)) {
    const std::vector<Vec3> red{Vec3(-1, 0, 0), Vec3(-0.5, -0.5, 0), Vec3::Zero(), Vec3(-0.5, 0.5, 0)};
    std::vector<Vec3> blue;
    for (const Vec3& p : red) blue.emplace_back(0.05 - p.x(), p.y(), 0);
    test::add_points(scene_, test::prism(red), Vec3::Zero(), Vec3::Zero());
    test::add_points(scene_, test::prism(blue), Vec3(0, lift, 0), Vec3(-1, 0, 0));
    finish_model(*scene_.model);
    model_ = scene_.model.get();
    state_ = initial_state(*model_, 8);
    resize(*model_, kinematics_);
    applied_.resize(2);
    update();
  }

  // Vertical velocity of blue after the step; order: of the contacts, flip: of the groups.
  double solve(const std::array<std::uint32_t, 4>& order, bool flip, bool printed, bool& solved) {
    const auto found = pairs_->contacts();
    std::vector<Manifold> manifolds;
    std::vector<ContactPoint> points;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const FeatureContact& c = found[order[k]];
      manifolds.push_back({c.nhat_BA_W, 0, 0, 1, 0, 1, k, 1, 0, true});
      points.push_back({c.p_WC, -c.gap});
    }
    std::vector<SpatialForce> forces(4);
    const ContactSet set{manifolds.data(), points.data(), 4, 4};
    arena_.reset();
    const Tick tick{*model_,         model_->parameters, scene_.limits, model_->step, set,   kinematics_,
                    applied_.data(), forces.data(),      nullptr,       nullptr,      arena_};
    ContactProblem problem(*model_, scene_.limits);
    problem.build(tick, state_, nullptr, Gaps());
    REQUIRE(problem.count() == 4);
    std::vector<ContactGroup> groups;
    std::vector<std::uint32_t> members;
    for (const FeatureGroup& group : pairs_->groups()) {
      std::vector<std::uint32_t> own;
      for (std::uint32_t k = 0; k < 4; ++k) {
        const auto of = pairs_->members(group);
        if (std::find(of.begin(), of.end(), order[k]) != of.end()) own.push_back(k);
      }
      groups.push_back({group.kind, static_cast<std::uint32_t>(members.size()), group.iota, group.kappa});
      members.insert(members.end(), own.begin(), own.end());
    }
    if (flip) std::reverse(groups.begin(), groups.end());
    const std::vector<std::uint8_t> none(4);
    const std::vector<double> zero(4);
    GroupedContacts all;
    all.problem = &problem;
    all.always = none, all.touching = none, all.resting = none, all.bounce = zero;
    all.groups = groups, all.members = members.data();
    FeatureSolver solver(*model_, scene_.limits, 64);
    ContactSolver convex(*model_, scene_.limits);
    std::vector<Vec3> p(4, Vec3::Zero());
    std::vector<double> u(problem.half_size());
    const SolverReport report = solver.solve(all, printed, 0, {}, convex, p.data(), u.data());
    solved = report.failures == 0 && report.fallbacks == 0 && report.residual <= 1e-9;
    CHECK(report.failures == 0);
    Vec3 force = Vec3::Zero();
    for (std::uint32_t k = 0; k < 4; ++k) force -= ContactProblem::frame(manifolds[k].nhat_BA_W, model_->planar) * p[k];
    return force.y();
  }
  void find(const FeatureRules& rules) {
    std::vector<FeatureShape> shapes;
    for (const ShapeInstance& s : model_->shapes) shapes.push_back(make_feature_shape(s.shape, true, Mat3::Identity()));
    pairs_ = std::make_unique<FeaturePairs>(std::move(shapes), 64);
    Witness witness;
    pairs_->start(rules);
    pairs_->find(0, model_->shapes[0].shape, kinematics_.X_WS[0], 1, model_->shapes[1].shape, kinematics_.X_WS[1], 0.2,
                 0, witness);
    REQUIRE(pairs_->contacts().size() == 4);
  }

 private:
  void update() { compute_kinematics(*model_, state_, kinematics_); }

  test::Scene scene_;
  Model* model_ = nullptr;
  State state_;
  Kinematics kinematics_;
  Arena arena_{std::size_t{1} << 20};
  std::vector<SpatialForce> applied_;
  std::unique_ptr<FeaturePairs> pairs_;
};

}  // namespace

TEST_CASE(
    "PEG, Discussion: the order of the constraints picks among answers; repaired it does not matter to the rest") {
  auto csv = test::open_csv("peg_order.csv", "form,lift_m,up,down,unsolved");
  struct Form {
    const char* name;
    bool printed;
    FeatureRules rules;
  };
  FeatureRules both;
  both.inter = both.cross = true;  // the repaired group stays as what the printed ones fall back on
  const Form forms[] = {{"printed (LCP)", true, both}, {"repaired (descent)", false, FeatureRules{}}};
  for (const Form& form : forms) {
    int ups[3], downs[3], place = 0;
    for (const double lift : {0.0, 0.01, -0.01}) {
      Corners corners(lift);
      corners.find(form.rules);
      int up = 0, down = 0, unsolved = 0;
      std::array<std::uint32_t, 4> order{0, 1, 2, 3};
      do {
        for (const bool flip : {false, true}) {
          bool solved = false;
          const double push = corners.solve(order, flip, form.printed, solved);
          unsolved += solved ? 0 : 1;
          CHECK(std::abs(push) > 1e-3);  // one contact pushes, and it leans
          ++(push > 0 ? up : down);
        }
      } while (std::next_permutation(order.begin(), order.end()));
      csv << form.name << ',' << lift << ',' << up << ',' << down << ',' << unsolved << '\n';
      MESSAGE(std::string(form.name) << ", blue lifted by " << lift << " m: pushed up " << up << ", down " << down
                                     << ", unsolved " << unsolved << " of 48");
      if (!form.printed) CHECK(unsolved == 0);
      ups[place] = up, downs[place] = down, ++place;
    }
    // Mirror images: an order and its mirror order give mirror answers, so neither answer is left out over all orders.
    CHECK(ups[0] == downs[0]);
    CHECK(ups[1] == downs[2]);
    CHECK(downs[1] == ups[2]);
    if (form.printed) {
      // The paper's Discussion: here the order decides, and in some orders for the way over the corner's far side.
      CHECK(ups[1] > downs[1]);
      CHECK(downs[1] > 0);
    } else {
      CHECK(ups[1] == 48);  // whatever the order, over the side where the corner is
      CHECK(downs[2] == 48);
    }
  }
}

}  // namespace tactus
