#include "core/contact/contact_model.h"

#include "core/contact/penalty.h"

namespace tactus {

std::unique_ptr<ContactModel> make_contact_model(ContactModelKind kind) {
  switch (kind) {
    case ContactModelKind::penalty:
      return std::make_unique<PenaltyModel>(false);
    case ContactModelKind::deepest:
      return std::make_unique<PenaltyModel>(true);
    default:
      return nullptr;
  }
}

}  // namespace tactus
