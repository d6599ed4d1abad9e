// A robot description becomes the bodies, joints, frames, drives and sensors that it and the scene describe.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "core/scene/hull_points.h"
#include "tests/support/random.h"
#include "tests/unit/scene/urdf_samples.h"

namespace tactus::test {
namespace {

constexpr double kPi = std::numbers::pi;

double distance(const Pose& a, const Pose& b) {
  return (a.p - b.p).norm() + a.q.angularDistance(b.q);
}
std::string xyz(const Vec3& v) {
  char text[120];
  std::snprintf(text, sizeof text, "%.17g %.17g %.17g", v.x(), v.y(), v.z());
  return text;
}
const Body& body_of(const Model& m, const std::string& name) {
  return m.bodies.at(m.find_body(name));
}
const Joint& joint_of(const Model& m, const std::string& name) {
  return m.joints.at(m.find_joint(name));
}

// Roll about x, pitch about y, yaw about z, of fixed axes: the definition of rpy, as a product of matrices.
Mat3 rpy(const Vec3& a) {
  return (Eigen::AngleAxisd(a.z(), Vec3::UnitZ()) * Eigen::AngleAxisd(a.y(), Vec3::UnitY()) *
          Eigen::AngleAxisd(a.x(), Vec3::UnitX()))
      .toRotationMatrix();
}

// 15 links in a chain of fixed joints, each a unit point-like ball, at random poses: mass, centre and inertia are those
// of the point masses and their own moments, by the definition.
TEST_CASE("links over fixed joints become one body with the inertia of all") {
  const Folder folder;
  Random random(5);
  std::string text = link("l0", inertial(2, R"(xyz="0.1 0 0")", kUnit));
  Mat3 R = Mat3::Identity();
  Vec3 p = Vec3::Zero();
  std::vector<Vec3> centres{Vec3(0.1, 0, 0)};
  std::vector<double> masses{2};
  std::vector<Mat3> inertias{Mat3::Identity()};
  for (int i = 1; i < 16; ++i) {
    const Vec3 offset = random.in_cube(1), angles = random.in_cube(3), centre = random.in_cube(0.3),
               turn = random.in_cube(3);
    const Vec3 moments = Vec3(2, 3, 4) + random.in_cube(0.4);
    const std::string name = std::string(1, 'l') + std::to_string(i),
                      above = std::string(1, 'l') + std::to_string(i - 1);
    char diagonal[160];
    std::snprintf(diagonal, sizeof diagonal, "ixx=\"%.17g\" iyy=\"%.17g\" izz=\"%.17g\"", moments.x(), moments.y(),
                  moments.z());
    text += link(name, inertial(i, "xyz=\"" + xyz(centre) + "\" rpy=\"" + xyz(turn) + "\"", diagonal));
    text += joint(std::string(1, 'j') + std::to_string(i), "fixed", above, name,
                  "<origin xyz=\"" + xyz(offset) + "\" rpy=\"" + xyz(angles) + "\"/><axis xyz=\"0 0 0\"/>");
    p += R * offset;
    R = R * rpy(angles);
    centres.push_back(p + R * centre);
    masses.push_back(i);
    const Mat3 Q = R * rpy(turn);
    inertias.push_back(Q * moments.asDiagonal() * Q.transpose());
  }
  double mass = 0;
  Vec3 centre = Vec3::Zero();
  for (std::size_t i = 0; i < masses.size(); ++i) mass += masses[i], centre += masses[i] * centres[i];
  centre /= mass;
  Mat3 I = Mat3::Zero();
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const Mat3 arm = skew(centres[i] - centre);
    I += inertias[i] + masses[i] * arm * arm.transpose();
  }
  const auto m = load_robot(folder, robot(text));
  REQUIRE(m->bodies.size() == 1);
  CHECK(m->bodies[0].name == "r/l0");
  CHECK(m->bodies[0].mass == doctest::Approx(mass).epsilon(1e-14));
  CHECK((m->bodies[0].p_BBcm - centre).norm() < 1e-12);
  CHECK((m->bodies[0].I_BBcm - I).norm() < 1e-11 * I.norm());
  REQUIRE(m->frames.size() == 16);
  const LinkFrame* last = m->find_frame("r/l15");
  REQUIRE(last != nullptr);
  CHECK(last->body == 0);
  CHECK((last->X_BF.p - p).norm() < 1e-12);
  CHECK((last->X_BF.q.toRotationMatrix() - R).norm() < 1e-12);
}

const std::string kArm =
    robot(link("base") + link("flange", "") + link("upper") +
          link("hand", inertial(1, "", kUnit) + box("1 1 1", "xyz=\"0 0 1\"")) + link("tip", box("0.2 0.2 0.2")) +
          joint("mount", "fixed", "base", "flange", R"(<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>)") +
          joint("shoulder", "revolute", "flange", "upper",
                R"(<origin xyz="1 0 0"/><axis xyz="0 0 2"/><dynamics damping="0.5" friction="0.25"/>)" + kLimit) +
          joint("slide", "prismatic", "upper", "hand",
                R"(<origin xyz="0 2 0"/><axis xyz="0 -1 0"/><limit lower="0.5" upper="1" effort="7" velocity="3"/>)") +
          joint("tip_joint", "fixed", "hand", "tip", R"(<origin xyz="0 0 3"/>)"));

TEST_CASE("joints have the description's frames, limits and axes; links stand where the joints put them") {
  const Folder folder;
  const auto m = load_robot(folder, kArm,
                            "name = \"arm\"\nbase = \"fixed\"\nposition_m = [10, 0, 0]\n"
                            "joint_positions = { shoulder = 1.5707963267948966 }\n");
  REQUIRE(m->bodies.size() == 3);
  CHECK(body_of(*m, "arm/base").mode == BodyMode::fixed);
  CHECK(body_of(*m, "arm/upper").mode == BodyMode::link);
  REQUIRE(m->joints.size() == 2);
  const Joint &shoulder = joint_of(*m, "arm/shoulder"), &slide = joint_of(*m, "arm/slide");
  CHECK(shoulder.kind == JointKind::revolute);
  CHECK(shoulder.parent == m->find_body("arm/base"));
  CHECK(shoulder.child == m->find_body("arm/upper"));
  CHECK((shoulder.X_PF.p - Vec3(0, 1, 1)).norm() < 1e-15);  // through the merged flange, turned by 90 degrees
  CHECK((shoulder.axis_F - Vec3::UnitZ()).norm() == 0);
  CHECK(shoulder.lower == -2);
  CHECK(shoulder.upper == 2);
  CHECK(shoulder.effort_limit == 10);
  CHECK(shoulder.velocity_limit == 5);
  CHECK(shoulder.damping == 0.5);
  CHECK(shoulder.friction == 0.25);
  CHECK((slide.axis_F - Vec3(0, -1, 0)).norm() == 0);
  // The slide cannot be at 0: it starts at its nearer limit, and the user is told.
  CHECK(m->joint_q0 == std::vector<double>{1.5707963267948966, 0.5});
  CHECK(m->joint_v0 == std::vector<double>{0, 0});
  CHECK(m->notes.size() == 1);
  // Turned by 180 degrees in all at the shoulder: 2 - 0.5 along the upper link's y is -1.5 in the world.
  const Pose hand{Quat(0, 0, 0, 1), Vec3(10, 1 - 1.5, 1)};
  CHECK(distance(m->X_WB0[m->find_body("arm/hand")], hand) < 1e-12);
  const LinkFrame* tip = m->find_frame("arm/tip");
  REQUIRE(tip != nullptr);
  CHECK(tip->body == m->find_body("arm/hand"));
  CHECK((tip->X_BF.p - Vec3(0, 0, 3)).norm() < 1e-15);
  CHECK(tip->shape_count == 1);
  CHECK(m->shapes.at(tip->first_shape).shape.half_S.x() == 0.1);
}

TEST_CASE("the base: fixed when the root is called world or the scene says so, otherwise a floating joint") {
  const Folder folder;
  const std::string pose = "position_m = [1, 2, 3]\nroll_pitch_yaw_rad = [0, 0, 1.5707963267948966]\n";
  const auto floating = load_robot(folder, kArm, pose);
  const Joint& base = joint_of(*floating, "r/base");
  CHECK(base.kind == JointKind::floating);
  CHECK(base.parent == kNone);
  CHECK(floating->joints.front().name == "r/base");
  REQUIRE(floating->joint_q0.size() == 9);
  CHECK(floating->joint_v0.size() == 8);
  const double h = std::sqrt(0.5);
  const std::vector<double> expected{1, 2, 3, h, 0, 0, h, 0, 0.5};
  for (std::size_t i = 0; i < 9; ++i) CHECK(floating->joint_q0[i] == doctest::Approx(expected[i]).epsilon(1e-15));
  const auto fixed = load_robot(folder, kArm, pose + "base = \"fixed\"\n");
  for (std::size_t b = 0; b < 3; ++b) CHECK(distance(fixed->X_WB0[b], floating->X_WB0[b]) < 1e-12);

  const std::string on_world = robot(link("world", "") + link("a") + joint("j", "continuous", "world", "a"));
  const auto world = load_robot(folder, on_world);
  CHECK(body_of(*world, "r/world").mode == BodyMode::fixed);
  CHECK(world->joints.size() == 1);
  CHECK(robot_refusal(folder, on_world, "base = \"floating\"").find("link \"world\": found no mass") !=
        std::string::npos);
  // A joint of the description that is called base keeps its name.
  const auto named = load_robot(folder, robot(link("a") + link("b") + joint("base", "continuous", "a", "b")));
  CHECK(joint_of(*named, "r/floating_base").kind == JointKind::floating);
  CHECK(joint_of(*named, "r/base").kind == JointKind::continuous);
}

TEST_CASE("a mimic follows the joint at the end of its chain") {
  const Folder folder;
  const std::string urdf =
      robot(link("a") + link("b") + link("c") + link("d") +
            joint("follower", "continuous", "a", "b", R"(<mimic joint="middle" multiplier="2" offset="0.5"/>)") +
            joint("middle", "continuous", "b", "c", R"(<mimic joint="leader" multiplier="-3" offset="0.25"/>)") +
            joint("leader", "continuous", "c", "d"));
  const auto m = load_robot(folder, urdf, "base = \"fixed\"\njoint_positions = { leader = 0.1 }\n");
  const Joint &follower = joint_of(*m, "r/follower"), &middle = joint_of(*m, "r/middle");
  CHECK(follower.mimic == m->find_joint("r/leader"));
  CHECK(middle.mimic == m->find_joint("r/leader"));
  CHECK(follower.multiplier == -6);  // 2 (-3 q + 0.25) + 0.5
  CHECK(follower.offset == 1);
  CHECK(middle.multiplier == -3);
  CHECK(middle.offset == 0.25);
  CHECK(joint_of(*m, "r/leader").mimic == kNone);
  CHECK(m->joint_q0 == std::vector<double>{0.1});
  const Quat turn(Eigen::AngleAxisd(0.4 - 0.05 + 0.1, Vec3::UnitX()));  // sum of the three about the default axis x
  CHECK(m->X_WB0[m->find_body("r/d")].q.angularDistance(turn) < 1e-12);
}

TEST_CASE("joints come parents first, whatever the order of the file; kinds and counts of coordinates") {
  const Folder folder;
  const std::string urdf =
      robot(joint("k", "planar", "b", "c", "<axis xyz=\"0 0 1\"/>") + joint("l", "floating", "c", "d") +
            joint("j", "continuous", "a", "b") + link("d") + link("c") + link("b") + link("a"));
  const auto m = load_robot(folder, urdf, "base = \"fixed\"\n");
  REQUIRE(m->joints.size() == 3);
  CHECK(m->joints[0].name == "r/j");
  CHECK(m->joints[1].name == "r/k");
  CHECK(m->joints[2].name == "r/l");
  CHECK(m->joint_q0 == std::vector<double>{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0});
  CHECK(m->joint_v0.size() == 10);
}

TEST_CASE("several robots in a scene, each with its place and its pose") {
  const Folder folder;
  const auto m = load_robot(folder, kArm,
                            "name = \"left\"\nbase = \"fixed\"\n[[robot]]\nurdf = \"r.urdf\"\nname = \"right\"\n"
                            "position_m = [0, 0, 5]\njoint_positions = { shoulder = 1 }\n",
                            "no_collision = [[\"left/tip\", \"right/tip\"]]");
  REQUIRE(m->robots.size() == 2);
  CHECK(m->robots[0].joint_count == 2);
  CHECK(m->robots[1].first_joint == 2);
  CHECK(m->robots[1].joint_count == 3);
  CHECK(m->joints[3].parent == m->find_body("right/base"));
  CHECK(m->joints[3].robot == 1);
  CHECK(m->bodies.size() == 6);
  CHECK(m->X_WB0[m->find_body("right/base")].p.z() == 5);
  const std::pair<BodyIndex, BodyIndex> tips{m->find_body("left/hand"), m->find_body("right/hand")};
  CHECK(std::count(m->no_collision.begin(), m->no_collision.end(), tips) == 1);
}

// a - b - c - d in a row of boxes: a and c overlap, a and d do not.
std::string row() {
  return robot(link("a", inertial(1, "", kUnit) + box("2.2 1 1")) + link("b", inertial(1, "", kUnit)) +
               link("c", inertial(1, "", kUnit) + box("1 1 1")) + link("d", inertial(1, "", kUnit) + box("1 1 1")) +
               joint("j", "continuous", "a", "b", "<origin xyz=\"1.5 0 0\"/>") + joint("k", "continuous", "b", "c") +
               joint("l", "continuous", "c", "d", "<origin xyz=\"3 0 0\"/>"));
}

TEST_CASE("self-collision: neighbours and what overlaps at first are apart; all or none on request") {
  const Folder folder;
  using Pairs = std::vector<std::pair<BodyIndex, BodyIndex>>;
  const auto pairs = [&](const std::string& more) { return load_robot(folder, row(), more)->no_collision; };
  CHECK(pairs("") == Pairs{{0, 1}, {0, 2}, {1, 2}, {2, 3}});
  CHECK(pairs("self_collision = \"adjacent_off\"") == pairs(""));
  CHECK(pairs("self_collision = true").empty());
  CHECK(pairs("self_collision = false") == Pairs{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}});
  CHECK(pairs("self_collision = true\nno_collision = [[\"d\", \"a\"]]") == Pairs{{0, 3}});
  const auto m = load_robot(folder, row());
  REQUIRE(m->notes.size() == 1);
  CHECK(m->notes[0].find("1 pairs of links overlap at the initial pose and never collide: a and c") !=
        std::string::npos);
}

