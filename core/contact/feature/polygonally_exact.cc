#include "core/contact/feature/feature_stepper.h"

namespace tactus {

namespace {

class PolygonallyExact final : public FeatureStepper {
 public:
  using FeatureStepper::FeatureStepper;
  [[nodiscard]] ContactModelKind kind() const noexcept override { return ContactModelKind::peg; }
  // The repaired constraints are what the printed ones fall back on.
  [[nodiscard]] FeatureRules feature_rules(const Parameters& p) const noexcept override {
    const bool paper = p.peg_form != PegForm::repaired, unilateral = p.peg_form == PegForm::unilateral;
    return {!unilateral, paper, printed(p), p.peg_edge_test, p.peg_angle, unilateral};
  }

 private:
  [[nodiscard]] bool printed(const Parameters& parameters) const noexcept override {
    return parameters.peg_form == PegForm::printed;
  }
};

}  // namespace

std::unique_ptr<ContactModel> make_polygonally_exact(const Model& model, const Limits& limits) {
  return std::make_unique<PolygonallyExact>(model, limits);
}

}  // namespace tactus
