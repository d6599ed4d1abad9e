// The settings that size a world: their keys in a config, and the ranges that are taken. Recordings hold them too, and
// a recording from elsewhere is believed no more than a config.
#pragma once

#include <array>
#include <cstdint>

#include "core/limits.h"

namespace tactus {

struct LimitKey {
  const char* name;
  std::uint32_t Limits::*small;  // either this
  std::uint64_t Limits::*large;  // or this
  double min, max;
};

inline constexpr std::array<LimitKey, 15> kLimitKeys{{
    {"limits.bodies", &Limits::bodies, nullptr, 1, 16384},
    {"limits.shapes", &Limits::shapes, nullptr, 1, 65536},
    {"limits.pairs", &Limits::pairs, nullptr, 1, 262144},
    {"limits.points_per_pair", &Limits::points_per_pair, nullptr, 4, 64},
    {"limits.raw_points_per_pair", &Limits::raw_points_per_pair, nullptr, 64, 65536},
    {"limits.patches_per_pair", &Limits::patches_per_pair, nullptr, 1, 8},
    {"limits.mesh_points_per_pair", &Limits::mesh_points_per_pair, nullptr, 64, 1 << 20},
    {"limits.mesh_file_bytes", nullptr, &Limits::mesh_file_bytes, 1024, 4294967296.0},
    {"limits.mesh_triangles", &Limits::mesh_triangles, nullptr, 4, 1e8},
    {"limits.field_bytes", nullptr, &Limits::field_bytes, 1 << 20, 68719476736.0},
    {"limits.hull_vertices", &Limits::hull_vertices, nullptr, 4, 4096},
    {"limits.problem_contacts", &Limits::problem_contacts, nullptr, 64, 262144},
    {"limits.problem_rows", &Limits::problem_rows, nullptr, 64, 4096},
    {"limits.pivot_rows", &Limits::pivot_rows, nullptr, 16, 2048},
    {"limits.impact_sweeps", &Limits::impact_sweeps, nullptr, 1, 1000},
}};

}  // namespace tactus