const char* kCubeInsideOut =
    "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"
    "f 1 2 3 4\nf 5 8 7 6\nf 1 5 6 2\nf 2 6 7 3\nf 3 7 8 4\nf 4 8 5 1\n";

TEST_CASE("collision meshes: found by package, any case of extension, hulls also of surfaces inside out") {
  const Folder folder;
  const std::string mesh = folder.write("things/meshes/CUBE.OBJ", kCubeInsideOut);
  const std::string package = folder.write("things/package.xml", "<package><name>stuff</name></package>");
  const auto with = [](const std::string& file) {
    return robot(link("a", inertial(1, "", kUnit) +
                               "<visual><geometry><mesh filename=\"package://none/x.dae\"/></geometry></visual>" +
                               "<collision><geometry><mesh filename=\"" + file +
                               "\" scale=\"0.5 0.5 1\"/></geometry></collision>"));
  };
  for (const std::string& file : {std::string("things/meshes/CUBE.OBJ"), "file://" + mesh}) {
    const auto m = load_robot(folder, with(file));
    REQUIRE(m->shapes.size() == 1);
    CHECK(m->shapes[0].shape.kind == ShapeKind::convex);
    CHECK(volume(m->shapes[0].shape) == doctest::Approx(2));  // 1 x 1 x 2
    REQUIRE(m->notes.size() == 1);
    CHECK(m->notes[0].find("CUBE.OBJ is wound inside out") != std::string::npos);
  }
  const std::string by_package = with("package://stuff/meshes/CUBE.OBJ");
  CHECK(robot_refusal(folder, by_package).find("nowhere") != std::string::npos);
  CHECK(load_robot(folder, by_package, "packages = { stuff = \"things\" }")->shapes.size() == 1);
  // From inside the package its name is in package.xml.
  const std::string urdf = folder.write("things/urdf/r.urdf", by_package);
  CHECK(parse_scene("[[robot]]\nurdf = \"things/urdf/r.urdf\"", folder.path() + "/s.toml", {})->notes.size() == 1);
  // A guess by the path is told.
  const std::string other = folder.write("things/urdf/o.urdf", with("package://unheard/meshes/CUBE.OBJ"));
  const auto guessed = parse_scene("[[robot]]\nurdf = \"things/urdf/o.urdf\"", folder.path() + "/s.toml", {});
  REQUIRE(guessed->notes.size() == 2);
  CHECK(guessed->notes[0].find("package unheard taken to be the folder things") != std::string::npos);
  // As a mesh its direction matters: refused, or turned on request.
  const std::string plain = with("things/meshes/CUBE.OBJ");
  CHECK(robot_refusal(folder, plain, "collision_meshes = \"mesh\"").find("inside out") != std::string::npos);
  const auto turned = load_robot(folder, plain, "collision_meshes = \"mesh\"\nrepairs = \"mesh\"");
  CHECK(turned->shapes.at(0).shape.kind == ShapeKind::mesh);
  CHECK(volume(turned->shapes[0].shape) == doctest::Approx(2));
  REQUIRE(turned->meshes.size() == 1);
}

