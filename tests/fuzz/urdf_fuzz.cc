// The text of a robot description: refused with InputError that names the file, or bodies with finite masses and poses.
// No other exception, no crash, no endless loop.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/check.h"
#include "core/scene/robot_spec.h"

using namespace tactus;

namespace {

bool sound(const RobotAssembly& robot) {
  for (const RobotBody& body : robot.bodies) {
    if (!std::isfinite(body.mass.mass) || !body.mass.p_SScm.allFinite() || !body.mass.I_SScm.allFinite()) return false;
    if (!body.X_RB0.p.allFinite() || !std::isfinite(body.q0)) return false;
    if ((body.joint != kNone || !robot.fixed_base) && !(body.mass.mass > 0)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SceneOptions options;
  options.limits.bodies = 64;
  options.limits.hull_vertices = 64;
  try {
    const RobotDescription robot = parse_urdf(std::string(reinterpret_cast<const char*>(data), size), "fuzz.urdf");
    for (const bool repair : {false, true}) {
      RobotSpec spec;
      spec.repairs = {repair, repair, repair, repair, repair};
      SceneBuilder builder(options);
      RobotAssembly assembly = assemble_robot(robot, spec, builder);
      if (!sound(assembly)) std::abort();
      if (apart_pairs(robot, assembly, spec).size() > 64 * 64) std::abort();
    }
  } catch (const InputError& error) {
    if (std::string(error.what()).find("fuzz.urdf") == std::string::npos) {
      std::fprintf(stderr, "a refusal without the file's name: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
