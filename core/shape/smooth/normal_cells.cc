#include "core/shape/smooth/normal_cells.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tactus {

namespace {

// Of the size: more than rounding of a centre.
constexpr double kRounding = 1e-10;
constexpr int kExactDepth = 8, kBendDepth = 7;

// Which of four are in a mask, in order.
struct Chosen {
  std::int32_t which[4];
  std::uint32_t count;
};
constexpr std::array<Chosen, 16> all_chosen() {
  std::array<Chosen, 16> out{};
  for (std::uint32_t mask = 0; mask < 16; ++mask)
    for (std::int32_t k = 0; k < 4; ++k)
      if ((mask >> k & 1U) != 0) out[mask].which[out[mask].count++] = k;
  return out;
}
constexpr std::array<Chosen, 16> kChosen = all_chosen();

}  // namespace

struct NormalCells::Builder {
  Builder(const Body& of, NormalCells& out) : body(of), all(out) {}

  Corner corner(const Vec3& n) { return {n, body.highest(n), corners++}; }
  // Each is needed several times.
  Corner between(const Corner& a, const Corner& b) {
    const auto [low, high] = std::minmax(a.index, b.index);
    const auto [at, fresh] = middles.try_emplace(std::uint64_t{high} << 32 | low);
    if (fresh) at->second = corner((a.n + b.n).normalized());
    return at->second;
  }
  // How far the point that both ends' planes leave reaches beyond the hull between them, less `radius`.
  static double beyond(const Corner& a, const Corner& b, const Corner& middle, double radius) {
    return 0.5 * (a.height + b.height - 2 * radius) / middle.n.dot(a.n) - (middle.height - radius);
  }
  // The point of three planes, each moved by the radius: by differences of the normals, which are exact and small, so
  // that rounding leaves the planes' heights alone.
  static Vec3 apex(const Cell& c, double radius) {
    const Vec3 &n = c[0].n, one = c[1].n - n, two = c[2].n - n, across = one.cross(two);
    const Vec3 out = (c[0].height - radius) * across + (c[1].height - c[0].height) * two.cross(n) +
                     (c[2].height - c[0].height) * n.cross(one);
    return out / n.dot(across);
  }
  // The most of n . w over the cell's directions.
  static double most_along(const Cell& c, const Vec3& w) {
    const double length = w.norm();
    if (length == 0) return 0;
    double most = -length;
    bool in = true;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 &a = c[k].n, &b = c[(k + 1) % 3].n, side = a.cross(b);
      const double orientation = side.dot(c[(k + 2) % 3].n), height = side.dot(w);
      in = in && height * orientation >= 0;
      most = std::max(most, a.dot(w));
      const Vec3 flat = w - height / side.squaredNorm() * side;
      if (a.cross(flat).dot(side) >= 0 && flat.cross(b).dot(side) >= 0) most = std::max(most, flat.norm());
    }
    return in ? length : most;
  }
  struct Halves {
    Cell first, second;
    double worst;
  };
  // In half across the edge that is worst.
  Halves halved(const Cell& c, double radius) {
    Halves out{c, c, -1};
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t next = (k + 1) % 3;
      const Corner middle = between(c[k], c[next]);
      const double worse = std::abs(beyond(c[k], c[next], middle, radius));
      if (worse <= out.worst) continue;
      out = {c, c, worse};
      out.first[next] = out.second[k] = middle;
    }
    return out;
  }
  // Points that hold what of the hull has normals in the cell: `exact`, from first on.
  void hold(const Cell& c, int depth) {
    const Halves halves = halved(c, 0);
    if (depth == 0 || halves.worst <= body.enough * body.size) {
      exact.push_back(apex(c, 0));
      return;
    }
    hold(halves.first, depth - 1);
    hold(halves.second, depth - 1);
  }
  // Four cells, and after them, together, what is within those.
  void fill(std::int32_t four, const std::array<Cell, 4>& cells, int depth) {
    const double radius = all.radius_;
    std::array<Halves, 4> halves;
    std::array<bool, 4> wholes;
    std::array<Vec3, 4> centres;
    const auto within = static_cast<std::int32_t>(all.fours_.size());
    for (std::size_t k = 0; k < 4; ++k) {
      halves[k] = halved(cells[k], radius);
      const bool last = depth == 0;
      bool whole = last || halves[k].worst <= body.enough * body.size;
      if (whole) {
        const std::size_t first = exact.size();
        hold(cells[k], kExactDepth);
        centres[k] = reaching(cells[k], first);
        whole = last || slack(cells[k], centres[k]) <= 2 * body.enough * body.size;
        if (!whole) exact.resize(first);
      }
      wholes[k] = whole;
    }
    if (!(wholes[0] && wholes[1] && wholes[2] && wholes[3])) all.fours_.resize(all.fours_.size() + 4);
    all.places_.resize(4 * all.fours_.size());
    all.tips_.resize(all.fours_.size());
    for (std::size_t k = 0; k < 4; ++k) {
      if (!wholes[k]) {
        const std::size_t first = exact.size();
        fill(within + static_cast<std::int32_t>(k), quarters(halves[k]), depth - 1);
        centres[k] = reaching(cells[k], first);
      } else {
        const std::size_t cell = 4 * static_cast<std::size_t>(four) + k;
        all.places_[cell] = body.place({cells[k][0].n, cells[k][1].n, cells[k][2].n});
        const Vec3 tip = pushed(cells[k], apex(cells[k], 0), 0);
        FourTips& tips = all.tips_[static_cast<std::size_t>(four)];
        tips.x[k] = static_cast<float>(tip.x()), tips.y[k] = static_cast<float>(tip.y());
        tips.z[k] = static_cast<float>(tip.z());
        all.farthest_tip_ = std::max(all.farthest_tip_, tip.cwiseAbs().maxCoeff());
      }
      const Vec3& centre = centres[k];
      Four& out = all.fours_[static_cast<std::size_t>(four)];
      out.x[k] = static_cast<float>(centre.x()), out.y[k] = static_cast<float>(centre.y());
      out.z[k] = static_cast<float>(centre.z());
      out.within = within;
      (wholes[k] ? out.whole : out.inner) |= static_cast<std::uint8_t>(1U << k);
      all.farthest_ = std::max(all.farthest_, centre.cwiseAbs().maxCoeff());
    }
  }
  // How far the ball reaches beyond the hull, at the corners and in the middle.
  [[nodiscard]] double slack(const Cell& c, const Vec3& centre) const {
    double most = 0;
    for (const Corner& corner : c) most = std::max(most, corner.n.dot(centre) + all.radius_ - corner.height);
    const Vec3 middle = (c[0].n + c[1].n + c[2].n).normalized();
    return std::max(most, middle.dot(centre) + all.radius_ - body.highest(middle));
  }
  std::array<Cell, 4> quarters(const Halves& halves) {
    const Halves a = halved(halves.first, all.radius_), b = halved(halves.second, all.radius_);
    return {a.first, a.second, b.first, b.second};
  }
  // From the planes' point outwards until a ball about it reaches as far as the points from `first` on.
  Vec3 reaching(const Cell& c, std::size_t first) const {
    const double radius = all.radius_;
    const Vec3 centre = apex(c, radius);
    double lacks = 0;
    for (std::size_t i = first; i < exact.size(); ++i)
      lacks = std::max(lacks, most_along(c, exact[i] - centre) - radius);
    return pushed(c, centre, lacks);
  }
  // Farther along all of the cell's directions.
  Vec3 pushed(const Cell& c, const Vec3& p, double by) const {
    const Vec3 middle = (c[0].n + c[1].n + c[2].n).normalized();
    const double least = std::min({middle.dot(c[0].n), middle.dot(c[1].n), middle.dot(c[2].n)});
    return p + (by + kRounding * body.size) / least * middle;
  }
  // What radii its edges bend with.
  void bends(const Cell& c, int depth, std::vector<double>& out) {
    if (depth > 0) {
      const Halves halves = halved(c, 0);
      bends(halves.first, depth - 1, out);
      bends(halves.second, depth - 1, out);
      return;
    }
    for (std::size_t k = 0; k < 3; ++k) {
      const Corner &a = c[k], &b = c[(k + 1) % 3], middle = between(a, b);
      const double cosine = middle.n.dot(a.n);
      out.push_back(0.5 * (a.height + b.height - 2 * cosine * middle.height) / (1 - cosine));
    }
  }

  const Body& body;
  NormalCells& all;
  std::vector<Vec3> exact;
  std::uint32_t corners = 0;
  std::map<std::uint64_t, Corner> middles;  // by both ends
};