// The hull of points on a sphere, with N of them: a polyhedron of N vertices inside; what is left out is told rightly.
TEST_CASE("a hull of many points is approximated from inside, to the distance that it says") {
  Random random(3);
  std::vector<Vec3> points;
  for (int i = 0; i < 1500; ++i) points.push_back(random.direction());
  double before = 1;
  for (const std::size_t n : {16u, 64u, 200u}) {
    ConvexHull hull;
    HullFit fit;
    std::string error;
    REQUIRE(fit_convex_hull(points, n, hull, fit, error));
    CHECK(fit.approximate);
    CHECK(hull.vertices.size() <= n);
    CHECK(hull.vertices.size() + 4 > n);
    double outside = 0;
    for (const auto& face : hull.faces)
      for (const Vec3& p : points) outside = std::max(outside, face.nhat.dot(p) - face.offset);
    CHECK(fit.left_out == doctest::Approx(outside).epsilon(1e-9));
    for (const Vec3& v : hull.vertices) CHECK(std::abs(v.norm() - 1) < 1e-12);
    CHECK(fit.left_out < 0.6 * before);
    // The best n caps that cover the sphere have a height of about 2.4/n; taking the farthest point each time gives at
    // most twice the best angle, so four times the height.
    CHECK(fit.left_out < 10.0 / static_cast<double>(n));
    before = fit.left_out;
  }
}

