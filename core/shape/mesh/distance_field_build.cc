// The octree is built level by level: the cells of one level are judged independently, in any order, and their verdicts
// are then laid down in the order of the cells. So the bytes do not depend on who ran the jobs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/shape/mesh/distance_field.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

constexpr std::size_t kExactList = 20;  // triangles that an exact leaf may hold above the deepest level
constexpr double kMargin = 0.05;        // of the diagonal: from the mesh to the faces of the root cell
constexpr std::size_t kCellsPerJob = 32;

struct Cell {
  std::uint32_t node, x, y, z;
};

struct Verdict {
  DistanceField::Kind kind = DistanceField::kInner;
  DistanceField::Linear linear{};
  std::vector<std::uint32_t> triangles;  // exact
  double error = 0;
};

struct Level {
  const TriangleMesh* mesh;
  const DistanceField* field;
  const std::vector<Cell>* cells;
  std::vector<Verdict>* verdicts;
  int depth, max_depth;
};

// Cell in numbers.
struct Cube {
  Vec3 lo, centre;
  double edge, radius;  // of the ball around it
};

double trilinear(const float* c, double x, double y, double z) noexcept {
  double sum = 0;
  for (unsigned k = 0; k < 8; ++k) {
    sum += c[k] * ((k & 1U) != 0 ? x : 1 - x) * ((k & 2U) != 0 ? y : 1 - y) * ((k & 4U) != 0 ? z : 1 - z);
  }
  return sum;
}

class Judge {
 public:
  Judge(const Level& level, const Cell& cell) : mesh_(*level.mesh), field_(*level.field) {
    cube_.edge = std::ldexp(field_.size, -level.depth);
    cube_.lo = field_.origin + cube_.edge * Vec3(cell.x, cell.y, cell.z);
    cube_.centre = cube_.lo + Vec3::Constant(0.5 * cube_.edge);
    cube_.radius = 0.5 * std::sqrt(3.0) * cube_.edge;
    last_ = level.depth == level.max_depth;
  }

  void decide(Verdict& out) {
    const MeshClosest centre = closest_on_mesh(mesh_, cube_.centre);
    reach_ = (std::abs(centre.distance) + cube_.radius) * (1 + 1e-9) + 1e-300;
    if (try_linear(centre, out)) {
      out.kind = DistanceField::kLinear;
      return;
    }
    out.error = 0;  // exact
    gather(std::abs(centre.distance), last_ ? std::numeric_limits<std::size_t>::max() : kExactList, out.triangles);
    if (last_ || out.triangles.size() <= kExactList) {
      out.kind = DistanceField::kExact;
    } else {
      out.triangles.clear();
    }
  }

 private:
  [[nodiscard]] double distance(const Vec3& p) const { return closest_on_mesh(mesh_, p, reach_).distance; }
  [[nodiscard]] double plane(const Vec3& p) const {
    return mesh_.normals[plane_].dot(p - mesh_.vertices[mesh_.triangles[plane_][0]]);
  }
  [[nodiscard]] bool fits(double x, double y, double z, double truth, const float* corner, double& error) const {
    const double found = plane(cube_.lo + cube_.edge * Vec3(x, y, z)) + trilinear(corner, x, y, z);
    const double wrong = std::abs(found - truth) - DistanceField::kGrowth * std::abs(truth);
    error = std::max(error, wrong);
    return wrong <= field_.tolerance;
  }

