// A TOML table read strictly: every key that is asked for is noted, what was not asked for is an unknown key. Every
// complaint names file, line and key, says what was found and what is expected. "$name" stands for an entry of
// [parameters].
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/math/spatial.h"

namespace tactus {

// One scene file while it is read. Outlives its tables.
struct SceneFile {
  std::string name;  // as shown in messages
  toml::table root;
  toml::table parameters;  // [parameters] with the overrides applied
  bool generated = false;  // from a URDF file: there are no lines of a scene to name
};

struct Range {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool lo_open = false, hi_open = false;

  [[nodiscard]] bool contains(double x) const noexcept {
    return (lo_open ? x > lo : x >= lo) && (hi_open ? x < hi : x <= hi);
  }
  [[nodiscard]] std::string text() const;  // "greater than 0", "0 to 1", ...
};
inline constexpr Range kAny{};
inline constexpr Range kPositive{0, std::numeric_limits<double>::infinity(), true, false};
inline constexpr Range kNotNegative{0, std::numeric_limits<double>::infinity(), false, false};
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// "3", "\"abc\"", "an array of 2": the node as it is named in messages.
std::string describe(const toml::node& node);
// 17 digits at most, no more than needed.
std::string number_text(double x);
// [A-Za-z0-9_.-]{1,64}
bool is_name(std::string_view text) noexcept;

class StrictTable {
 public:
  StrictTable(const SceneFile& file, const toml::table& table, std::string path)
      : file_(&file), table_(&table), path_(std::move(path)) {}

  [[nodiscard]] bool has(std::string_view key);
  // Without a fallback the key must be there.
  double number(std::string_view key, Range range, std::optional<double> fallback = {});
  std::int64_t integer(std::string_view key, std::int64_t lo, std::int64_t hi,
                       std::optional<std::int64_t> fallback = {});
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::optional<std::string> fallback = {});
  std::string name(std::string_view key);
  // Index of the word in words.
  std::size_t choice(std::string_view key, std::span<const std::string_view> words,
                     std::optional<std::size_t> fallback = {});
  // min to max finite numbers.
  std::vector<double> numbers(std::string_view key, std::size_t min, std::size_t max, Range range = kAny);
  Vec3 vec3(std::string_view key, std::optional<Vec3> fallback = {}, Range range = kAny);
  // [lo, hi] with lo <= hi.
  std::pair<double, double> interval(std::string_view key, Range range, std::pair<double, double> fallback);
  std::vector<Vec3> points(std::string_view key);
  std::vector<Eigen::Vector2d> planar_points(std::string_view key);
  std::vector<std::string> texts(std::string_view key, std::size_t min, std::size_t max);
  std::vector<std::pair<std::string, std::string>> name_pairs(std::string_view key);
  StrictTable table(std::string_view key);
  // An array of tables; empty when absent.
  std::vector<StrictTable> tables(std::string_view key);
  [[nodiscard]] bool is_table(std::string_view key) const;
  [[nodiscard]] bool is_array(std::string_view key) const;
  [[nodiscard]] bool is_flag(std::string_view key);  // true or false, or a parameter that is
  // Of a table whose keys are names that the user chose.
  [[nodiscard]] std::vector<std::string> keys() const;

  // Refuses keys that nobody asked for. Called when the table has been read.
  void finish() const;

  // "file:line: key: message". The line is the key's, or the table's when the key is absent.
  [[noreturn]] void fail(std::string_view key, const std::string& message) const;
  [[noreturn]] void fail_expected(std::string_view key, const std::string& expected) const;
  [[nodiscard]] int line(std::string_view key = {}) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const SceneFile& file() const noexcept { return *file_; }

 private:
  const toml::node* find(std::string_view key);
  const toml::node& require(std::string_view key, const std::string& expected);
  const toml::node& resolve(const toml::node& node, std::string_view key) const;
  const toml::array& array(std::string_view key, const std::string& expected);
  template <typename Point>
  std::vector<Point> points_of(std::string_view key, const std::string& expected);
  double finite(const toml::node& node, std::string_view key, Range range, const std::string& expected) const;

  const SceneFile* file_;
  const toml::table* table_;
  std::string path_;                // "body[2].shape[0]", empty at the top
  std::vector<std::string> asked_;  // keys that this kind of table has
};

}  // namespace tactus