TEST_CASE("repairs: masses and moments are what they are said to be") {
  const Folder folder;
  const auto moving = [](const std::string& inside) {
    return robot(link("a") + link("b", inside) + joint("j", "continuous", "a", "b"));
  };
  const std::string fixed = "base = \"fixed\"\n";
  {
    const auto m = load_robot(folder, moving(box("0.1 0.2 0.3", "xyz=\"1 0 0\"")),
                              fixed + "repairs = \"inertia_from_shapes\"\nshape_density_kg_per_m3 = 500");
    const Body& b = body_of(*m, "r/b");
    CHECK(b.mass == doctest::Approx(3));
    CHECK((b.p_BBcm - Vec3::UnitX()).norm() < 1e-14);
    CHECK((b.I_BBcm.diagonal() - 3.0 / 12 * Vec3(0.13, 0.1, 0.05)).norm() < 1e-14);
  }
  {
    const auto m = load_robot(folder, moving(""),
                              fixed + "repairs = [\"min_inertia\"]\nmin_mass_kg = 0.5\nmin_inertia_kg_m2 = 0.25");
    CHECK(body_of(*m, "r/b").mass == 0.5);
    CHECK((body_of(*m, "r/b").I_BBcm - 0.25 * Mat3::Identity()).norm() < 1e-15);
  }
  {  // the nearest moments on A + B = C, in the same principal axes
    const auto m = load_robot(folder, moving(inertial(1, R"(rpy="0.3 -0.4 0.5")", R"(ixx="1" iyy="1" izz="5")")),
                              fixed + "repairs = [\"triangle_inequality\"]");
    const Mat3 R = rpy(Vec3(0.3, -0.4, 0.5));
    CHECK((body_of(*m, "r/b").I_BBcm - R * Vec3(2, 2, 4).asDiagonal() * R.transpose()).norm() < 1e-14);
  }
  {
    const auto m = load_robot(folder, robot(link("a") + link("b") + joint("j", "revolute", "a", "b")),
                              fixed + "repairs = [\"missing_limits\"]");
    CHECK(joint_of(*m, "r/j").upper == std::numeric_limits<double>::infinity());
  }
  // Nothing is repaired that is not broken.
  const auto plain = load_robot(folder, moving(inertial(1, "", kUnit)), fixed + "repairs = \"all\"");
  CHECK(plain->notes.empty());
  CHECK(body_of(*plain, "r/b").I_BBcm == Mat3::Identity());
}