  // Is interpolation within the tolerance at the centre, the other 18 of a 3 x 3 x 3 grid and the centres of the eight
  // children, and near the surface on a finer grid and at the mesh's own points?
  bool try_linear(const MeshClosest& centre, Verdict& out) {
    out.linear.triangle = plane_ = centre.triangle;
    for (unsigned k = 0; k < 8; ++k) {
      const Vec3 at((k & 1U) != 0 ? 1 : 0, (k & 2U) != 0 ? 1 : 0, (k & 4U) != 0 ? 1 : 0);
      const Vec3 p = cube_.lo + cube_.edge * at;
      out.linear.corner[k] = static_cast<float>(distance(p) - plane(p));
    }
    const float* corner = out.linear.corner;
    if (!fits(0.5, 0.5, 0.5, centre.distance, corner, out.error)) return false;
    for (int i = 0; i < 27; ++i) {
      const Vec3 at(0.5 * (i % 3), 0.5 * (i / 3 % 3), 0.5 * (i / 9));
      const bool is_corner = i % 3 != 1 && i / 3 % 3 != 1 && i / 9 != 1;
      if (is_corner || i == 13) continue;
      if (!fits(at.x(), at.y(), at.z(), distance(cube_.lo + cube_.edge * at), corner, out.error)) return false;
    }
    for (unsigned k = 0; k < 8; ++k) {
      const Vec3 at((k & 1U) != 0 ? 0.75 : 0.25, (k & 2U) != 0 ? 0.75 : 0.25, (k & 4U) != 0 ? 0.75 : 0.25);
      if (!fits(at.x(), at.y(), at.z(), distance(cube_.lo + cube_.edge * at), corner, out.error)) return false;
    }
    if (std::abs(centre.distance) > 2 * cube_.radius) return true;
    for (int i = 0; i < 64; ++i) {  // near the surface a slight bend may hide between those
      const Vec3 at(0.125 + 0.25 * (i % 4), 0.125 + 0.25 * (i / 4 % 4), 0.125 + 0.25 * (i / 16));
      if (!fits(at.x(), at.y(), at.z(), distance(cube_.lo + cube_.edge * at), corner, out.error)) return false;
    }
    return fits_surface(corner, out.error);
  }

  // Vertices in the cell, and of each triangle the point nearest to the cell's centre: nothing small is overlooked.
  bool fits_surface(const float* corner, double& error) {
    bool good = true;
    const Vec3 hi = cube_.lo + Vec3::Constant(cube_.edge);
    const auto look = [&](const Vec3& p) {
      const Vec3 at = (p - cube_.lo) / cube_.edge;
      if (at.minCoeff() < 0 || at.maxCoeff() > 1) return;
      good = good && fits(at.x(), at.y(), at.z(), 0.0, corner, error);
    };
    visit_boxes(
        mesh_.tree->triangles,
        [&](const Vec3& l, const Vec3& h) {
          return good && (l - hi).maxCoeff() <= 0 && (cube_.lo - h).maxCoeff() <= 0;
        },
        [&](std::uint32_t t) {
          for (const std::uint32_t v : mesh_.triangles[t]) look(mesh_.vertices[v]);
          look(closest_on_triangle(mesh_, t, cube_.centre));
        });
    return good;
  }

  // Every triangle that is nearest to some point of the cell is within |d| + 2 radius of its centre. The nearest first:
  // a query then turns the others down quickly. Stops once the list is over the limit.
  void gather(double d, std::size_t limit, std::vector<std::uint32_t>& out) {
    const double reach = (d + 2 * cube_.radius) * (1 + 1e-9), reach2 = reach * reach;
    struct Item {
      double d2;
      std::uint32_t triangle;
    };
    std::vector<Item> items;
    visit_boxes(
        mesh_.tree->triangles,
        [&](const Vec3& lo, const Vec3& hi) {
          return items.size() <= limit &&
                 (lo - cube_.centre).cwiseMax(cube_.centre - hi).cwiseMax(0.0).squaredNorm() <= reach2;
        },
        [&](std::uint32_t t) {
          const double d2 = (closest_on_triangle(mesh_, t, cube_.centre) - cube_.centre).squaredNorm();
          if (d2 <= reach2) items.push_back({d2, t});
        });
    std::sort(items.begin(), items.end(),
              [](const Item& x, const Item& y) { return x.d2 < y.d2 || (x.d2 == y.d2 && x.triangle < y.triangle); });
    for (const Item& item : items) out.push_back(item.triangle);
  }

  const TriangleMesh& mesh_;
  const DistanceField& field_;
  Cube cube_;
  double reach_ = 0;
  std::uint32_t plane_ = 0;  // triangle
  bool last_ = false;
};

