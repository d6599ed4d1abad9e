#include "core/contact/feature/feature_stepper.h"

namespace tactus {

namespace {

class LocallyNonConvex final : public FeatureStepper {
 public:
  using FeatureStepper::FeatureStepper;
  [[nodiscard]] ContactModelKind kind() const noexcept override { return ContactModelKind::lnc; }
  [[nodiscard]] FeatureRules feature_rules(const Parameters& p) const noexcept override {
    return {false, true, false, p.peg_edge_test, p.peg_angle};
  }

 private:
  [[nodiscard]] bool printed(const Parameters& /*parameters*/) const noexcept override { return false; }
};

}  // namespace

std::unique_ptr<ContactModel> make_locally_non_convex(const Model& model, const Limits& limits) {
  return std::make_unique<LocallyNonConvex>(model, limits);
}

}  // namespace tactus
