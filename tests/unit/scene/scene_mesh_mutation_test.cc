// Damaged mesh files are refused by name or are sound: never a crash, a hang, or a solid with impossible mass.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/check.h"
#include "core/scene/mesh_file.h"
#include "core/scene/random.h"
#include "core/shape/mass_properties.h"
#include "core/shape/mesh/mesh_build.h"

namespace tactus {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string binary_stl(const MeshSoup& soup) {
  std::string out(80, ' ');
  const auto count = static_cast<std::uint32_t>(soup.triangles.size());
  out.append(reinterpret_cast<const char*>(&count), 4);
  for (const auto& triangle : soup.triangles) {
    std::string record(50, '\0');
    for (std::size_t k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) {
        const auto x = static_cast<float>(soup.vertices[triangle[k]][i]);
        std::memcpy(record.data() + 12 + 12 * k + 4 * static_cast<std::size_t>(i), &x, 4);
      }
    out += record;
  }
  return out;
}
std::string ascii_stl(const MeshSoup& soup) {
  std::ostringstream out;
  out << "solid x\n";
  for (const auto& triangle : soup.triangles) {
    out << "facet normal 0 0 0\nouter loop\n";
    for (const std::uint32_t v : triangle) out << "vertex " << soup.vertices[v].transpose() << "\n";
    out << "endloop\nendfacet\n";
  }
  return out.str() + "endsolid x\n";
}

std::size_t pick(SceneRandom& random, std::size_t n) {
  return static_cast<std::size_t>(random.unit() * static_cast<double>(n));
}
std::string damaged(std::string bytes, SceneRandom& random) {
  static const std::string kWords[] = {"nan", "1e308",       "-1e-320",   "1e9",       "-1",
                                       "0",   "99999999999", "f 1 2 3\n", "v 0 0 0\n", "\\\n"};
  for (std::size_t k = 1 + pick(random, 4); k > 0 && !bytes.empty(); --k) {
    const std::size_t at = pick(random, bytes.size());
    switch (pick(random, 5)) {
      case 0:
        bytes.erase(at, 1 + pick(random, 100));
        break;
      case 1:
        bytes.insert(at, bytes.substr(pick(random, bytes.size()), pick(random, 200)));
        break;
      case 2:
        bytes[at] = static_cast<char>(random.next());
        break;
      case 3:
        bytes.replace(at, std::min<std::size_t>(5, bytes.size() - at), kWords[pick(random, std::size(kWords))]);
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(random, 8)));  // the length stays
    }
  }
  return bytes;
}

struct Count {
  int refused = 0, defective = 0, accepted = 0;
};
using Parse = MeshFile (*)(std::string_view, const std::string&, const MeshFileLimits&);
void run(Parse parse, const std::string& good, int times, Count& count) {
  SceneRandom random(5, good.size());
  for (int i = 0; i < times; ++i) {
    const std::string bytes = damaged(good, random);
    try {
      const MeshFile file = parse(bytes, "damaged", {});
      REQUIRE(file.soup.origin.size() == file.soup.triangles.size());
      for (const bool repair : {false, true}) {
        MeshSoup soup = file.soup;
        MeshRepairs done;
        MeshDefect defect = prepare_mesh(soup, repair, done);
        if (defect) CHECK_FALSE(describe(defect, soup.origin, file.element).empty());
        count.defective += bool(defect);
        if (defect) continue;
        const TriangleMesh mesh = finish_mesh(soup);
        if (check_crossings(mesh)) continue;
        ++count.accepted;
        const MassProperties m = mass_properties(make_mesh(&mesh), 1000);
        CHECK(m.mass > 0);
        CHECK(inertia_defect(m.I_SScm) == nullptr);
      }
    } catch (const InputError& e) {
      ++count.refused;
      CHECK_MESSAGE(std::string(e.what()).find("damaged") == 0, e.what());
    }
  }
}

TEST_CASE("mesh file: damaged files are refused by name or are sound") {
  Count count;
  for (const char* name : {"bracket", "torus"}) {
    const std::string good =
        read(std::filesystem::path(TACTUS_SOURCE_DIR) / "config" / "meshes" / (std::string(name) + ".obj"));
    const MeshSoup soup = parse_obj(good, name, {}).soup;
    run(parse_obj, good, 500, count);
    run(parse_stl, binary_stl(soup), 500, count);
    run(parse_stl, ascii_stl(soup), 500, count);
  }
  MESSAGE(count.refused << " refused, " << count.defective << " with a defect, " << count.accepted << " accepted");
  CHECK(count.refused > 500);
  CHECK(count.defective > 200);
  CHECK(count.accepted > 50);
}

TEST_CASE("our own meshes: closed solids without any repair, of a size as they are used") {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TACTUS_SOURCE_DIR) / "config" / "meshes")) {
    if (entry.path().extension() != ".obj") continue;
    INFO(entry.path().string());
    MeshSoup soup = read_mesh_file(entry.path().string(), {}).soup;
    MeshRepairs done;
    CHECK(!prepare_mesh(soup, false, done));
    CHECK(done.welded + done.split == 0);
    const TriangleMesh mesh = finish_mesh(soup);
    CHECK(!check_crossings(mesh));
    const double filled = volume(make_mesh(&mesh)) / (mesh.hi - mesh.lo).prod();
    CHECK(filled > 0.05);
    CHECK(filled < 0.7);
    ++count;
  }
  CHECK(count == 4);
}

}  // namespace
}  // namespace tactus