TEST_CASE("what is not read is told once a kind, with its count") {
  const Folder folder;
  const auto m = load_robot(
      folder,
      robot("<gazebo/><transmission/><gazebo reference=\"a\"><x y=\"${z}\"/></gazebo><!-- <link/> -->" +
            link("a", inertial(1, "", kUnit) + "<sensor/>") + link("b") +
            joint("j", "continuous", "a", "b", "<safety_controller k_velocity=\"1\"/><calibration rising=\"0\"/>")));
  std::string all;
  for (const std::string& note : m->notes) all += note + "\n";
  for (const char* part : {"skipped <gazebo>, 2 times", "skipped <transmission>\n", "skipped <sensor>",
                           "skipped <safety_controller>", "skipped <calibration>"})
    CHECK_MESSAGE(all.find(part) != std::string::npos, all);
  CHECK(m->notes.size() == 5);
}

TEST_CASE("materials and colours of links") {
  const Folder folder;
  const std::string coloured = "<visual><material name=\"m\"/></visual>";
  const std::string urdf = robot("<material name=\"m\"><color rgba=\"1 0.5 0 1\"/></material>" +
                                 link("a", inertial(1, "", kUnit) + box("1 1 1") + coloured) +
                                 link("foot", box("1 1 1")) + joint("j", "fixed", "a", "foot"));
  const std::string materials = "[[material]]\nname = \"ice\"\nstatic_friction = 0\n[[material]]\nname = \"wood\"\n";
  const auto m = load_robot(folder, urdf, "material = \"wood\"\nmaterials = { foot = \"ice\" }", materials);
  REQUIRE(m->shapes.size() == 2);
  CHECK(m->materials[m->shapes[0].material].name == "wood");
  CHECK(m->materials[m->shapes[1].material].name == "ice");
  CHECK(m->shapes[0].colour == "#ff8000");
  CHECK(m->shapes[1].colour.empty());
}

