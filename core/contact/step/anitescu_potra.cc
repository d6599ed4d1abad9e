#include "core/contact/step/time_stepper.h"

namespace tactus {

namespace {

class AnitescuPotra final : public TimeStepper {
 public:
  using TimeStepper::TimeStepper;
  [[nodiscard]] ContactModelKind kind() const noexcept override { return ContactModelKind::ap; }

 private:
  [[nodiscard]] bool drifts(const Parameters& parameters) const noexcept override {
    return parameters.ap_drift != OverlapDrift::off;
  }
  // v_n' >= e times the speed of approach, for active contacts; psi is dropped. Whether the others close in this step
  // their bodies' other contacts decide: two that fall together do not, until the lower one lands. They keep psi, which
  // asks for nothing unless they do.
  [[nodiscard]] bool bias(const ContactStart& s, double& out) const noexcept override {
    const Parameters& p = s.parameters;
    if (s.gap > p.detection_distance && s.gap + s.h * s.free > 0) {
      out = s.gap / s.h;
    } else {
      out = s.restitution > 0 && s.before < -p.impact_epsilon ? s.restitution * s.before : 0;
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<ContactModel> make_anitescu_potra(const Model& model, const Limits& limits) {
  return std::make_unique<AnitescuPotra>(model, limits);
}

}  // namespace tactus
