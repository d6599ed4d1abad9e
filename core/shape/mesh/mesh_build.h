// The way from a file's triangles to a mesh that collision can use, in order.
#pragma once

#include "core/shape/mesh/mesh_check.h"
#include "core/shape/mesh/mesh_repair.h"
#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

// Merges equal vertices and closes seams; with repair also drops what has no area or stands twice, separates pinched
// vertices and turns triangles and shells the right way. Then checks everything but self-intersection; what is found is
// returned.
MeshDefect prepare_mesh(MeshSoup& soup, bool repair, MeshRepairs& done);

// Vertices, triangles, features and tree of a soup that prepare_mesh() has accepted. The distance field is left out.
TriangleMesh finish_mesh(const MeshSoup& soup);

}  // namespace tactus
