#include "core/contact/contact_model.h"

#include <algorithm>
#include <cmath>

#include "core/contact/feature/feature_stepper.h"
#include "core/contact/lcp/lcp_model.h"
#include "core/contact/penalty/penalty.h"
#include "core/contact/step/time_stepper.h"
#include "core/dynamics/state_bounds.h"

namespace tactus {

std::unique_ptr<ContactModel> make_contact_model(ContactModelKind kind, const Model& model, const Limits& limits) {
  switch (kind) {
    case ContactModelKind::penalty:
      return std::make_unique<PenaltyModel>(false);
    case ContactModelKind::deepest:
      return std::make_unique<PenaltyModel>(true);
    case ContactModelKind::lcp:
      return make_lcp(model, limits);
    case ContactModelKind::st:
      return make_stewart_trinkle(model, limits);
    case ContactModelKind::ap:
      return make_anitescu_potra(model, limits);
    case ContactModelKind::lnc:
      return make_locally_non_convex(model, limits);
    case ContactModelKind::peg:
      return make_polygonally_exact(model, limits);
  }
  return nullptr;
}

bool bearable_memory(ContactModelKind kind, const PairRecord& record) noexcept {
  switch (kind) {
    case ContactModelKind::penalty:
    case ContactModelKind::deepest:
      return std::all_of(record.model.begin(), record.model.end(), [](double x) { return std::abs(x) <= kMostMemory; });
    case ContactModelKind::lcp:
    case ContactModelKind::st:
    case ContactModelKind::ap:
    case ContactModelKind::lnc:
    case ContactModelKind::peg:
      return TimeStepper::bearable(record);
  }
  return false;
}

}  // namespace tactus
