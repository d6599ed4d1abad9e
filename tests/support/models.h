// Every contact model, for what must hold under each.
#pragma once

#include <string>

#include "core/dynamics/model.h"

namespace tactus::test {

inline constexpr ContactModelKind kAllModels[] = {
    ContactModelKind::penalty, ContactModelKind::deepest, ContactModelKind::lcp, ContactModelKind::st,
    ContactModelKind::ap,      ContactModelKind::lnc,     ContactModelKind::peg};

// And every way that a step is made.
struct Stepping {
  ContactModelKind kind;
  LcpStepper stepper = LcpStepper::fixed;
  [[nodiscard]] std::string name() const {
    return to_string(kind) + std::string(stepper == LcpStepper::exact ? ", exact" : "");
  }
  void set(Model& model) const { model.contact_model = kind, model.parameters.lcp_stepper = stepper; }
};
inline constexpr Stepping kAllSteppings[] = {{ContactModelKind::penalty}, {ContactModelKind::deepest},
                                             {ContactModelKind::lcp},     {ContactModelKind::lcp, LcpStepper::exact},
                                             {ContactModelKind::st},      {ContactModelKind::ap},
                                             {ContactModelKind::lnc},     {ContactModelKind::peg}};

}  // namespace tactus::test
