// Masses and inertias of links and of the bodies that they are merged into; what is not physical is refused or
// repaired.
#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

#include "core/check.h"
#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

// Files round their numbers: a violation below this fraction of the largest moment is rounding.
constexpr double kRounding = 1e-6;

std::string repair_hint(const char* repair) {
  return std::string("; repairs = [\"") + repair + "\"] in the scene (--set repairs=" + repair + ") would mend it";
}

struct Moments {
  Vec3 values;  // ascending
  Mat3 axes;    // columns
};
Moments principal(const Mat3& I) {
  const Eigen::SelfAdjointEigenSolver<Mat3> solver(I);
  return {solver.eigenvalues(), solver.eigenvectors()};
}
Mat3 from_moments(const Moments& m) {
  const Mat3 half = m.axes * m.values.asDiagonal();
  const Mat3 I = half * m.axes.transpose();
  return 0.5 * (I + I.transpose());
}
std::string text(const Vec3& v) {
  return number_text(v.x()) + ", " + number_text(v.y()) + ", " + number_text(v.z());
}

bool breaks_triangle(const Vec3& moments) {
  return moments[2] > moments[0] + moments[1] + kRounding * moments[2];
}
// The nearest moments with A + B = C.
void mend_triangle(Vec3& moments) {
  const double d = (moments[2] - moments[0] - moments[1]) / 3;
  moments += Vec3(d, d, -d);
}

Mat3 point_inertia(const Vec3& p) {
  return p.squaredNorm() * Mat3::Identity() - p * p.transpose();
}

// Links without mass may still have an inertia (a rotor); the sum of nothing is at the body's origin.
MassProperties sum_of(const std::vector<MassProperties>& parts) {
  MassProperties out;
  for (const auto& m : parts) {
    out.mass += m.mass;
    out.p_SScm += m.mass * m.p_SScm;
  }
  out.p_SScm = out.mass > 0 ? Vec3(out.p_SScm / out.mass) : Vec3(Vec3::Zero());
  for (const auto& m : parts) out.I_SScm += m.I_SScm + m.mass * point_inertia(m.p_SScm - out.p_SScm);
  return out;
}

std::vector<MassProperties> shape_masses(const RobotBody& body, double density) {
  std::vector<MassProperties> out;
  for (const RobotLink& link : body.links)
    for (const ShapeSpec& s : link.shapes) out.push_back(transformed(mass_properties(s.shape, density), s.X_BS));
  return out;
}

// A moving body needs a mass; without one every repair is an invention, so it is asked for by name.
void give_mass(const std::string& place, RobotBody& body, const RobotSpec& spec, std::vector<std::string>& notes,
               const std::string& label) {
  const bool has_shapes =
      std::any_of(body.links.begin(), body.links.end(), [](const RobotLink& l) { return !l.shapes.empty(); });
  if (has_shapes && spec.repairs.inertia_from_shapes) {
    body.mass = sum_of(shape_masses(body, spec.density));
    notes.push_back(label + " has no mass: given " + number_text(body.mass.mass) + " kg from its collision shapes");
    return;
  }
  if (spec.repairs.min_inertia) {
    body.mass.mass = spec.least_mass;
    notes.push_back(label + " has no mass: given the least one, " + number_text(spec.least_mass) + " kg");
    return;
  }
  throw InputError(place + "found no mass on a link that moves, expected <inertial> with a mass greater than 0" +
                   repair_hint(has_shapes ? "inertia_from_shapes" : "min_inertia"));
}

}  // namespace

MassProperties link_inertia(const RobotDescription& robot, const UrdfLink& link, const RobotSpec& spec,
                            std::vector<std::string>& notes) {
  if (!link.inertial) return {};
  MassProperties m = *link.inertial;
  Moments moments = principal(m.I_SScm);
  const double size = moments.values.cwiseAbs().maxCoeff();
  const std::string place = place_of(robot, link) + "<inertial> (line " + std::to_string(link.inertial_line) + "): ";
  const std::string label = "link \"" + link.name + "\"";
  if (moments.values[0] < -kRounding * size) {
    if (!spec.repairs.min_inertia)
      throw InputError(place + "found principal moments " + text(moments.values) +
                       ", expected an inertia that is positive definite" + repair_hint("min_inertia"));
    moments.values = moments.values.cwiseMax(spec.least_inertia);
    std::sort(moments.values.data(), moments.values.data() + 3);
    notes.push_back(label + " has a negative moment of inertia: raised to the least one");
  } else if (!breaks_triangle(moments.values)) {
    return m;
  }
  if (breaks_triangle(moments.values)) {
    if (!spec.repairs.triangle_inequality)
      throw InputError(place + "found principal moments " + text(moments.values) +
                       ", of which the largest is more than the sum of the other two, expected moments that a real " +
                       "body can have" + repair_hint("triangle_inequality"));
    mend_triangle(moments.values);
    notes.push_back(label + " has moments of inertia that no body has: set to " + text(moments.values) + " kg m^2");
  }
  m.I_SScm = from_moments(moments);
  return m;
}

void finish_inertia(const RobotDescription& robot, RobotBody& body, bool moves, const RobotSpec& spec,
                    std::vector<std::string>& notes) {
  std::vector<MassProperties> parts;
  for (const RobotLink& l : body.links)
    parts.push_back(transformed(link_inertia(robot, robot.links[l.link], spec, notes), l.X_BL));
  body.mass = sum_of(parts);
  if (!moves) return;
  const UrdfLink& top = robot.links[body.links.front().link];
  const std::string place = place_of(robot, top), label = "link \"" + top.name + "\"";
  if (!(body.mass.mass > 0)) give_mass(place, body, spec, notes, label);
  if (!std::isfinite(body.mass.mass) || !body.mass.p_SScm.allFinite() || !body.mass.I_SScm.allFinite() ||
      !std::isfinite(1 / body.mass.mass))
    throw InputError(place +
                     "found a mass or inertia that overflows in the sum over fixed joints, expected finite ones");
  Moments moments = principal(body.mass.I_SScm);
  if (moments.values[0] > 1e-12 * moments.values[2]) return;
  if (!spec.repairs.min_inertia)
    throw InputError(place + "found principal moments " + text(moments.values) +
                     " on a link that moves, expected moments greater than 0" + repair_hint("min_inertia"));
  moments.values = moments.values.cwiseMax(spec.least_inertia);
  body.mass.I_SScm = from_moments(moments);
  notes.push_back(label + " has a moment of inertia of 0: raised to the least one, " + number_text(spec.least_inertia) +
                  " kg m^2");
}

}  // namespace tactus