NormalCells::NormalCells(const Body& body) : symmetric_(body.symmetric) {
  Builder builder(body, *this);
  std::vector<Cell> octants;
  for (int octant = 0; octant < (body.symmetric ? 1 : 8); ++octant) {
    const Vec3 sign(octant % 2 == 0 ? 1 : -1, octant / 2 % 2 == 0 ? 1 : -1, octant / 4 == 0 ? 1 : -1);
    octants.push_back({builder.corner(sign.x() * Vec3::UnitX()), builder.corner(sign.y() * Vec3::UnitY()),
                       builder.corner(sign.z() * Vec3::UnitZ())});
  }
  std::vector<double> radii;
  for (const Cell& octant : octants) builder.bends(octant, kBendDepth, radii);
  radius_ = std::max(0.0, *std::min_element(radii.begin(), radii.end()));
  fours_.resize(octants.size());
  for (std::size_t i = 0; i < octants.size(); ++i)
    builder.fill(static_cast<std::int32_t>(i), builder.quarters(builder.halved(octants[i], radius_)), kDepth - 1);
}

// Without branches on an answer, which nobody could foresee: what is open is appended, and which of a four are is in a
// table. Four fours at a time: a list that grew after each question, at a place which the answer tells, would make the
// next one wait for it.
bool NormalCells::find_open(const FourForm& e, Open& out) const noexcept {
  constexpr std::size_t kBlock = 4;
  std::array<std::int32_t, kMost + 4> fours;
  std::size_t last = symmetric_ ? 1 : 8, open = 0;
  for (std::size_t i = 0; i < last; ++i) fours[i] = static_cast<std::int32_t>(i);
  for (std::size_t first = 0, end = 0; first < last; first = end) {
    end = std::min(first + kBlock, last);
    std::array<std::int32_t, kBlock> index;
    std::array<std::uint32_t, kBlock> beyond;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const bool any = first + i < end;
      index[i] = any ? fours[first + i] : 0;
      const Four& four = fours_[static_cast<std::size_t>(index[i])];
      beyond[i] = e.beyond(four.x.data(), four.y.data(), four.z.data()) & (any ? 15U : 0U);
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Four& four = fours_[static_cast<std::size_t>(index[i])];
      const Chosen &inner = kChosen[beyond[i] & four.inner], &whole = kChosen[beyond[i] & four.whole];
      for (std::size_t k = 0; k < 4; ++k) fours[last + k] = four.within + inner.which[k];
      for (std::size_t k = 0; k < 4; ++k) out.cells[open + k] = 4 * index[i] + whole.which[k];
      last += inner.count, open += whole.count;
      if (last > kMost || open > kMost) return false;
    }
  }
  out.count = open;
  return true;
}