TEST_CASE("drives: targets, gains and limits; gains from a bandwidth are those of the carried inertia") {
  const Folder folder;
  const std::string urdf =
      robot(link("a") + link("rod", inertial(2, "xyz=\"0.5 0 0\"", R"(ixx="0.15" iyy="0.2" izz="0.3")")) +
            link("cart", inertial(3, "xyz=\"0 0 0\"", R"(ixx="0.1" iyy="0.1" izz="0.1")")) +
            joint("hinge", "revolute", "a", "rod", "<axis xyz=\"0 0 1\"/>" + kLimit) +
            joint("rail", "prismatic", "rod", "cart", "<origin xyz=\"2 0 0\"/><axis xyz=\"0 1 0\"/>" + kLimit));
  const auto m = load_robot(folder, urdf, R"(base = "fixed"
[[robot.drive]]
joint = "hinge"
kind = "position"
target_rad = 0.5
amplitude_rad = 0.2
frequency_hz = 0.25
phase_rad = 1.5707963267948966
bandwidth_rad_per_s = 10
damping_ratio = 0.5
lag_s = 0.003
delay_ticks = 2
[[robot.drive]]
joint = "rail"
kind = "velocity"
target_m_per_s = 0.75
damping_n_s_per_m = 40
effort_limit_n = 6
)");
  REQUIRE(m->drives.size() == 2);
  const JointDrive &hinge = m->drives[0], &rail = m->drives[1];
  const double inertia = 0.3 + 2 * 0.25 + 0.1 + 3 * 4;  // parallel axes
  CHECK(hinge.joint == m->find_joint("r/hinge"));
  CHECK(hinge.kp == doctest::Approx(inertia * 100).epsilon(1e-14));
  CHECK(hinge.kd == doctest::Approx(inertia * 10).epsilon(1e-14));
  CHECK(hinge.effort_limit == 10);
  CHECK(hinge.lag == 0.003);
  CHECK(hinge.delay_ticks == 2);
  for (const double t : {0.0, 0.3, 1.7}) {
    CHECK(hinge.target.value(t) == doctest::Approx(0.5 + 0.2 * std::cos(kPi / 2 * t)));
    CHECK(hinge.target.rate(t) == doctest::Approx(-0.1 * kPi * std::sin(kPi / 2 * t)));
  }
  CHECK(rail.kind == DriveKind::velocity);
  CHECK(rail.kd == 40);
  CHECK(rail.kp == 0);
  CHECK(rail.effort_limit == 6);
  CHECK(rail.target.value(9) == 0.75);
}

