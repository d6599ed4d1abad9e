#include "core/scene/strict_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tactus {
namespace {

// Line 0 has what came from --set.
std::string at(const SceneFile& file, int line) {
  return file.name + (line > 0 && !file.generated ? ":" + std::to_string(line) : " --set") + ": ";
}

int line_of(const toml::node& node) {
  return static_cast<int>(node.source().begin.line);
}

// Levenshtein; for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// The near miss, or the key with another unit ("mass" for "mass_kg").
std::string nearest(std::string_view key, const std::vector<std::string>& keys) {
  std::string best;
  std::size_t least = 3;
  for (const auto& k : keys) {
    const bool without_unit = k.size() > key.size() && k.compare(0, key.size(), key) == 0 && k[key.size()] == '_';
    const std::size_t d = without_unit ? 0 : distance(key, k);
    if (d < least) least = d, best = k;
  }
  return best;
}

}  // namespace

std::string number_text(double x) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  return {buffer, end};
}

std::string Range::text() const {
  if (lo == -kInfinity && hi == kInfinity) return "";
  if (hi == kInfinity) return (lo_open ? " greater than " : " of at least ") + number_text(lo);
  if (lo == -kInfinity) return (hi_open ? " less than " : " of at most ") + number_text(hi);
  return " from " + number_text(lo) + (lo_open ? " (not itself)" : "") + " to " + number_text(hi) +
         (hi_open ? " (not itself)" : "");
}

std::string describe(const toml::node& node) {
  if (const auto* s = node.as_string()) return "\"" + s->get() + "\"";
  if (const auto* i = node.as_integer()) return std::to_string(i->get());
  if (const auto* f = node.as_floating_point()) return number_text(f->get());
  if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
  if (const auto* a = node.as_array()) return "an array of " + std::to_string(a->size());
  if (node.is_table()) return "a table";
  return "a date or time";
}

bool is_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

int StrictTable::line(std::string_view key) const {
  if (!key.empty()) {
    if (const auto found = table_->find(key); found != table_->end()) {
      return line_of(found->second);
    }
  }
  return std::max(1, line_of(*table_));
}

void StrictTable::fail(std::string_view key, const std::string& message) const {
  std::string full = path_;
  if (!key.empty()) full += (full.empty() ? "" : ".") + std::string(key);
  throw InputError(at(*file_, line(key)) + full + ": " + message);
}

void StrictTable::fail_expected(std::string_view key, const std::string& expected) const {
  const toml::node* node = table_->get(key);
  if (!node) fail(key, "missing; expected " + expected);
  const toml::node& value = resolve(*node, key);
  fail(key,
       "found " + describe(value) + (&value == node ? "" : " (" + describe(*node) + ")") + ", expected " + expected);
}

bool StrictTable::has(std::string_view key) {
  return find(key) != nullptr;
}
bool StrictTable::is_array(std::string_view key) const {
  return table_->get(key) && table_->get(key)->is_array();
}

bool StrictTable::is_flag(std::string_view key) {
  const toml::node* node = find(key);
  return node && node->is_boolean();
}

std::vector<std::string> StrictTable::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, ignored] : *table_) out.emplace_back(key.str());
  return out;
}

bool StrictTable::is_table(std::string_view key) const {
  return table_->get(key) && table_->get(key)->is_table();
}

const toml::node* StrictTable::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  const toml::node* node = table_->get(key);
  return node ? &resolve(*node, key) : nullptr;
}

// "$n" is the parameter n; anything else is itself.
const toml::node& StrictTable::resolve(const toml::node& node, std::string_view key) const {
  const auto* text = node.as_string();
  if (!text || text->get().empty() || text->get()[0] != '$') return node;
  const toml::node* value = file_->parameters.get(text->get().substr(1));
  if (value) return *value;
  std::vector<std::string> known;
  for (const auto& [name, ignored] : file_->parameters) known.emplace_back(name.str());
  fail(key, "found " + describe(node) + ", expected the name of an entry of [parameters]" +
                (known.empty() ? " (there is none)" : ": " + joined(known)));
}

const toml::node& StrictTable::require(std::string_view key, const std::string& expected) {
  const toml::node* node = find(key);
  if (!node) fail_expected(key, expected);
  return *node;
}

double StrictTable::finite(const toml::node& node, std::string_view key, Range range,
                           const std::string& expected) const {
  const toml::node& value = resolve(node, key);
  std::optional<double> x;
  if (const auto* f = value.as_floating_point()) x = f->get();
  if (const auto* i = value.as_integer()) x = static_cast<double>(i->get());
  if (!x || !std::isfinite(*x) || !range.contains(*x)) fail(key, "found " + describe(value) + ", expected " + expected);
  return *x;
}

double StrictTable::number(std::string_view key, Range range, std::optional<double> fallback) {
  const std::string expected = "a finite number" + range.text();
  if (!has(key) && fallback) return *fallback;
  return finite(require(key, expected), key, range, expected);
}

std::int64_t StrictTable::integer(std::string_view key, std::int64_t lo, std::int64_t hi,
                                  std::optional<std::int64_t> fallback) {
  const std::string expected = "an integer from " + std::to_string(lo) + " to " + std::to_string(hi);
  if (!has(key) && fallback) return *fallback;
  const auto* value = require(key, expected).as_integer();
  if (!value || value->get() < lo || value->get() > hi) fail_expected(key, expected);
  return value->get();
}

bool StrictTable::flag(std::string_view key, bool fallback) {
  const toml::node* node = find(key);
  if (!node) return fallback;
  if (!node->is_boolean()) fail_expected(key, "true or false");
  return node->as_boolean()->get();
}