// As find_open() begins of the form mirrored: products are the same but for their signs.
std::uint32_t NormalCells::octants_beyond(const FourForm& e) const noexcept {
  using Floats = FourForm::Floats;
  const Four& root = fours_[0];
  const Floats x = FourForm::load(root.x.data()), y = FourForm::load(root.y.data()), z = FourForm::load(root.z.data());
  const Floats xa = e.u00 * x, ya = e.u01 * y, za = e.u02 * z, yb = e.u11 * y, zb = e.u12 * z, zc = e.u22 * z;
  std::uint32_t out = 0, octant = 0;
  for (const float sz : {1.0F, -1.0F}) {
    const Floats c = sz * zc - e.k2, cc = c * c;
    for (const float sy : {1.0F, -1.0F}) {
      const Floats b = sy * yb + sz * zb - e.k1, bb = b * b;
      for (const float sx : {1.0F, -1.0F}) {
        const Floats a = sx * xa + sy * ya + sz * za - e.k0;
        const FourForm::Integers beyond = ~(a * a + bb + cc <= e.most);
        out |= (FourForm::bits(beyond) != 0 ? 1U : 0U) << octant++;
      }
    }
  }
  return out;
}

bool NormalCells::others_hold(const InnerForm& e, const InnerForm& deeper, const Vec3& sign,
                              Open& open) const noexcept {
  if (open.count == 0) return true;
  drop_tips(FourForm(WhiteForm(e), farthest_tip_).mirrored(sign), open);
  const auto place = [&](std::int32_t cell) { return Vec3(sign.cwiseProduct(centre(cell))); };
  while (open.count > 0) {
    EllipsoidForm other;
    const Vec3 first = place(open.cells[0]);
    if (!deeper.near(first, other) || !(other.at(first) <= 1)) {
      double most = 0;
      std::size_t worst = 0;
      for (std::size_t i = 0; i < open.count; ++i) {
        const double value = deeper.at(place(open.cells[i]));
        if (value > most) most = value, worst = i;
      }
      std::swap(open.cells[0], open.cells[worst]);
      return false;
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < open.count; ++i)
      if (!(other.at(place(open.cells[i])) <= 1)) open.cells[left++] = open.cells[i];
    open.count = left;
  }
  return true;
}

// Those whose tips are in e. Neighbours come after each other: four tips at once.
void NormalCells::drop_tips(const FourForm& e, Open& open) const noexcept {
  std::size_t left = 0;
  for (std::size_t i = 0; i < open.count;) {
    const std::int32_t four = open.cells[i] / 4;
    const FourTips& tips = tips_[static_cast<std::size_t>(four)];
    const std::uint32_t beyond = e.beyond(tips.x.data(), tips.y.data(), tips.z.data());
    for (; i < open.count && open.cells[i] / 4 == four; ++i) {
      const std::int32_t cell = open.cells[i];
      open.cells[left] = cell;
      left += beyond >> (cell % 4) & 1U;
    }
  }
  open.count = left;
}

}  // namespace tactus
