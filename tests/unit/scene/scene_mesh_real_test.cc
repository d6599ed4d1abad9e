// Real meshes from public repositories, closed and awkward ones: what is found in each. They are not part of this
// repository; without them this test says that it was skipped.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "core/check.h"
#include "core/scene/mesh_library.h"
#include "core/shape/mass_properties.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;

fs::path robots() {
  const char* own = std::getenv("TACTUS_ROBOTS");
  return own ? fs::path(own) : fs::path(TACTUS_SOURCE_DIR) / ".." / "shared" / "robots";
}
bool found(const char* what) {
  if (fs::is_directory(robots() / what)) return true;
  std::cout << "skipped: " << (robots() / what).string() << " is not there; TACTUS_ROBOTS may name its folder\n";
  return false;
}

struct Outcome {
  std::string message;  // empty: accepted
  double volume = 0;    // in the file's units
  std::vector<std::string> notes;
};
Outcome read(const fs::path& path, bool repair) {
  MeshRequest request;
  request.path = path.string();
  request.repair = repair;
  MeshLibrary library({}, {});
  Outcome out;
  try {
    const TriangleMesh mesh = library.load(request);
    out.volume = volume(make_mesh(&mesh));
    CHECK(inertia_defect(mass_properties(make_mesh(&mesh), 1).I_SScm) == nullptr);
  } catch (const InputError& e) {
    out.message = std::string(e.what()).substr(request.path.size());
  }
  out.notes = library.notes();
  return out;
}

struct Case {
  const char* file;
  double volume;    // as the file is, by an independent script where the README of the meshes states it; 0: refused
  double repaired;  // with repair = true; 0: refused
  const char* complaint;  // part of the refusal without repair
};

// featuretype: CAD corners that differ in the last bit. Holes of the factory: T-junctions. wallhole: concave polygons.
// nut: triangles with a vertex twice, and T-junctions off the line by rounding. bunny, soup: real holes.
const Case kCases[] = {
    {"mujoco/torus.obj", 55.9049, 55.9049, ""},
    {"mujoco/cube_cup.obj", 4.24e-4, 4.24e-4, ""},
    {"mujoco/spot.obj", 0.718259, 0.718259, ""},
    {"mujoco/card.obj", 1.49916e-6, 1.49916e-6, ""},
    {"drake_dishes/plate_8in_col.obj", 1.71142e-4, 1.71142e-4, ""},
    {"drake_dishes/evo_bowl_col.obj", 1.00845e-4, 1.00845e-4, ""},
    {"isaacgym_factory/factory_rectangular_peg_16mm_tight_subdiv_3x.obj", 7.984e-6, 7.984e-6, ""},
    {"isaacgym_factory/factory_round_peg_16mm_tight.obj", 1.00301e-5, 1.00301e-5, ""},
    {"isaacgym_factory/factory_bolt_m12_loose.obj", 4.84444e-6, 4.84444e-6, ""},
    {"trimesh/7_8ths_cube.stl", 56000, 56000, ""},
    {"trimesh/tube.obj", 8.61854, 8.61854, ""},
    {"trimesh/plate_holes.STL", 767362, 767362, ""},
    {"trimesh/quadknot.obj", 1057308, 1057308, ""},
    {"trimesh/busted.STL", 526.449, 526.449, ""},
    {"trimesh/20mm-xyz-cube.stl", 7938.68, 7938.68, ""},
    {"trimesh/negative_indices.obj", 8, 8, ""},
    {"trimesh/featuretype.STL", 11.6277, 11.6277, ""},
    {"isaacgym_factory/factory_round_hole_16mm_subdiv_3x.obj", 3.697883e-6, 3.697883e-6, ""},
    {"isaacgym_factory/factory_rectangular_hole_16mm_subdiv_3x.obj", 4.13864e-6, 4.13864e-6, ""},
    {"trimesh/wallhole.obj", 1066.667, 1066.667, ""},
    {"isaacgym_factory/factory_nut_m12_loose_subdiv_3x.obj", 0, 2.11686e-6, ": line 7150: found the vertex"},
    {"trimesh/multibody.stl", 0, 0.007423221, "runs the same way in line"},
    {"mujoco/bunny.obj", 0, 0, "has 1 triangle, expected 2: the surface has a hole there (42 such in all)"},
    {"trimesh/soup.stl", 0, 0, ": triangle 1: the edge from"},
};

TEST_CASE("real meshes: each is accepted with its volume, repaired, or refused for what is wrong with it") {
  if (!found("meshes")) return;
  for (const Case& c : kCases) {
    INFO(std::string(c.file));
    for (const bool repair : {false, true}) {
      const Outcome out = read(robots() / "meshes" / c.file, repair);
      const double expected = repair ? c.repaired : c.volume;
      if (expected > 0) {
        CHECK_MESSAGE(out.message.empty(), out.message);
        CHECK(out.volume == doctest::Approx(expected).epsilon(5e-6));
      } else {
        CHECK_FALSE_MESSAGE(out.message.empty(), "accepted");
        if (!repair) CHECK_MESSAGE(out.message.find(c.complaint) != std::string::npos, out.message);
      }
    }
  }
}

// Of the robots' collision meshes: inside-out hulls, open ones, and one whose two shells cross.
TEST_CASE("real meshes: collision meshes of robots") {
  if (!found("pr2")) return;
  const std::map<std::string, std::string> refused{{"wrist_flex.stl", "(26 such in all)"},
                                                   {"l_finger.stl", "has 1 triangle"},
                                                   {"l_finger_tip.stl", "(4 such in all)"},
                                                   {"shoulder_lift.stl", "has 1 triangle"},
                                                   {"tilting_hokuyo_L.stl", "crosses triangle"}};
  std::size_t files = 0, turned = 0, seen = 0;
  for (const char* robot : {"panda", "panda_moveit", "atlas", "pr2", "ur5e"}) {
    for (const auto& entry : fs::recursive_directory_iterator(robots() / robot)) {
      const std::string extension = entry.path().extension().string(), name = entry.path().filename().string();
      if (extension != ".obj" && extension != ".stl" && extension != ".STL") continue;
      ++files;
      INFO(entry.path().string());
      const Outcome plain = read(entry.path(), false), mended = read(entry.path(), true);
      const auto bad = refused.find(name);
      if (bad == refused.end()) {
        CHECK_MESSAGE(mended.message.empty(), mended.message);
        turned += plain.message.find("inside out") != std::string::npos;
        if (!plain.message.empty()) CHECK(plain.message.find("repair = true would mend it") != std::string::npos);
        continue;
      }
      ++seen;
      CHECK_MESSAGE(plain.message.find(bad->second) != std::string::npos, plain.message);
      CHECK_FALSE(mended.message.empty());
    }
  }
  CHECK(files == 66);
  CHECK(turned == 12);  // hulls of atlas
  CHECK(seen == refused.size());
}

}  // namespace
}  // namespace tactus
