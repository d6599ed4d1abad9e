// All features of two convex polyhedra (polygons in planar worlds) that could touch within a step, and the constraints
// that they make (Williams, Lu & Trinkle 2014, "PEG"): not only the nearest points, but every vertex, edge and face
// within reach, in the paper's configurations. Gaps are plain distances from planes, psi; normals point from B into A.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/collide/convex/gauss_map.h"
#include "core/collide/feature/feature_shape.h"
#include "core/collide/narrow_phase.h"

namespace tactus {

struct FeatureContact {
  enum class Kind : std::uint8_t { vertex_face, face_vertex, edge_edge };  // first word: feature of A
  Vec3 nhat_BA_W, p_WC;                                                    // p_WC: midway across the gap
  double gap;                                                              // [m]
  Kind kind;
  std::uint32_t feature_a, feature_b;
  std::uint32_t manifold;  // of the tick's ContactSet, set by whoever takes the contact there
  bool unilateral;         // a U-constraint by itself (8); else only what groups make of it
};

// The I- and X-constraints. iota: members that may push, kappa: those that only witness (10).
struct FeatureGroup {
  enum class Kind : std::uint8_t {
    // Vertex-vertex, vertex-edge: all applicable contacts of both sides, one I-constraint. Ours: the paper's form of
    // these has no force between two edges, and no solution where those are what touches.
    repaired,
    inter,  // the paper's I-constraint: one vertex against the faces that meet there (17), (20), (22), (23)
    cross   // the paper's X-constraint (17), (21), (24): kappa only
  };
  Kind kind;
  std::uint32_t first, iota, kappa;  // into FeaturePairs::members(): iota first, then kappa
};

struct FeatureRules {
  bool repaired = true, inter = false, cross = false;  // which groups are wanted
  EdgeTest edge_test = EdgeTest::gauss;
  double epsilon = 0;       // sine of the angle by which applicability is relaxed
  bool unilateral = false;  // every contact of the groups is a U-constraint, and none of them is kept
};

// Finds pair after pair; memory is fixed. What does not fit is counted in dropped().
class FeaturePairs {
 public:
  FeaturePairs(std::vector<FeatureShape> shapes, std::uint32_t contacts_max);

  void start(const FeatureRules& rules) noexcept;
  // The shape's own features are known (else it is round or a mesh).
  [[nodiscard]] bool knows(std::uint32_t shape) const noexcept {
    return shapes_[shape].kind != FeatureShape::Kind::none;
  }
  // What one pair has. overlap: how deep they are in each other [m], negative: a lower bound of the distance.
  struct Found {
    std::uint32_t first, count;
    double overlap;
  };
  // Appends the pair's contacts and groups. reach: how far apart features may be [m]; turn: by how much the bodies may
  // turn against each other in the step [rad], which relaxes applicability. Cost: the features of each within reach of
  // the other's box, in pairs; all where they overlap. Deeper than 0.05 % of the smaller one: the points of
  // least overlap.
  Found find(std::uint32_t a, const Shape& shape_a, const Frame& X_WA, std::uint32_t b, const Shape& shape_b,
             const Frame& X_WB, double reach, double turn, Witness& witness) noexcept;

  [[nodiscard]] std::span<const FeatureContact> contacts() const noexcept { return {contacts_.data(), contact_count_}; }
  void set_manifold(std::uint32_t contact, std::uint32_t manifold) noexcept {
    TACTUS_DCHECK(contact < contact_count_);
    contacts_[contact].manifold = manifold;
  }
  [[nodiscard]] std::span<const FeatureGroup> groups() const noexcept { return {groups_.data(), group_count_}; }
  // Indices of contacts.
  [[nodiscard]] std::span<const std::uint32_t> members(const FeatureGroup& group) const noexcept {
    TACTUS_DCHECK(group.first + group.iota + group.kappa <= member_count_);
    return {members_.data() + group.first, group.iota + group.kappa};
  }
  [[nodiscard]] std::uint32_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(contacts_.size()); }

 private:
  // One side of the pair in W, and what of it is near the other.
  struct Side {
    const FeatureShape* shape = nullptr;
    std::vector<Vec3> vertices, normals;
    Vec3 lo, hi;
    std::vector<std::uint32_t> near_vertices, near_edges, near_faces;
  };

  void place(Side& side, const FeatureShape& shape, const Frame& X_WS) const noexcept;
  void filter(Side& side, const Side& other) const noexcept;
  static double separation(const Side& a, const Side& b, double enough) noexcept;
  [[nodiscard]] double smaller_size() const noexcept;
  void add_deep(const ContactBuffer& least) noexcept;
  void find_plane(bool plane_is_b, double reach) noexcept;
  void find_vertex_pairs() noexcept;
  void find_vertex_edges(bool vertex_of_a) noexcept;
  void find_vertex_faces(bool vertex_of_a) noexcept;
  void find_edge_pairs() noexcept;

  void add_vertex_vertex(std::uint32_t va, std::uint32_t vb) noexcept;
  void add_vertex_edge(bool vertex_of_a, std::uint32_t v, std::uint32_t e) noexcept;
  void add_cross_planar(std::uint32_t va, std::uint32_t vb) noexcept;
  void add_cross_vertices(std::uint32_t va, std::uint32_t vb) noexcept;

  [[nodiscard]] bool near(const Vec3& p, const Vec3& q) const noexcept { return (p - q).squaredNorm() < reach2_; }
  [[nodiscard]] bool near_edge(const Side& side, std::uint32_t edge, const Vec3& p) const noexcept;
  [[nodiscard]] Wedge wedge(const Side& side, std::uint32_t edge) const noexcept;
  [[nodiscard]] bool vertex_applies(bool vertex_of_a, std::uint32_t v, std::uint32_t f, double epsilon) const noexcept;
  // Index of the contact, made where it is not there yet; kNoContact: does not fit, or parallel edges.
  std::uint32_t vertex_face(bool vertex_of_a, std::uint32_t v, std::uint32_t f) noexcept;
  std::uint32_t edge_edge(std::uint32_t ea, std::uint32_t eb, bool& applies) noexcept;
  std::uint32_t add(const FeatureContact& contact) noexcept;
  // A group is opened, filled (iota before kappa) and closed; an empty one is forgotten.
  void open(FeatureGroup::Kind kind) noexcept;
  void join(std::uint32_t contact, bool iota) noexcept;
  void close(bool needs_iota) noexcept;
  void open_false_traps(std::uint32_t group_first) noexcept;
  [[nodiscard]] bool separates(const FeatureContact& contact) const noexcept;
  void inter_group(bool vertex_of_a, std::uint32_t v, std::span<const std::uint32_t> faces) noexcept;

  std::vector<FeatureShape> shapes_;
  FeatureRules rules_;
  Side side_[2];
  double reach_ = 0, reach2_ = 0, epsilon_ = 0, parallel_ = 0;
  std::uint32_t pair_first_ = 0;
  std::vector<FeatureContact> contacts_;
  std::vector<FeatureGroup> groups_;
  std::vector<std::uint32_t> members_;
  std::uint32_t contact_count_ = 0, group_count_ = 0, member_count_ = 0, dropped_ = 0;
};

inline constexpr std::uint32_t kNoContact = 0xffffffffU;

}  // namespace tactus
