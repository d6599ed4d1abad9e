// Every maximum of a world, checked at load; all memory is sized from it once. Full is a reported bit, never an
// allocation.
#pragma once

#include <cstdint>

namespace tactus {

struct Limits {
  std::uint32_t bodies = 1024;         // bodies in a scene, the world itself not counted
  std::uint32_t shapes = 2048;         // collision shapes over all bodies
  std::uint32_t pairs = 8192;          // shape pairs whose boxes overlap at one time
  std::uint32_t points_per_pair = 16;  // contact points kept per pair, 4..64; deepest first, then the widest polygon
  std::uint32_t raw_points_per_pair =
      512;  // overlap points looked at per pair before the bottom is taken; >= any hull's vertices
  std::uint32_t patches_per_pair =
      4;  // places where one pair with a mesh or a hollow surface may touch, 1..8; each takes one of `pairs`
  std::uint32_t mesh_points_per_pair = 8192;  // as raw_points_per_pair, for pairs with a mesh; >= 64
  std::uint32_t hull_vertices = 256;          // vertices of one convex polyhedron
  std::uint32_t robot_contacts = 512;         // manifolds with a link of a robot that carry force in a tick
  std::uint32_t robot_dofs = 128;             // of one robot, at most 256
  std::uint32_t problem_contacts = 16384;     // points in one contact problem of a time stepper
  std::uint32_t problem_rows = 768;           // rows of Newton's dense system that its solver has memory for, 64..4096
  std::uint32_t pivot_rows = 320;             // rows of the dense problems that pivoting takes, 16..2048
  std::uint32_t impact_sweeps = 10;           // passes of sequential impulses in one tick
  std::uint64_t mesh_file_bytes = 256ULL << 20;  // of one mesh file
  std::uint32_t mesh_triangles = 2'000'000;      // over all meshes of a scene, after subdivision
  std::uint64_t field_bytes = 1ULL << 30;        // distance fields of all meshes of a scene
};

}  // namespace tactus
