#include <algorithm>

#include "core/contact/step/time_stepper.h"

namespace tactus {

namespace {

class StewartTrinkle final : public TimeStepper {
 public:
  using TimeStepper::TimeStepper;
  [[nodiscard]] ContactModelKind kind() const noexcept override { return ContactModelKind::st; }

 private:
  // v_n' >= -psi / h. Newton's restitution, e > 0: a contact that closes within the step leaves with e times the speed
  // that it came with, at once: it bounces up to a step early.
  [[nodiscard]] bool bias(const ContactStart& s, double& out) const noexcept override {
    const Parameters& p = s.parameters;
    if (s.gap >= 0) {
      out = s.gap / s.h;
    } else {
      out = -std::min(-s.gap / std::max(s.h, p.overlap_relax_time), p.overlap_relax_speed);
    }
    if (s.restitution > 0 && s.before < -p.impact_epsilon && s.gap + s.h * s.free < 0) {
      out = std::min(out, s.restitution * s.before);
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<ContactModel> make_stewart_trinkle(const Model& model, const Limits& limits) {
  return std::make_unique<StewartTrinkle>(model, limits);
}

}  // namespace tactus
