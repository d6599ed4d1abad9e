// Every contact model, for what must hold under each.
#pragma once

#include "core/dynamics/model.h"

namespace tactus::test {

inline constexpr ContactModelKind kAllModels[] = {
    ContactModelKind::penalty, ContactModelKind::deepest, ContactModelKind::lcp, ContactModelKind::st,
    ContactModelKind::ap,      ContactModelKind::lnc,     ContactModelKind::peg};

}  // namespace tactus::test
