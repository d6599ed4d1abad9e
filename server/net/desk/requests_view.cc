// What a viewer asks for besides what every client does: triangles to draw, and commands over the WebSocket.
#include <algorithm>

#include "core/shape/convex_hull.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/smooth/smooth_tessellate.h"
#include "proto/cpp/ranges.h"
#include "server/net/udp/realtime_port.h"
#include "server/net/desk/requests.h"

namespace tactus::net {
namespace {

// Of one reply: 1.8 MB, below what a frame may have.
constexpr auto kTrianglesMax = static_cast<std::uint32_t>(wire::range_of("GetMesh.count").high);

void add_corner(v1::Mesh& out, const Vec3& p) {
  for (int i = 0; i < 3; ++i) out.add_corner_m(static_cast<float>(p[i]));
}

// A TriangleMesh or SmoothTriangles.
template <typename Mesh>
void add_mesh(const Mesh& mesh, std::uint32_t first, std::uint32_t end, v1::Mesh& out) {
  for (std::uint32_t t = first; t < end; ++t) {
    for (const std::uint32_t v : mesh.triangles[t]) add_corner(out, mesh.vertices[v]);
  }
}

// Faces are convex: fans.
void add_hull(const ConvexHull& hull, std::uint32_t first, std::uint32_t end, v1::Mesh& out) {
  std::uint32_t t = 0;
  for (const ConvexHull::Face& face : hull.faces) {
    for (std::uint32_t k = 2; k < face.count; ++k, ++t) {
      if (t < first || t >= end) continue;
      for (const std::uint32_t v : {0u, k - 1, k}) add_corner(out, hull.vertices[hull.face_vertices[face.first + v]]);
    }
  }
}

}  // namespace

DrawnShape::DrawnShape(const Shape& shape) : shape_(shape) {
  static_assert(kDrawTriangles <= kTrianglesMax);  // one piece is more than a smooth shape has
  if (shape.smooth != nullptr) smooth_ = tessellate(*shape.smooth, kDrawTolerance * shape.smooth->radius());
}

std::uint32_t DrawnShape::triangles() const {
  if (shape_.smooth != nullptr) return static_cast<std::uint32_t>(smooth_.triangles.size());
  if (shape_.mesh != nullptr) return static_cast<std::uint32_t>(shape_.mesh->triangles.size());
  std::uint32_t count = 0;
  if (shape_.hull != nullptr) {
    for (const ConvexHull::Face& face : shape_.hull->faces) count += face.count - 2;
  }
  return count;
}

void DrawnShape::add(std::uint32_t first, std::uint32_t end, v1::Mesh& out) const {
  out.mutable_corner_m()->Reserve(static_cast<int>(9 * (end - first)));
  if (shape_.mesh != nullptr)
    add_mesh(*shape_.mesh, first, end, out);
  else if (shape_.smooth != nullptr)
    add_mesh(smooth_, first, end, out);
  else
    add_hull(*shape_.hull, first, end, out);
}

// No reply: the verdict comes with the states, as for a datagram.
void take_command(const Exchange& x, std::uint64_t sequence, const std::string& packet) {
  Session* session = x.session();
  if (!session->framed)
    return x.error(v1::ERROR_WRONG_STATE,
                   "commands of this connection go as datagrams; in frames over a WebSocket only");
  x.hub().realtime->take_command(*session, sequence,
                                 {reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()});
}

void get_mesh(const Exchange& x, const v1::GetMesh& request) {
  const SceneView& scene = x.hub().scene;
  if (request.scene_epoch() != scene.epoch)
    return x.error(v1::ERROR_STALE_EPOCH, "the scene has changed since; DescribeScene gives the present one");
  const Model& model = scene.model();
  if (request.body() >= model.bodies.size() || request.shape() >= model.bodies[request.body()].shape_count)
    return x.error(v1::ERROR_NOT_FOUND, "no shape " + std::to_string(request.shape()) + " of body " +
                                            std::to_string(request.body()) + "; DescribeScene lists them");
  const Shape& shape = model.shapes[model.bodies[request.body()].first_shape + request.shape()].shape;
  const DrawnShape drawn(shape);
  const std::uint32_t total = drawn.triangles();
  if (total == 0)
    return x.error(v1::ERROR_BAD_VALUE,
                   std::string("a ") + to_string(shape.kind) + " has no triangles; its sizes say all");
  const std::uint32_t wanted = request.count() == 0 ? kTrianglesMax : std::min(request.count(), kTrianglesMax);
  const std::uint32_t first = std::min(request.first(), total), end = first + std::min(wanted, total - first);
  v1::Reply reply;
  v1::Mesh& out = *reply.mutable_mesh();
  out.set_triangles(total);
  out.set_first(first);
  drawn.add(first, end, out);
  x.reply(std::move(reply));
}

}  // namespace tactus::net