void judge_some(void* data, std::size_t job) {
  const Level& level = *static_cast<const Level*>(data);
  const std::size_t last = std::min((job + 1) * kCellsPerJob, level.cells->size());
  for (std::size_t i = job * kCellsPerJob; i < last; ++i) Judge(level, (*level.cells)[i]).decide((*level.verdicts)[i]);
}

// Lays one level down; the inner cells' children become the next level.
void lay_down(const std::vector<Cell>& cells, std::vector<Verdict>& verdicts, DistanceField& field,
              std::vector<Cell>& next) {
  next.clear();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    Verdict& verdict = verdicts[i];
    std::size_t index = 0;
    if (verdict.kind == DistanceField::kLinear) {
      index = field.linear.size();
      field.linear.push_back(verdict.linear);
      field.max_error = std::max(field.max_error, verdict.error);
    } else if (verdict.kind == DistanceField::kExact) {
      index = field.exact_first.size() - 1;
      field.exact_triangles.insert(field.exact_triangles.end(), verdict.triangles.begin(), verdict.triangles.end());
      field.exact_first.push_back(static_cast<std::uint32_t>(field.exact_triangles.size()));
    } else {
      index = field.nodes.size();
      field.nodes.resize(index + 8);
      for (std::uint32_t k = 0; k < 8; ++k) {
        next.push_back({static_cast<std::uint32_t>(index) + k, 2 * cell.x + (k & 1U), 2 * cell.y + (k >> 1U & 1U),
                        2 * cell.z + (k >> 2U)});
      }
    }
    field.nodes[cell.node] = static_cast<std::uint32_t>(verdict.kind) << 30U | static_cast<std::uint32_t>(index);
  }
}

}  // namespace

bool build_distance_field(const TriangleMesh& mesh, const FieldOptions& options, const FieldJobs& jobs,
                          DistanceField& out, std::string& error) {
  if (mesh.triangles.empty() || mesh.tree == nullptr || mesh.normals.size() != mesh.triangles.size()) {
    error = "the distance field needs a mesh with features and a tree";
    return false;
  }
  if (!(options.tolerance_m > 0) || options.max_depth < 1 || options.max_depth > 16) {
    error = "the distance field's tolerance must be positive and its depth 1 to 16";
    return false;
  }
  out = DistanceField{};
  const double diagonal = (mesh.hi - mesh.lo).norm();
  out.margin = kMargin * diagonal;
  out.size = (mesh.hi - mesh.lo).maxCoeff() + 2 * out.margin;
  out.origin = 0.5 * (mesh.lo + mesh.hi) - Vec3::Constant(0.5 * out.size);
  out.tolerance = options.tolerance_m;
  out.triangle_count = static_cast<std::uint32_t>(mesh.triangles.size());
  out.nodes.resize(1);
  out.exact_first.push_back(0);
  std::vector<Cell> cells{{0, 0, 0, 0}}, next;
  for (int depth = 0; !cells.empty(); ++depth) {
    out.depth = depth;
    std::vector<Verdict> verdicts(cells.size());
    Level level{&mesh, &out, &cells, &verdicts, depth, options.max_depth};
    const std::size_t count = (cells.size() + kCellsPerJob - 1) / kCellsPerJob;
    if (jobs.run != nullptr) {
      jobs.run(jobs.context, count, judge_some, &level);
    } else {
      for (std::size_t i = 0; i < count; ++i) judge_some(&level, i);
    }
    lay_down(cells, verdicts, out, next);
    cells.swap(next);
    if (field_stats(out).bytes > options.max_bytes || out.nodes.size() > 1U << 29U) {
      error = "the distance field needs more than " + std::to_string(options.max_bytes) + " bytes (at level " +
              std::to_string(depth) + "): raise the tolerance or the limit, or lower the depth";
      return false;
    }
    if (jobs.progress != nullptr && !jobs.progress(jobs.context, depth + 1, options.max_depth + 1)) {
      error = "the building of the distance field was stopped";
      return false;
    }
  }
  return true;
}

}  // namespace tactus
