// A closed spline surface without a pole: the unit sphere as a spline lattice carries it along.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/shape/smooth/spline_surface.h"

namespace tactus {

// control[(i ny + j) nz + k], at least 4 each way.
std::unique_ptr<Spline> make_spline_ball(const std::vector<Vec3>& control, const std::array<std::size_t, 3>& n);

}  // namespace tactus
