// The configurations of PEG: which contacts of a pair belong together, (17) to (24) and the repaired form.
#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/collide/feature/feature_pairs.h"

namespace tactus {

namespace {

constexpr double kInside = 1e-6;  // [m]

}  // namespace

// The contact's plane has all of A on one side and all of B on the other.
bool FeaturePairs::separates(const FeatureContact& contact) const noexcept {
  if (!(contact.gap > 0)) return false;
  double a = std::numeric_limits<double>::infinity(), b = -a;
  for (std::size_t i = 0; i < side_[0].shape->vertices.size(); ++i) {
    a = std::min(a, contact.nhat_BA_W.dot(side_[0].vertices[i]));
  }
  for (std::size_t i = 0; i < side_[1].shape->vertices.size(); ++i) {
    b = std::max(b, contact.nhat_BA_W.dot(side_[1].vertices[i]));
  }
  return a > b;
}

// Near a sharp corner another face than those of a constraint may be what keeps the bodies apart: it joins the
// constraints that hold them for overlapping. Each plane of the pair that separates is enough by itself.
void FeaturePairs::open_false_traps(std::uint32_t group_first) noexcept {
  std::uint32_t widest = kNoContact;
  bool sought = false;
  const auto separating = [&] {
    for (std::uint32_t i = pair_first_; i < contact_count_ && !sought; ++i) {
      const bool wider = widest == kNoContact || contacts_[i].gap > contacts_[widest].gap;
      if (wider && separates(contacts_[i])) widest = i;
    }
    sought = true;
    return widest;
  };
  const std::uint32_t group_end = group_count_;
  for (std::uint32_t g = group_first; g < group_end; ++g) {
    FeatureGroup& group = groups_[g];
    const std::uint32_t size = group.iota + group.kappa;
    const std::uint32_t* const first = members_.data() + group.first;
    const bool closed = std::all_of(first, first + size, [&](auto i) { return contacts_[i].gap < -kInside; });
    if (group.kind != FeatureGroup::Kind::repaired || !closed || separating() == kNoContact) continue;
    if (member_count_ + size + 1 > members_.size()) {
      ++dropped_;
      return;
    }
    std::copy_n(first, size, members_.begin() + member_count_);
    members_[member_count_ + size] = widest;
    group.first = member_count_, ++group.iota;
    member_count_ += size + 1;
  }
  for (std::uint32_t i = pair_first_; i < contact_count_; ++i) {
    if (!contacts_[i].unilateral || contacts_[i].gap >= -kInside || separating() == kNoContact) continue;
    contacts_[i].unilateral = false;
    open(FeatureGroup::Kind::repaired);
    join(i, true), join(widest, true);
    close(true);
  }
}

void FeaturePairs::open(FeatureGroup::Kind kind) noexcept {
  if (group_count_ == groups_.size()) {
    ++dropped_;
    return;
  }
  groups_[group_count_] = {kind, member_count_, 0, 0};
}

void FeaturePairs::join(std::uint32_t contact, bool iota) noexcept {
  TACTUS_DCHECK(contact == kNoContact || contact < contact_count_);
  if (group_count_ == groups_.size() || contact == kNoContact) return;
  FeatureGroup& group = groups_[group_count_];
  for (std::uint32_t k = 0; k < group.iota + group.kappa; ++k) {
    if (members_[group.first + k] == contact) return;
  }
  if (member_count_ == members_.size()) {
    ++dropped_;
    return;
  }
  members_[member_count_++] = contact;
  ++(iota ? group.iota : group.kappa);
}

void FeaturePairs::close(bool needs_iota) noexcept {
  if (group_count_ == groups_.size()) return;
  const FeatureGroup& group = groups_[group_count_];
  for (std::uint32_t k = 0; k < group.iota + group.kappa && rules_.unilateral; ++k) {
    contacts_[members_[group.first + k]].unilateral = true;
  }
  if (!rules_.unilateral && (group.iota > 0 || (!needs_iota && group.kappa > 0))) {
    ++group_count_;
  } else {
    member_count_ = group.first;
  }
}

// I(iota, kappa) of one vertex: faces that it applies to may push, the others witness. With kappa empty, as (17), (22)
// and (23) may be read, the trap of Stewart and Trinkle's model would stay a solution.
void FeaturePairs::inter_group(bool vertex_of_a, std::uint32_t v, std::span<const std::uint32_t> faces) noexcept {
  open(FeatureGroup::Kind::inter);
  for (const std::uint32_t f : faces) {
    if (vertex_applies(vertex_of_a, v, f, epsilon_)) join(vertex_face(vertex_of_a, v, f), true);
  }
  if (group_count_ < groups_.size() && groups_[group_count_].iota > 0) {
    for (const std::uint32_t f : faces) {
      if (!vertex_applies(vertex_of_a, v, f, epsilon_)) join(vertex_face(vertex_of_a, v, f), false);
    }
  }
  close(true);
}

// Fig. 5, (17); Fig. 8, (22) to (24).
void FeaturePairs::add_vertex_vertex(std::uint32_t va, std::uint32_t vb) noexcept {
  const FeatureShape &a = *side_[0].shape, &b = *side_[1].shape;
  const auto faces_a = a.vertex_faces.of(va), faces_b = b.vertex_faces.of(vb);
  if (rules_.repaired) {
    open(FeatureGroup::Kind::repaired);
    for (const std::uint32_t f : faces_b) {
      if (vertex_applies(true, va, f, epsilon_)) join(vertex_face(true, va, f), true);
    }
    for (const std::uint32_t f : faces_a) {
      if (vertex_applies(false, vb, f, epsilon_)) join(vertex_face(false, vb, f), true);
    }
    for (const std::uint32_t ea : a.vertex_edges.of(va)) {
      for (const std::uint32_t eb : b.vertex_edges.of(vb)) {
        bool applies = false;
        join(edge_edge(ea, eb, applies), true);
      }
    }
    close(true);
  }
  if (rules_.inter) inter_group(true, va, faces_b), inter_group(false, vb, faces_a);
  if (rules_.cross && a.planar) add_cross_planar(va, vb);
  if (rules_.cross && !a.planar) add_cross_vertices(va, vb);
}

// (17): X(C1, C4), X(C2, C3), where C1, C2 are v_a against the side that leaves v_b and the one that arrives there,
// C3, C4 the same of v_b.
void FeaturePairs::add_cross_planar(std::uint32_t va, std::uint32_t vb) noexcept {
  const auto faces_a = side_[0].shape->vertex_faces.of(va), faces_b = side_[1].shape->vertex_faces.of(vb);
  for (std::size_t k = 0; k < 2; ++k) {
    open(FeatureGroup::Kind::cross);
    join(vertex_face(true, va, faces_b[k]), false);
    join(vertex_face(false, vb, faces_a[1 - k]), false);
    close(false);
  }
}

// (24): for each pair of faces, the two vertex-face contacts or an applicable pair of their edges. Which edges are
// meant it does not say: all that pass (7), and no constraint where none does.
void FeaturePairs::add_cross_vertices(std::uint32_t va, std::uint32_t vb) noexcept {
  const FeatureShape &a = *side_[0].shape, &b = *side_[1].shape;
  const auto borders = [](const FeatureShape& shape, std::uint32_t e, std::uint32_t f) {
    return shape.edges[e].left == f || shape.edges[e].right == f;
  };
  for (const std::uint32_t fa : a.vertex_faces.of(va)) {
    for (const std::uint32_t fb : b.vertex_faces.of(vb)) {
      open(FeatureGroup::Kind::cross);
      for (const std::uint32_t ea : a.vertex_edges.of(va)) {
        for (const std::uint32_t eb : b.vertex_edges.of(vb)) {
          bool applies = false;
          if (borders(a, ea, fa) && borders(b, eb, fb)) join(edge_edge(ea, eb, applies), false);
        }
      }
      if (group_count_ < groups_.size() && groups_[group_count_].kappa > 0) {
        join(vertex_face(true, va, fb), false), join(vertex_face(false, vb, fa), false);
      }
      close(false);
    }
  }
}

// Fig. 7, (20) and (21). The vertex is A's or B's, the edge the other's.
void FeaturePairs::add_vertex_edge(bool vertex_of_a, std::uint32_t v, std::uint32_t e) noexcept {
  const Side &own = side_[vertex_of_a ? 0 : 1], &other = side_[vertex_of_a ? 1 : 0];
  const FeatureShape::Edge& edge = other.shape->edges[e];
  const std::uint32_t faces[2] = {edge.left, edge.right};
  const auto edges = own.shape->vertex_edges.of(v);
  const auto meet = [&](std::uint32_t own_edge) {
    bool applies = false;
    return vertex_of_a ? edge_edge(own_edge, e, applies) : edge_edge(e, own_edge, applies);
  };
  if (rules_.repaired) {
    open(FeatureGroup::Kind::repaired);
    for (const std::uint32_t f : faces) {
      if (vertex_applies(vertex_of_a, v, f, epsilon_)) join(vertex_face(vertex_of_a, v, f), true);
    }
    for (const std::uint32_t own_edge : edges) join(meet(own_edge), true);
    close(true);
  }
  if (rules_.inter) inter_group(vertex_of_a, v, faces);
  if (!rules_.cross) return;
  const Vec3 along = other.vertices[edge.head] - other.vertices[edge.tail];
  const Vec3 across = along.cross(-(other.normals[edge.left] + other.normals[edge.right]));
  for (const std::uint32_t own_edge : edges) {
    const std::uint32_t crossing = meet(own_edge);
    if (crossing == kNoContact) continue;
    const FeatureShape::Edge& o = own.shape->edges[own_edge];
    // n_ai of (21) is the edge's direction, v_a - v_ki: with the contact's normal, A onto B, the test is inverted.
    const Vec3 n_ai = own.vertices[v] - own.vertices[o.tail == v ? o.head : o.tail];
    open(FeatureGroup::Kind::cross);
    join(vertex_face(vertex_of_a, v, n_ai.dot(across) < 0 ? edge.left : edge.right), false);
    join(crossing, false);
    close(false);
  }
}

}  // namespace tactus
