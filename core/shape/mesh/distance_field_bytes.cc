// A field as bytes, for a cache. Reading trusts nothing.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/shape/mesh/distance_field.h"

namespace tactus {

namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::uint64_t kLayout = 0x54414344'46000001ULL;  // "TACDF", version 1
constexpr int kMaxDepth = 16;

struct Header {
  std::uint64_t layout = kLayout, checksum = 0;
  double origin[3]{}, size = 0, margin = 0, tolerance = 0, max_error = 0;
  std::uint32_t triangle_count = 0, depth = 0;
  std::uint64_t nodes = 0, linear = 0, exact_first = 0, exact_triangles = 0;
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == 16 + 56 + 8 + 32);

// FNV-1a: finds damage, not malice; every index is checked besides.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 0x100000001b3ULL;
  return h;
}

template <typename T>
void put(const std::vector<T>& v, std::byte*& at) noexcept {
  if (!v.empty()) std::memcpy(at, v.data(), v.size() * sizeof(T));
  at += v.size() * sizeof(T);
}

template <typename T>
void take(std::vector<T>& v, std::size_t count, const std::byte*& at) {
  v.resize(count);
  if (count > 0) std::memcpy(v.data(), at, count * sizeof(T));
  at += count * sizeof(T);
}

// Children stand behind their parent, each node belongs to one parent, no leaf is deeper than allowed.
bool good_nodes(const DistanceField& field) {
  const std::size_t exact = field.exact_first.size() - 1;
  std::vector<std::uint8_t> level(field.nodes.size(), 0xff);
  level[0] = 0;
  for (std::size_t i = 0; i < field.nodes.size(); ++i) {
    const std::uint32_t kind = field.nodes[i] >> 30U;
    const std::size_t index = field.nodes[i] & DistanceField::kIndexMask;
    if (level[i] == 0xff) return false;  // nobody's child
    if (kind == DistanceField::kInner) {
      if (index <= i || index + 8 > field.nodes.size() || level[i] >= kMaxDepth) return false;
      for (std::size_t k = index; k < index + 8; ++k) {
        if (level[k] != 0xff) return false;
        level[k] = static_cast<std::uint8_t>(level[i] + 1);
      }
    } else if (kind == DistanceField::kLinear ? index >= field.linear.size()
                                              : kind != DistanceField::kExact || index >= exact) {
      return false;
    }
  }
  return true;
}

bool good_leaves(const DistanceField& field) {
  for (const DistanceField::Linear& leaf : field.linear) {
    for (const float c : leaf.corner) {
      if (!std::isfinite(c)) return false;
    }
    if (leaf.triangle >= field.triangle_count) return false;
  }
  if (field.exact_first.front() != 0 || field.exact_first.back() != field.exact_triangles.size()) return false;
  for (std::size_t i = 1; i < field.exact_first.size(); ++i) {
    if (field.exact_first[i] <= field.exact_first[i - 1]) return false;
  }
  for (const std::uint32_t t : field.exact_triangles) {
    if (t >= field.triangle_count) return false;
  }
  return true;
}

bool good_header(const Header& h) {
  double sum = h.margin + h.tolerance + h.max_error;
  for (const double x : h.origin) sum += x;
  return std::isfinite(sum) && std::isfinite(h.size) && h.size > 0 && h.margin >= 0 && h.tolerance > 0 &&
         h.max_error >= 0 && h.triangle_count > 0 && h.depth <= kMaxDepth;
}

}  // namespace

std::vector<std::byte> field_bytes(const DistanceField& field) {
  Header h;
  for (int k = 0; k < 3; ++k) h.origin[k] = field.origin[k];
  h.size = field.size, h.margin = field.margin, h.tolerance = field.tolerance;
  h.max_error = field.max_error;
  h.triangle_count = field.triangle_count, h.depth = static_cast<std::uint32_t>(field.depth);
  h.nodes = field.nodes.size(), h.linear = field.linear.size();
  h.exact_first = field.exact_first.size(), h.exact_triangles = field.exact_triangles.size();
  std::vector<std::byte> bytes(sizeof(Header) + field_stats(field).bytes);
  std::byte* at = bytes.data() + sizeof(Header);
  put(field.nodes, at), put(field.linear, at), put(field.exact_first, at), put(field.exact_triangles, at);
  std::memcpy(bytes.data(), &h, sizeof(h));
  h.checksum = checksum(std::span(bytes).subspan(16));
  std::memcpy(bytes.data(), &h, sizeof(h));
  return bytes;
}

bool field_from_bytes(std::span<const std::byte> bytes, DistanceField& out, std::string& error) {
  const auto refuse = [&error](const char* why) {
    error = std::string("not a distance field: ") + why;
    return false;
  };
  Header h;
  if (bytes.size() < sizeof(Header)) return refuse("too short");
  std::memcpy(&h, bytes.data(), sizeof(h));
  if (h.layout != kLayout) return refuse("other layout or version");
  const std::uint64_t most = bytes.size();  // so that the sum below cannot wrap
  if (h.nodes > most || h.linear > most || h.exact_first > most || h.exact_triangles > most) return refuse("sizes");
  const std::uint64_t expected =
      sizeof(Header) + 4 * (h.nodes + h.exact_first + h.exact_triangles) + sizeof(DistanceField::Linear) * h.linear;
  if (expected != bytes.size() || h.nodes == 0 || h.exact_first == 0) return refuse("sizes");
  if (h.checksum != checksum(bytes.subspan(16))) return refuse("checksum");
  if (!good_header(h)) return refuse("numbers");
  DistanceField field;
  field.origin = Vec3(h.origin[0], h.origin[1], h.origin[2]);
  field.size = h.size, field.margin = h.margin, field.tolerance = h.tolerance;
  field.max_error = h.max_error;
  field.triangle_count = h.triangle_count, field.depth = static_cast<int>(h.depth);
  const std::byte* at = bytes.data() + sizeof(Header);
  take(field.nodes, h.nodes, at), take(field.linear, h.linear, at);
  take(field.exact_first, h.exact_first, at), take(field.exact_triangles, h.exact_triangles, at);
  if (!good_leaves(field) || !good_nodes(field)) return refuse("indices");
  out = std::move(field);
  return true;
}

}  // namespace tactus
