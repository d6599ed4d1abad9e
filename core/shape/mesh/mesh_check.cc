#include "core/shape/mesh/mesh_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/shape/mesh/mesh_features.h"

namespace tactus {
namespace {

using Triangle = TriangleMesh::Triangle;
using Kind = MeshDefectKind;

MeshDefect at(Kind kind, std::uint32_t t, const Vec3& p, const Vec3& q = Vec3::Zero()) {
  MeshDefect defect;
  defect.kind = kind;
  defect.triangle = defect.other = t;
  defect.p = p;
  defect.q = q;
  defect.count = 1;
  return defect;
}

// Notes a defect: the first is kept, all are counted.
void note(MeshDefect& found, const MeshDefect& defect) {
  const std::size_t count = found.count + 1;
  if (!found) found = defect;
  found.count = count;
}

MeshDefect check_numbers(const MeshSoup& soup) {
  MeshDefect found;
  for (std::uint32_t t = 0; t < soup.triangles.size(); ++t)
    for (const std::uint32_t v : soup.triangles[t])
      if (!soup.vertices[v].allFinite()) {
        note(found, at(Kind::not_finite, t, soup.vertices[v]));
        break;
      }
  if (found) return found;
  if (soup.triangles.size() < 4) {
    found = at(Kind::empty, 0, Vec3::Zero());
    found.uses = soup.triangles.size();
    return found;
  }
  const MeshBounds box = bounds_of(soup.vertices);
  const double farthest = std::max(box.lo.cwiseAbs().maxCoeff(), box.hi.cwiseAbs().maxCoeff());
  if (!(box.diagonal() >= kSizeMin && farthest <= kSizeMax)) return at(Kind::flat, 0, box.lo, box.hi);
  return found;
}

MeshDefect check_triangles(const MeshSoup& soup) {
  MeshDefect repeated, flat;
  const double tolerance = kDegenerateTolerance * bounds_of(soup.vertices).diagonal();
  for (std::uint32_t t = 0; t < soup.triangles.size(); ++t) {
    const auto& [a, b, c] = soup.triangles[t];
    const Vec3 &p = soup.vertices[a], &q = soup.vertices[b], &r = soup.vertices[c];
    if (a == b || b == c || c == a) {
      note(repeated, at(Kind::repeated_vertex, t, b == c ? q : p));
      continue;
    }
    const double longest = std::max({(q - p).norm(), (r - q).norm(), (p - r).norm()});
    const double height = (q - p).cross(r - p).norm() / longest;
    if (height > tolerance) continue;
    MeshDefect defect = at(Kind::no_area, t, p, q);
    defect.value = height;
    note(flat, defect);
  }
  return repeated ? repeated : flat;
}

// The same three vertices in the same order, whatever the first.
MeshDefect check_duplicates(const MeshSoup& soup) {
  std::vector<std::pair<Triangle, std::uint32_t>> order(soup.triangles.size());
  for (std::uint32_t t = 0; t < order.size(); ++t) {
    Triangle turned = soup.triangles[t];
    std::rotate(turned.begin(), std::min_element(turned.begin(), turned.end()), turned.end());
    order[t] = {turned, t};
  }
  std::sort(order.begin(), order.end());
  MeshDefect found;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i].first != order[i - 1].first) continue;
    MeshDefect defect = at(Kind::duplicate, order[i].second, soup.vertices[order[i].first[0]]);
    defect.other = order[i - 1].second;
    note(found, defect);
  }
  return found;
}

MeshDefect check_edges(const MeshSoup& soup) {
  MeshDefect open, crowded, turned;
  const auto uses = edge_uses(soup.triangles);
  for_each_edge(uses, [&](const EdgeUse* use, std::size_t count) {
    MeshDefect defect = at(Kind::open_edge, use->triangle, soup.vertices[use->low()], soup.vertices[use->high()]);
    defect.uses = count;
    if (count == 1) {
      note(open, defect);
      return;
    }
    defect.other = use[1].triangle;
    defect.kind = count > 2 ? Kind::crowded_edge : Kind::same_way;
    if (count > 2)
      note(crowded, defect);
    else if (use[0].forward == use[1].forward)
      note(turned, defect);
  });
  return open ? open : crowded ? crowded : turned;
}

