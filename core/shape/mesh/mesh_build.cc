#include "core/shape/mesh/mesh_build.h"

#include <memory>

#include "core/shape/mesh/mesh_features.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

MeshDefect prepare_mesh(MeshSoup& soup, bool repair, MeshRepairs& done) {
  // Nothing can be ordered or measured with numbers that are not.
  if (const MeshDefect defect = check_mesh(soup); defect.kind <= MeshDefectKind::flat && defect) return defect;
  merge_equal_vertices(soup, done);
  if (!repair) {
    close_seams(soup, done);
    return check_mesh(soup);
  }
  // Dropping a triangle without area opens the seam that it filled; closing a seam may leave another one without area.
  for (int pass = 0; pass < 4; ++pass) {
    const auto before = done.degenerate + done.duplicate + done.split + done.welded;
    drop_degenerate(soup, done);
    close_seams(soup, done);
    if (done.degenerate + done.duplicate + done.split + done.welded == before) break;
  }
  split_pinched_vertices(soup, done);
  const bool two_sided = orient(soup, done);
  MeshDefect defect = check_mesh(soup);
  if (!two_sided && defect.kind == MeshDefectKind::same_way) defect.kind = MeshDefectKind::one_sided;
  return defect;
}

TriangleMesh finish_mesh(const MeshSoup& soup) {
  TriangleMesh mesh;
  mesh.vertices = soup.vertices;
  mesh.triangles = soup.triangles;
  find_features(mesh);
  auto tree = std::make_shared<TriangleTree>();
  build_triangle_tree(mesh, *tree);
  mesh.tree = std::move(tree);
  return mesh;
}

}  // namespace tactus
