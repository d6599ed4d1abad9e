// Mesh files: what is read, and what is refused with file, line or triangle. Files that libraries read as something
// else without a word (core/DECISIONS.md) are refused here.
#include "core/scene/mesh_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/check.h"
#include "core/shape/mass_properties.h"
#include "core/shape/mesh/mesh_build.h"
#include "tests/unit/shape/mesh_samples.h"

namespace tactus {
namespace {

const std::string kVertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n", kFaces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

std::string facet(const std::string& a, const std::string& b, const std::string& c) {
  return " facet normal 0 0 0\n  outer loop\n   vertex " + a + "\n   vertex " + b + "\n   vertex " + c +
         "\n  endloop\n endfacet\n";
}
std::string ascii(const std::string& first = "0 0 0") {
  return "solid x\n" + facet(first, "0 1 0", "1 0 0") + facet("0 0 0", "1 0 0", "0 0 1") +
         facet("0 0 0", "0 0 1", "0 1 0") + facet("1 0 0", "0 1 0", "0 0 1") + "endsolid x\n";
}
std::string binary(const std::string& header, float first = 0) {
  static const float corners[4][9] = {{0, 0, 0, 0, 1, 0, 1, 0, 0},
                                      {0, 0, 0, 1, 0, 0, 0, 0, 1},
                                      {0, 0, 0, 0, 0, 1, 0, 1, 0},
                                      {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  std::string out = header;
  out.resize(80, ' ');
  out += std::string("\4\0\0\0", 4);
  for (int t = 0; t < 4; ++t) {
    std::string triangle(50, '\0');
    std::memcpy(triangle.data() + 12, corners[t], 36);
    if (t == 2) std::memcpy(triangle.data() + 12, &first, 4);
    out += triangle;
  }
  return out;
}

using Parse = MeshFile (*)(std::string_view, const std::string&, const MeshFileLimits&);
std::string complaint(Parse parse, const std::string& bytes, const MeshFileLimits& limits = {}) {
  try {
    parse(bytes, "m", limits);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}
void check_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts) CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
}

double volume_of(MeshFile file) {
  MeshRepairs done;
  const MeshDefect defect = prepare_mesh(file.soup, false, done);
  REQUIRE_MESSAGE(!defect, describe(defect, file.soup.origin, file.element));
  const TriangleMesh mesh = finish_mesh(file.soup);
  return volume(make_mesh(&mesh));
}

TEST_CASE("mesh file: the same tetrahedron from every format") {
  for (const std::string& text :
       {kVertices + kFaces, kFaces + kVertices,  // vertices may come later
        std::string("# c\r\nmtllib x.mtl\r\nv 0 0 0 1 1 1\r\nv +1 0 0\r\nvn 0 0 1\r\nv 0 1 0\r\n"
                    "v 0 0 1e0\r\no x\r\ns off\r\nf 1/1/1 3//1 2/2\r\nf 1 2 4\r\nf 1 \\\r\n4 3\r\n"
                    "f -3 -2 -1")})
    CHECK(volume_of(parse_obj(text, "m", {})) == doctest::Approx(1.0 / 6));
  for (const std::string& bytes : {ascii(), binary("solid but binary"), binary("x"), "\n " + ascii()})
    CHECK(volume_of(parse_stl(bytes, "m", {})) == doctest::Approx(1.0 / 6));
  std::string shouted = ascii();
  for (char& c : shouted) c = static_cast<char>(std::toupper(c));
  CHECK(volume_of(parse_stl(shouted, "m", {})) == doctest::Approx(1.0 / 6));
  CHECK(parse_obj(kVertices + kFaces, "m", {}).soup.origin == std::vector<std::uint32_t>{5, 6, 7, 8});
  CHECK(parse_stl(binary("x"), "m", {}).soup.origin == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(parse_stl(ascii(), "m", {}).soup.origin == std::vector<std::uint32_t>{3, 10, 17, 24});
}

TEST_CASE("mesh file: digits are kept") {
  const MeshFile file = parse_obj("v 0.12345678901234567 1e-310 -0\nv 1 0 0\nv 0 1 0\n f 1 2 3", "m", {});
  CHECK(file.soup.vertices[0].x() == 0.12345678901234567);
  CHECK(file.soup.vertices[0].y() == 1e-310);
}

TEST_CASE("mesh file: OBJ that is refused, with its line") {
  const auto with_first = [](const std::string& v) { return v + "\nv 1 0 0\nv 0 1 0\nv 0 0 1\n" + kFaces; };
  const auto with_face = [](const std::string& f) { return kVertices + f + "\n" + kFaces; };
  check_parts(complaint(parse_obj, with_first("v nan 0 0")), {"m:1: found \"nan\", expected a finite number"});
  check_parts(complaint(parse_obj, with_first("v 0 inf 0")), {"m:1: found \"inf\""});
  check_parts(complaint(parse_obj, with_first("v 1e400 0 0")), {"m:1: found \"1e400\""});
  check_parts(complaint(parse_obj, with_first("v abc 0 0")), {"m:1: found \"abc\""});
  check_parts(complaint(parse_obj, with_first("v 0,5 0 0")), {"m:1: found \"0,5\""});
  check_parts(complaint(parse_obj, with_first("v 0 0")), {"m:1: found a vertex of 2 numbers, expected v x y z"});
  check_parts(complaint(parse_obj, with_face("f 1 3 9")), {"m:5: found a face with vertex 9, expected 1 to 4"});
  check_parts(complaint(parse_obj, with_face("f 1 3 -9")), {"m:5: found a face with vertex -5"});
  check_parts(complaint(parse_obj, with_face("f 0 1 2")), {"m:5: found \"0\", expected the number of a vertex"});
  check_parts(complaint(parse_obj, with_face("f 1 x 2")), {"m:5: found \"x\""});
  check_parts(complaint(parse_obj, with_face("f 1 99999999999999999999 2")), {"m:5: found \"99999"});
  check_parts(complaint(parse_obj, with_face("f 1 2")), {"m:5: found a face of 2 corners, expected 3 to"});
  check_parts(complaint(parse_obj, ""), {"m: found no face"});
  check_parts(complaint(parse_obj, "hello world\n"), {"m: found no face"});
  check_parts(complaint(parse_obj, kVertices + kFaces, {1000, 3}), {"m:8: found more than 3 triangles"});
}

TEST_CASE("mesh file: STL that is refused, with its line or triangle") {
  check_parts(complaint(parse_stl, ascii("nan 0 0")), {"m:4: found \"nan\", expected a finite number"});
  check_parts(complaint(parse_stl, ascii("x 0 0")), {"m:4: found \"x\""});
  check_parts(complaint(parse_stl, ascii("0 0")), {"m:4: found a vertex of 2 numbers, expected vertex x y z"});
  check_parts(complaint(parse_stl, ascii().substr(0, 150)), {"found ", "expected "});
  check_parts(complaint(parse_stl, "solid x\nouter loop\nvertex 0 0 0\n"),
              {"m:", "the end of the file inside a facet"});
  check_parts(complaint(parse_stl, "solid x\nvertex 0 0 0\n"), {"m:2: found a vertex outside a loop"});
  check_parts(complaint(parse_stl, "solid x\nouter loop\nvertex 0 0 0\nendloop\n"),
              {"m:4: found a loop of 1 vertices"});
  check_parts(complaint(parse_stl, "solid x\nhello\n"), {"m:2: found \"hello\", expected facet"});
  check_parts(complaint(parse_stl, "solid x\nendsolid x\n"), {"m: found no triangle"});
  check_parts(complaint(parse_stl, binary("x", std::numeric_limits<float>::quiet_NaN())),
              {"m: triangle 3: found corner 1 with a number that is not finite"});
  check_parts(complaint(parse_stl, binary("x").substr(0, 200)), {"m: found 200 bytes", "4 triangles", "has 284"});
  check_parts(complaint(parse_stl, binary("solid").substr(0, 200)), {"m: found 200 bytes", "has 284"});
  check_parts(complaint(parse_stl, binary("x") + "more"), {"m: found 288 bytes", "has 284"});
  std::string huge = binary("x");
  huge.replace(80, 4, "\xff\xff\xff\xff");
  check_parts(complaint(parse_stl, huge), {"m: found 284 bytes", "4294967295 triangles"});
  check_parts(complaint(parse_stl, ""), {"m: found 0 bytes"});
  check_parts(complaint(parse_stl, binary("x"), {1000, 3}), {"m: found 4 triangles or more, expected at most 3"});
}

TEST_CASE("mesh file: size is looked at before reading, names and extensions before that") {
  const auto folder = std::filesystem::temp_directory_path() / ("tactus_mesh_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto message = [&](const std::string& name) {
    try {
      read_mesh_file((folder / name).string(), {});
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  std::ofstream(folder / "big.stl") << "solid";
  std::filesystem::resize_file(folder / "big.stl", 2ULL << 30);  // a hole on disk, no 2 GB
  check_parts(message("big.stl"), {"big.stl: found 2147483648 bytes, expected at most 268435456"});
  check_parts(message("none.obj"), {"none.obj: no such file"});
  check_parts(message("."), {"expected .obj or .stl"});
  std::ofstream(folder / "x.dae") << "x";
  check_parts(message("x.dae"), {"found the extension \".dae\", expected .obj or .stl"});
  std::filesystem::create_directories(folder / "folder.obj");
  check_parts(message("folder.obj"), {"no such file"});
  std::ofstream(folder / "a.STL") << ascii();
  CHECK(message("a.STL") == "accepted");
  std::filesystem::remove_all(folder);
}

// Area by the shoelace formula against the triangles' own areas: equal only when they cover the polygon once.
void check_cut(const std::vector<Vec3>& points) {
  std::vector<std::uint32_t> corners;
  for (std::uint32_t i = 0; i < points.size(); ++i) corners.push_back(i);
  std::vector<TriangleMesh::Triangle> triangles;
  cut_polygon(points, corners, triangles);
  REQUIRE(triangles.size() == points.size() - 2);
  Vec3 vector_area = Vec3::Zero();
  for (std::size_t i = 0; i < points.size(); ++i) vector_area += 0.5 * points[i].cross(points[(i + 1) % points.size()]);
  double sum = 0;
  for (const auto& [a, b, c] : triangles) {
    const Vec3 n = 0.5 * (points[b] - points[a]).cross(points[c] - points[a]);
    CHECK(n.dot(vector_area) > 0);  // none without area, none turned
    sum += n.norm();
  }
  CHECK(sum == doctest::Approx(vector_area.norm()).epsilon(1e-12));
}

TEST_CASE("mesh file: polygons are cut without overlap and without flat triangles") {
  check_cut({{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}});
  check_cut({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}});
  check_cut({{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}, {1, 4, 1}});             // one apex over a straight side
  check_cut({{0, 0, 0}, {4, 0, 0}, {4, 4, 0}, {2, 1, 0}, {0, 4, 0}});             // concave
  check_cut({{0, 0, 0}, {0, 3, 0}, {1, 3, 0}, {1, 1, 0}, {3, 1, 0}, {3, 0, 0}});  // an L, clockwise
  check_cut(
      {{0, 0, 2}, {4, 0, 2}, {4, 4, 2}, {0, 4, 2}, {0, 0, 2}, {1, 1, 2}, {1, 3, 2}, {3, 3, 2}, {3, 1, 2}, {1, 1, 2}});
  std::vector<Vec3> star;
  for (int i = 0; i < 40; ++i) {
    const double r = i % 2 ? 1 : 3, phi = 2 * M_PI * i / 40;
    star.emplace_back(r * std::cos(phi), 0.3 * r * std::cos(phi), r * std::sin(phi));
  }
  check_cut(star);
}

}  // namespace
}  // namespace tactus