std::string StrictTable::text(std::string_view key, std::optional<std::string> fallback) {
  if (!has(key) && fallback) return *fallback;
  const auto* value = require(key, "a string").as_string();
  if (!value) fail_expected(key, "a string");
  return value->get();
}

std::string StrictTable::name(std::string_view key) {
  static const std::string expected = "a name of 1 to 64 characters out of A-Z a-z 0-9 _ . -";
  const auto* value = require(key, expected).as_string();
  if (!value || !is_name(value->get())) fail_expected(key, expected);
  return value->get();
}

std::size_t StrictTable::choice(std::string_view key, std::span<const std::string_view> words,
                                std::optional<std::size_t> fallback) {
  std::string expected = "one of";
  for (auto word : words) expected += " \"" + std::string(word) + "\"";
  if (!has(key) && fallback) return *fallback;
  const auto* value = require(key, expected).as_string();
  const auto found = value ? std::find(words.begin(), words.end(), value->get()) : words.end();
  if (found == words.end()) fail_expected(key, expected);
  return static_cast<std::size_t>(found - words.begin());
}

const toml::array& StrictTable::array(std::string_view key, const std::string& expected) {
  const auto* value = require(key, expected).as_array();
  if (!value) fail_expected(key, expected);
  return *value;
}

std::vector<double> StrictTable::numbers(std::string_view key, std::size_t min, std::size_t max, Range range) {
  const std::string count = min == max ? std::to_string(min) : std::to_string(min) + " to " + std::to_string(max);
  const std::string expected = "an array of " + count + " finite numbers" + range.text();
  const toml::array& values = array(key, expected);
  if (values.size() < min || values.size() > max) fail_expected(key, expected);
  std::vector<double> out;
  for (const auto& value : values) out.push_back(finite(value, key, range, expected));
  return out;
}

Vec3 StrictTable::vec3(std::string_view key, std::optional<Vec3> fallback, Range range) {
  if (!has(key) && fallback) return *fallback;
  const auto x = numbers(key, 3, 3, range);
  return {x[0], x[1], x[2]};
}

std::pair<double, double> StrictTable::interval(std::string_view key, Range range, std::pair<double, double> fallback) {
  if (!has(key)) return fallback;
  const auto x = numbers(key, 2, 2, range);
  if (x[0] > x[1])
    fail(key, "found [" + number_text(x[0]) + ", " + number_text(x[1]) + "], expected [low, high] with low <= high");
  return {x[0], x[1]};
}

template <typename Point>
std::vector<Point> StrictTable::points_of(std::string_view key, const std::string& expected) {
  std::vector<Point> out;
  for (const auto& point : array(key, expected)) {
    const auto* numbers = point.as_array();
    Point p;
    if (!numbers || numbers->size() != static_cast<std::size_t>(p.size()))
      fail(key, "found " + describe(point) + ", expected " + expected);
    for (int i = 0; i < p.size(); ++i) p[i] = finite((*numbers)[static_cast<std::size_t>(i)], key, kAny, expected);
    out.push_back(p);
  }
  return out;
}

std::vector<Vec3> StrictTable::points(std::string_view key) {
  return points_of<Vec3>(key, "an array of points [x, y, z] of finite numbers");
}

std::vector<Eigen::Vector2d> StrictTable::planar_points(std::string_view key) {
  return points_of<Eigen::Vector2d>(key, "an array of points [rho, z] of finite numbers");
}

std::vector<std::string> StrictTable::texts(std::string_view key, std::size_t min, std::size_t max) {
  const std::string count = min == max ? std::to_string(min) : std::to_string(min) + " to " + std::to_string(max);
  const std::string expected = "an array of " + count + " strings";
  const toml::array& values = array(key, expected);
  std::vector<std::string> out;
  for (const auto& value : values) {
    const auto* s = resolve(value, key).as_string();
    if (!s) fail(key, "found " + describe(value) + ", expected " + expected);
    out.push_back(s->get());
  }
  if (out.size() < min || out.size() > max) fail_expected(key, expected);
  return out;
}

std::vector<std::pair<std::string, std::string>> StrictTable::name_pairs(std::string_view key) {
  static const std::string expected = "an array of pairs of names [\"a\", \"b\"]";
  std::vector<std::pair<std::string, std::string>> out;
  if (!has(key)) return out;
  for (const auto& item : array(key, expected)) {
    const auto* pair = item.as_array();
    if (!pair || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
      fail(key, "found " + describe(item) + ", expected " + expected);
    out.emplace_back((*pair)[0].as_string()->get(), (*pair)[1].as_string()->get());
  }
  return out;
}

StrictTable StrictTable::table(std::string_view key) {
  const auto* value = require(key, "a table").as_table();
  if (!value) fail_expected(key, "a table");
  return {*file_, *value, path_.empty() ? std::string(key) : path_ + "." + std::string(key)};
}

std::vector<StrictTable> StrictTable::tables(std::string_view key) {
  const std::string expected = "an array of tables [[" + (path_.empty() ? "" : path_ + ".") + std::string(key) + "]]";
  std::vector<StrictTable> out;
  if (!has(key)) return out;
  for (const auto& item : array(key, expected)) {
    const auto* value = item.as_table();
    if (!value) fail(key, "found " + describe(item) + ", expected " + expected);
    const std::string base = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
    out.emplace_back(*file_, *value, base + "[" + std::to_string(out.size()) + "]");
  }
  return out;
}

void StrictTable::finish() const {
  for (const auto& [key, ignored] : *table_) {
    if (std::find(asked_.begin(), asked_.end(), key.str()) != asked_.end()) continue;
    const std::string near = nearest(key.str(), asked_);
    fail(key.str(), "unknown key; expected " + (near.empty() ? "one of " + joined(asked_) : "perhaps " + near));
  }
}

}  // namespace tactus