TEST_CASE("sensors: what they sit on; a fixed joint with a force sensor stays") {
  const Folder folder;
  const std::string sensors = R"(base = "fixed"
[[robot.sensor]]
name = "turn"
kind = "encoder"
joint = "shoulder"
resolution_rad = 0.001
noise_rad = 0.01
seed = 7
[[robot.sensor]]
name = "head"
kind = "imu"
link = "tip"
position_m = [0, 0, 0.1]
gyro_bias_rad_per_s = [1, 2, 3]
accelerometer_noise_m_per_s2 = 0.2
[[robot.sensor]]
name = "touch"
kind = "contact"
link = "tip"
)";
  const auto m = load_robot(folder, kArm, sensors);
  REQUIRE(m->sensors.size() == 3);
  CHECK(m->joints.size() == 2);
  CHECK(m->sensors[0].name == "r/turn");
  CHECK(m->sensors[0].joint == m->find_joint("r/shoulder"));
  CHECK(m->sensors[0].resolution == 0.001);
  CHECK(m->sensors[0].linear_noise == 0.01);
  CHECK(m->sensors[0].seed == 7);
  CHECK(m->frames.at(m->sensors[1].frame).name == "r/tip");
  CHECK(m->sensors[1].X_FS.p.z() == 0.1);
  CHECK(m->sensors[1].angular_bias.z() == 3);
  CHECK(m->sensors[1].linear_noise == 0.2);
  CHECK(m->sensors[1].seed != m->sensors[2].seed);
  CHECK(m->sensors[1].seed == load_robot(folder, kArm, sensors)->sensors[1].seed);

  const std::string tip = R"(base = "fixed"
repairs = "min_inertia"
[[robot.sensor]]
name = "wrist"
kind = "force_torque"
)";
  for (const std::string& on : {std::string("joint = \"tip_joint\""), std::string("link = \"tip\"")}) {
    const auto kept = load_robot(folder, kArm, tip + on);
    REQUIRE(kept->joints.size() == 3);
    CHECK(kept->joints[2].kind == JointKind::fixed);
    CHECK(kept->sensors.at(0).joint == 2);
    CHECK(kept->frames.at(kept->sensors[0].frame).name == "r/tip");
    CHECK(kept->joint_q0.size() == 2);
  }
}

TEST_CASE("a URDF file in the place of a scene: the robot on a floor, set by --set") {
  const Folder folder;
  const std::string urdf = folder.write("r.urdf", row());
  SceneOptions options;
  const auto m = load_scene(urdf, options);
  CHECK(m->title == "r.urdf, on a floor");
  REQUIRE(m->bodies.size() == 5);
  CHECK(m->bodies[0].name == "floor");
  CHECK(m->joints.front().kind == JointKind::floating);
  CHECK(m->X_WB0[m->find_body("r/a")].p.z() == doctest::Approx(0.5));
  options.set = {{"base", "fixed"}, {"self_collision", "true"}, {"step_s", "0.002"}};
  const auto fixed = load_scene(urdf, options);
  CHECK(fixed->bodies[1].mode == BodyMode::fixed);
  CHECK(fixed->no_collision.empty());
  CHECK(fixed->step == 0.002);
  options.set = {{"repairs", "glue"}};
  CHECK_THROWS_WITH_AS(load_scene(urdf, options), doctest::Contains("r.urdf --set: robot[0].repairs: found \"glue\""),
                       InputError);
  const std::string bad = folder.write("bad.urdf", robot(link("a", "")));
  CHECK_THROWS_WITH_AS(load_scene(bad, {}), doctest::Contains("bad.urdf:2: link \"a\": found no mass"), InputError);
}

}  // namespace
}  // namespace tactus::test
