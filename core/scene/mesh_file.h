// Triangles from files: Wavefront OBJ, STL (binary and ASCII). Own readers, because a collision mesh must not be read
// approximately: core/DECISIONS.md has what libraries made of damaged files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape/mesh/mesh_repair.h"

namespace tactus {

struct MeshFileLimits {
  std::uint64_t bytes = 256ULL << 20;
  std::uint32_t triangles = 2'000'000;
};

struct MeshFile {
  MeshSoup soup;                     // in the file's units; vertices as in the file, polygons cut into triangles
  const char* element = "triangle";  // what MeshSoup::origin counts: "line" of the file, or "triangle"
};

// The size is looked at before anything is read. Throws InputError with the file, and the line or triangle.
MeshFile read_mesh_file(const std::string& path, const MeshFileLimits& limits);

// The parts of it, for tests and fuzzing. name stands for the file in messages.
MeshFile parse_obj(std::string_view bytes, const std::string& name, const MeshFileLimits& limits);
MeshFile parse_stl(std::string_view bytes, const std::string& name, const MeshFileLimits& limits);

// Cuts a polygon into triangles by clipping ears; concave ones, and ones with points in the middle of a side, give no
// triangle without area where that can be avoided. corners: into points, in order. O(corners^2).
void cut_polygon(const std::vector<Vec3>& points, const std::vector<std::uint32_t>& corners,
                 std::vector<TriangleMesh::Triangle>& out);

// Words of a text file with the line that they stand on, for the parsers here.
class LineReader {
 public:
  LineReader(std::string_view text, bool continuations) : text_(text), continuations_(continuations) {}
  // The words of the next line that has any; false at the end. With continuations, "\" at the end of a line joins the
  // next one.
  bool next(std::vector<std::string_view>& words);
  [[nodiscard]] std::uint32_t line() const noexcept { return line_; }  // of the first of these words, from 1

 private:
  std::string_view text_;
  bool continuations_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 0, next_line_ = 1;
};

// A finite number, or InputError "name:line: found ..., expected ...".
double finite_number(std::string_view word, const std::string& place);

}  // namespace tactus
