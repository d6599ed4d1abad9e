#include "core/scene/mesh_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/check.h"

namespace tactus {
namespace {

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

std::string read_bytes(const std::string& path, const MeshFileLimits& limits) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw InputError(path + ": no such file, expected a mesh");
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw InputError(path + ": cannot be read: " + error.message());
  if (size > limits.bytes)
    throw InputError(path + ": found " + std::to_string(size) + " bytes, expected at most " +
                     std::to_string(limits.bytes));
  std::string bytes(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in || !in.read(bytes.data(), static_cast<std::streamsize>(size))) throw InputError(path + ": cannot be read");
  return bytes;
}

}  // namespace

bool LineReader::next(std::vector<std::string_view>& words) {
  words.clear();
  line_ = next_line_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++next_line_;
      if (!words.empty()) return true;
      line_ = next_line_;
      continue;
    }
    if (is_blank(c)) {
      ++at_;
      continue;
    }
    if (c == '\\' && continuations_) {
      std::size_t end = at_ + 1;
      while (end < text_.size() && is_blank(text_[end])) ++end;
      if (end < text_.size() && text_[end] == '\n') {
        at_ = end + 1;
        ++next_line_;
        continue;
      }
    }
    const std::size_t first = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != '\n' &&
           (text_[at_] != '\\' || !continuations_ || at_ == first))
      ++at_;
    words.push_back(text_.substr(first, at_ - first));
  }
  return !words.empty();
}

double finite_number(std::string_view word, const std::string& place) {
  const std::string_view digits = word.substr(word.size() > 1 && word[0] == '+' ? 1 : 0);
  double x = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
  // Too small for a double is 0; too large is not.
  if (error == std::errc::result_out_of_range) x = std::strtod(std::string(digits).c_str(), nullptr);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size() || !std::isfinite(x))
    throw InputError(place + ": found \"" + std::string(word.substr(0, 40)) + "\", expected a finite number");
  return x;
}

MeshFile read_mesh_file(const std::string& path, const MeshFileLimits& limits) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension != ".obj" && extension != ".stl")
    throw InputError(path + ": found the extension \"" + extension + "\", expected .obj or .stl");
  const std::string bytes = read_bytes(path, limits);
  return extension == ".obj" ? parse_obj(bytes, path, limits) : parse_stl(bytes, path, limits);
}

}  // namespace tactus