// A vertex is pinched when splitting would double it.
MeshDefect check_vertices(const MeshSoup& soup) {
  MeshSoup copy = soup;
  MeshRepairs done;
  split_pinched_vertices(copy, done);
  if (done.pinched == 0) return {};
  for (std::uint32_t t = 0; t < soup.triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k)
      if (copy.triangles[t][k] != soup.triangles[t][k]) {
        MeshDefect found = at(Kind::pinched_vertex, t, soup.vertices[soup.triangles[t][k]]);
        found.count = done.pinched;
        return found;
      }
  return {};
}

MeshDefect check_shells(const MeshSoup& soup) {
  std::vector<std::uint32_t> shell_of;
  MeshDefect found;
  for (const Shell& shell : find_shells(soup.vertices, soup.triangles, shell_of)) {
    if (!shell.wrong_way()) continue;
    MeshDefect defect = at(Kind::inside_out, shell.triangle, Vec3::Zero());
    defect.uses = shell.inside_of;
    defect.value = shell.volume;
    note(found, defect);
  }
  return found;
}

std::string text(double x) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::general, 6).ptr;
  return {buffer.data(), end};
}
std::string text(const Vec3& p) {
  return std::string("(").append(text(p.x())) + ", " + text(p.y()) + ", " + text(p.z()) + ")";
}

}  // namespace

MeshDefect check_mesh(const MeshSoup& soup) {
  for (const auto check : {check_numbers, check_triangles, check_duplicates, check_edges, check_vertices, check_shells})
    if (const MeshDefect defect = check(soup)) return defect;
  return {};
}

bool repairable(MeshDefectKind kind) noexcept {
  switch (kind) {
    case Kind::repeated_vertex:
    case Kind::no_area:
    case Kind::duplicate:
    case Kind::same_way:
    case Kind::pinched_vertex:
    case Kind::inside_out:
      return true;
    case Kind::none:
    case Kind::empty:
    case Kind::not_finite:
    case Kind::flat:
    case Kind::open_edge:
    case Kind::crowded_edge:
    case Kind::one_sided:
    case Kind::self_intersection:
      break;
  }
  return false;
}

std::string describe(const MeshDefect& d, const std::vector<std::uint32_t>& origin, const char* element) {
  const auto name = [&](std::uint32_t t) {
    return std::string(element) + " " + (t < origin.size() ? std::to_string(origin[t]) : "?");
  };
  const std::string here = name(d.triangle) + ": ", edge = "the edge from " + text(d.p) + " to " + text(d.q);
  const std::string all = d.count > 1 ? " (" + std::to_string(d.count) + " such in all)" : "";
  switch (d.kind) {
    case Kind::none:
      return "";
    case Kind::empty:
      return "found " + std::to_string(d.uses) + " triangles, expected at least 4: a closed surface";
    case Kind::not_finite:
      return here + "found the vertex " + text(d.p) + ", expected finite numbers" + all;
    case Kind::flat:
      return "found a surface from " + text(d.p) + " to " + text(d.q) +
             ", expected a solid of at least 1e-9 m, nowhere farther than 1e9 m from its origin";
    case Kind::repeated_vertex:
      return here + "found the vertex " + text(d.p) + " twice, expected three different ones" + all;
    case Kind::no_area:
      return here + "found a triangle at " + text(d.p) + " without area (height " + text(d.value) +
             " m), expected some area" + all;
    case Kind::duplicate:
      return here + "found the triangle of " + name(d.other) + " at " + text(d.p) + " again, expected it once" + all;
    case Kind::open_edge:
      return here + edge + " has 1 triangle, expected 2: the surface has a hole there" + all;
    case Kind::crowded_edge:
      return here + edge + " has " + std::to_string(d.uses) + " triangles, expected 2" + all;
    case Kind::same_way:
      return here + edge + " runs the same way in " + name(d.other) +
             ", expected opposite ways: one of the two is turned" + all;
    case Kind::one_sided:
      return here + "found a surface with only one side (like a Moebius band), expected an inside and an outside";
    case Kind::pinched_vertex:
      return here + "the vertex " + text(d.p) +
             " is all that two parts of the surface share, expected one fan of "
             "triangles around a vertex" +
             all;
    case Kind::inside_out:
      return here +
             (d.uses % 2 == 0 ? "found a shell that is inside out" : "found a cavity that is turned outside in") +
             " (signed volume " + text(d.value) + " m^3, " + std::to_string(d.uses) +
             " shells around it), expected normals that point out of the solid" + all;
    case Kind::self_intersection:
      return here + "crosses " + name(d.other) + " near " + text(d.p) +
             ", expected a surface that does not meet itself" + (d.count >= 1000 ? " (1000 such or more)" : all);
  }
  return "";
}

}  // namespace tactus
