// Which bodies of one robot never collide with each other.
#include <algorithm>

#include "core/collide/mesh/collide_mesh.h"
#include "core/collide/narrow_phase.h"
#include "core/collide/places/collide_mesh_smooth.h"
#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

constexpr std::uint32_t kPoints = 2048;  // of one pair; more do not matter here
constexpr std::size_t kNamedPairs = 6;   // in a note

// Whether shapes overlap at the initial pose, by the narrow phase that the world uses.
class OverlapTest {
 public:
  bool shapes(const Shape& a, const Frame& X_A, const Shape& b, const Frame& X_B) {
    const Aabb box_a = bounds(a, X_A), box_b = bounds(b, X_B);
    if ((box_a.lo.array() > box_b.hi.array()).any() || (box_b.lo.array() > box_a.hi.array()).any()) return false;
    if (is_mesh_smooth_pair(a, b)) return places(a, X_A, b, X_B);
    if (is_mesh_pair(a, b)) return meshes(a, X_A, b, X_B);
    Witness witness;
    ContactBuffer out{points_.data(), kPoints};
    collide(a, X_A, b, X_B, witness, out);
    return out.count > 0;
  }
  bool bodies(const RobotBody& a, const RobotBody& b) {
    for (const RobotLink& link_a : a.links)
      for (const ShapeSpec& s : link_a.shapes)
        for (const RobotLink& link_b : b.links)
          for (const ShapeSpec& t : link_b.shapes)
            if (shapes(s.shape, frame(a, s), t.shape, frame(b, t))) return true;
    return false;
  }

 private:
  static Frame frame(const RobotBody& body, const ShapeSpec& s) {
    const Pose X = body.X_RB0 * s.X_BS;
    return {X.q.toRotationMatrix(), X.p};
  }
  bool meshes(const Shape& a, const Frame& X_A, const Shape& b, const Frame& X_B) {
    if (!scratch_) scratch_ = std::make_unique<MeshScratch>(8192);
    std::vector<PairRecord> records(kMaxMeshPatches);
    MeshContacts out;
    collide_mesh(a, X_A, b, X_B, 0, records.data(), kMaxMeshPatches, *scratch_, out);
    return std::any_of(std::begin(out.patch), std::end(out.patch), [](const ContactBuffer& p) { return p.count > 0; });
  }
  bool places(const Shape& a, const Frame& X_A, const Shape& b, const Frame& X_B) {
    std::vector<PairRecord> records(kMaxMeshPatches);
    PlaceContacts out;
    for (std::uint32_t k = 0; k < kMaxMeshPatches; ++k) {
      out.place[k] = {points_.data() + std::size_t{k} * (kPoints / kMaxMeshPatches), kPoints / kMaxMeshPatches};
    }
    collide_mesh_smooth(a, X_A, b, X_B, 0, 0, records.data(), kMaxMeshPatches, out);
    return std::any_of(std::begin(out.place), std::end(out.place), [](const ContactBuffer& p) { return p.count > 0; });
  }

  std::vector<ContactPoint> points_ = std::vector<ContactPoint>(kPoints);
  std::unique_ptr<MeshScratch> scratch_;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> apart_pairs(const RobotDescription& robot, RobotAssembly& assembly,
                                                                 const RobotSpec& spec) {
  const auto& bodies = assembly.bodies;
  std::map<std::string, std::uint32_t> body_of;
  for (std::uint32_t b = 0; b < bodies.size(); ++b)
    for (const RobotLink& l : bodies[b].links) body_of.emplace(robot.links[l.link].name, b);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const auto& [a, b] : spec.no_collision) {
    const std::uint32_t i = body_of.at(a), j = body_of.at(b);
    if (i != j) out.emplace_back(std::min(i, j), std::max(i, j));
  }
  const auto given = out;
  OverlapTest test;
  std::string named;
  std::size_t overlapping = 0;
  for (std::uint32_t i = 0; i < bodies.size() && spec.self_collision != SelfCollision::all; ++i) {
    for (std::uint32_t j = i + 1; j < bodies.size(); ++j) {
      if (std::find(given.begin(), given.end(), std::pair{i, j}) != given.end()) continue;
      if (spec.self_collision == SelfCollision::none || bodies[j].parent == i || bodies[i].parent == j) {
        out.emplace_back(i, j);
      } else if (test.bodies(bodies[i], bodies[j])) {
        out.emplace_back(i, j);
        if (++overlapping > kNamedPairs) continue;
        named += (named.empty() ? "" : ", ") + robot.links[bodies[i].links[0].link].name + " and " +
                 robot.links[bodies[j].links[0].link].name;
      }
    }
  }
  if (overlapping > 0)
    assembly.notes.push_back(std::to_string(overlapping) +
                             " pairs of links overlap at the initial pose and never collide: " + named +
                             (overlapping > kNamedPairs ? ", ..." : ""));
  return out;
}

}  // namespace tactus
