// A Model as MuJoCo's XML, the one way into MuJoCo 2.2: numbers with 17 digits, so that nothing is lost.
#pragma once

#include <string>

#include "core/dynamics/model.h"

namespace tactus::bench {

// Body b is "b<index>", joint j "j<index>". Bodies over fixed or no parents stand in the world. contacts: shapes of
// links against shapes of fixed bodies, with the friction of that pair; otherwise there are no shapes and no
// constraints. Joints are one-dof or floating; dampings are given, limits, friction and drives are not. Throws
// InputError for what is not covered (mimics, planar and spherical joints, hulls and meshes that must collide).
std::string mjcf_text(const Model& model, bool contacts);

}  // namespace tactus::bench
