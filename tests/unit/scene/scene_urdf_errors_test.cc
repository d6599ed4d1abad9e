// What is wrong with a robot description, or with what a scene says of it, is said with file, line, element, what was
// found and what is expected; nothing is built.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/scene/urdf.h"
#include "tests/unit/scene/urdf_samples.h"

namespace tactus::test {
namespace {

std::string complaint(const std::string& text) {
  try {
    const RobotDescription ignored = parse_urdf(text, "f.urdf");
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

struct Case {
  const char* what;
  std::string text;
  std::vector<std::string> parts;
};
void check_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const std::string message = complaint(c.text);
    for (const auto& part : c.parts)
      CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
  }
}

// Two links, and a joint in line 4.
std::string two(const std::string& type, const std::string& inside) {
  return robot(link("a") + link("b") + joint("j", type, "a", "b", inside));
}

TEST_CASE("the good robots of these tests are accepted") {
  CHECK(complaint(two("fixed", "")) == "accepted");
  CHECK(complaint(two("revolute", kLimit)) == "accepted");
  CHECK(complaint(robot(link("a"))) == "accepted");
}

TEST_CASE("descriptions: structure") {
  check_all({
      {"empty", "", {"f.urdf:1: not XML"}},
      {"no XML", "robot {}", {"f.urdf:1: not XML"}},
      {"cut off", "<robot name=\"r\">\n<link name=\"a\">", {"f.urdf:", "not XML"}},
      {"another format", "<sdf version=\"1.6\"/>", {"f.urdf:1: <sdf>:", "expected <robot>"}},
      {"no link", robot(""), {"f.urdf:1: <robot>", "found no link, expected at least one"}},
      {"missing link",
       robot(link("a") + joint("j", "fixed", "a", "ghost")),
       {"f.urdf:3: joint \"j\": <child>: found link \"ghost\", expected the name of a link"}},
      {"missing parent", robot(link("a") + joint("j", "fixed", "ghost", "a")), {"<parent>: found link \"ghost\""}},
      {"link twice", robot(link("a") + link("a")), {"f.urdf:3: link \"a\": found this name again, first in line 2"}},
      {"joint twice",
       robot(link("a") + link("b") + link("c") + joint("j", "fixed", "a", "b") + joint("j", "fixed", "a", "c")),
       {"f.urdf:6: joint \"j\": found this name again, first in line 5"}},
      {"cycle of all",
       robot(link("a") + link("b") + joint("j", "fixed", "a", "b") + joint("k", "fixed", "b", "a")),
       {"f.urdf:4: joint \"j\"", "cycle"}},
      {"cycle beside a root",
       robot(link("w") + link("a") + link("b") + joint("j", "fixed", "a", "b") + joint("k", "fixed", "b", "a")),
       {"f.urdf:5: joint \"j\"", "cycle", "\"w\""}},
      {"joint to itself", robot(link("a") + joint("j", "fixed", "a", "a")), {"cycle"}},
      {"two joints above a link",
       robot(link("a") + link("b") + link("c") + joint("j", "fixed", "a", "c") + joint("k", "fixed", "b", "c")),
       {"f.urdf:6: joint \"k\": <child>", "child of joint \"j\" already"}},
      {"two roots", robot(link("a") + link("b")), {"f.urdf:3: link \"b\": found a second root", "\"a\""}},
      {"joint without child",
       robot(link("a") + "<joint name=\"j\" type=\"fixed\"><parent link=\"a\"/></joint>"),
       {"f.urdf:3: joint \"j\": <joint>: missing <child>"}},
  });
}

TEST_CASE("descriptions: names, macros and joint types") {
  check_all({
      {"name missing", robot("<link/>"), {"f.urdf:2: <link> name: missing"}},
      {"name with a blank", robot(link("a b")), {"<link> name: found \"a b\", expected a name"}},
      {"name with a macro", robot(link("${prefix}arm")), {"f.urdf:2:", "\"${prefix}arm\"", "xacro"}},
      {"number with a macro", two("revolute", "<limit lower=\"${-pi}\" upper=\"1\"/>"), {"${-pi}", "xacro"}},
      {"file with a macro",
       robot(link("a", "<collision><geometry><mesh filename=\"$(find p)/a.stl\"/></geometry></collision>")),
       {"f.urdf:2: link \"a\": <mesh> filename", "$(find p)/a.stl", "xacro"}},
      {"element of xacro", robot("<xacro:include filename=\"a.xacro\"/>"), {"f.urdf:2: <xacro:include>", "run xacro"}},
      {"ball joint", two("spherical", ""), {"f.urdf:4: joint \"j\": <joint> type: found \"spherical\", expected"}},
      {"no type",
       robot(link("a") + link("b") + "<joint name=\"j\"><parent link=\"a\"/><child link=\"b\"/></joint>"),
       {"f.urdf:4: joint \"j\": <joint> type: missing"}},
  });
}

TEST_CASE("descriptions: numbers") {
  const auto mass = [](const std::string& value) {
    return robot(link("a", "<inertial><mass value=\"" + value + "\"/><inertia " + kUnit + "/></inertial>"));
  };
  const auto ball = [](const std::string& r) {
    return robot(link("a", "<collision><geometry><sphere radius=\"" + r + "\"/></geometry></collision>"));
  };
  check_all({
      {"negative mass", mass("-1"), {"f.urdf:2: link \"a\": <mass> value: found \"-1\", expected", "at least 0"}},
      {"not a number", mass("heavy"), {"<mass> value: found \"heavy\", expected a finite number"}},
      {"nan", mass("nan"), {"found \"nan\""}},
      {"infinite", mass("1e999"), {"found \"1e999\""}},
      {"comma for a point", mass("1,5"), {"found \"1,5\""}},
      {"trailing text", mass("1kg"), {"found \"1kg\""}},
      {"no mass", robot(link("a", "<inertial/>")), {"link \"a\": <inertial>: missing <mass>"}},
      {"infinite limit", two("revolute", "<limit lower=\"-inf\" upper=\"inf\"/>"), {"<limit> lower: found \"-inf\""}},
      {"limits crossed", two("revolute", "<limit lower=\"1\" upper=\"-1\"/>"), {"found 1 above upper, -1"}},
      {"negative effort", two("revolute", "<limit lower=\"0\" upper=\"1\" effort=\"-3\"/>"), {"effort: found \"-3\""}},
      {"zero axis",
       two("revolute", "<axis xyz=\"0 0 0\"/>" + kLimit),
       {"f.urdf:4: joint \"j\": <axis> xyz", "not zero"}},
      {"two numbers", two("revolute", "<axis xyz=\"0 1\"/>"), {"found \"0 1\", expected 3 finite numbers"}},
      {"four numbers", two("revolute", "<axis xyz=\"0 1 0 0\"/>"), {"expected 3 finite numbers"}},
      {"negative damping", two("revolute", kLimit + "<dynamics damping=\"-1\"/>"), {"<dynamics> damping"}},
      {"negative radius", ball("-1"), {"<sphere> radius: found \"-1\""}},
      {"second origin", two("fixed", "<origin/><origin/>"), {"<origin>: found a second one"}},
      {"no shape", robot(link("a", "<collision><geometry/></collision>")), {"<geometry>: found no shape"}},
      {"no geometry", robot(link("a", "<collision/>")), {"<collision>: missing <geometry>"}},
      {"scale of zero",
       robot(link("a", "<collision><geometry><mesh filename=\"a.stl\" scale=\"1 0 1\"/></geometry></collision>")),
       {"<mesh> scale: found 0"}},
  });
  CHECK(complaint(mass("+1.5")) == "accepted");
  CHECK(complaint(mass(" 1. ")) == "accepted");
}

TEST_CASE("descriptions: mimics") {
  const auto three = [](const std::string& j, const std::string& k) {
    return robot(link("a") + link("b") + link("c") + joint("j", "continuous", "a", "b", j) +
                 joint("k", "continuous", "b", "c", k));
  };
  check_all({
      {"unknown", three("", "<mimic joint=\"x\"/>"), {"f.urdf:6: joint \"k\": <mimic>: found joint \"x\""}},
      {"itself", three("", "<mimic joint=\"k\"/>"), {"f.urdf:6: joint \"k\": <mimic>", "follow"}},
      {"each other", three("<mimic joint=\"k\"/>", "<mimic joint=\"j\"/>"), {"<mimic>", "follow"}},
      {"in a fixed joint", two("fixed", "<mimic joint=\"j\"/>"), {"<mimic>", "one coordinate"}},
      {"multiplier", three("", "<mimic joint=\"j\" multiplier=\"nan\"/>"), {"<mimic> multiplier: found \"nan\""}},
  });
}

TEST_CASE("robots: data that is not physical names the link and the repair") {
  const Folder folder;
  const auto moving = [](const std::string& inside) {
    return robot(link("a") + link("b", inside) + joint("j", "revolute", "a", "b", kLimit));
  };
  const auto says = [&](const std::string& urdf, const std::string& more, const std::vector<std::string>& parts) {
    const std::string message = robot_refusal(folder, urdf, more);
    for (const auto& part : parts) CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
  };
  says(moving(""), "", {"s.toml:3: robot[0].urdf: ", "r.urdf:3: link \"b\": found no mass", "\"min_inertia\""});
  says(moving(box("1 1 1")), "", {"link \"b\": found no mass", "\"inertia_from_shapes\""});
  says(moving(box("1 1 1")), "repairs = \"min_inertia\"", {"accepted"});
  says(moving(""), "repairs = \"inertia_from_shapes\"", {"link \"b\": found no mass", "\"min_inertia\""});
  const std::string thin = R"(ixx="1" iyy="1" izz="3")", flat = R"(ixx="1" iyy="1" izz="-1")",
                    none = R"(ixx="0" iyy="0" izz="0")";
  says(moving(inertial(1, "", thin)), "",
       {"link \"b\": <inertial> (line 3): found principal moments 1, 1, 3", "\"triangle_inequality\""});
  says(moving(inertial(1, "", flat)), "", {"link \"b\": <inertial>", "positive definite", "\"min_inertia\""});
  says(moving(inertial(1, "", none)), "", {"link \"b\": found principal moments 0, 0, 0", "\"min_inertia\""});
  says(robot(link("a") + link("b") + joint("j", "prismatic", "a", "b")), "",
       {"r.urdf:4: joint \"j\": found no <limit>", "\"missing_limits\""});
  for (const std::string& urdf :
       {moving(""), moving(inertial(1, "", thin)), moving(inertial(1, "", flat)), moving(inertial(1, "", none)),
        robot(link("a") + link("b") + joint("j", "prismatic", "a", "b"))})
    CHECK(robot_refusal(folder, urdf, "repairs = \"all\"") == "accepted");
}

TEST_CASE("robots: what the scene says of them is checked with its line") {
  const Folder folder;
  const std::string urdf = robot(link("a") + link("b") + link("c") + joint("j", "revolute", "a", "b", kLimit) +
                                 joint("k", "continuous", "b", "c", "<mimic joint=\"j\"/>"));
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"", {"accepted"}},
      {"colour_of_money = 1", {"s.toml:4: robot[0].colour_of_money: unknown key"}},
      {"joint_positions = { x = 1 }", {"s.toml:4: robot[0].joint_positions: x: found this name, expected a joint"}},
      {"joint_positions = { j = 3 }", {"j: found 3, expected a position within its limits, -2 to 2"}},
      {"joint_positions = { k = 1 }", {"k: found a joint that follows \"j\""}},
      {"joint_positions = { j = nan }", {"joint_positions.j: found nan"}},
      {"repairs = [\"glue\"]", {"s.toml:4: robot[0].repairs: found \"glue\", expected \"all\""}},
      {"base = \"flying\"", {"robot[0].base: found \"flying\""}},
      {"self_collision = 3", {"robot[0].self_collision: found 3"}},
      {"no_collision = [[\"a\", \"z\"]]", {"robot[0].no_collision: found \"z\", expected a link"}},
      {"materials = { a = \"cheese\" }", {"robot[0].materials.a: found \"cheese\""}},
      {"materials = { z = \"default\" }", {"robot[0].materials: found \"z\", expected a link"}},
      {"hull_vertices = 3", {"robot[0].hull_vertices: found 3"}},
      {"[[robot.drive]]\njoint = \"x\"", {"s.toml:5: robot[0].drive[0].joint: found \"x\""}},
      {"[[robot.drive]]\njoint = \"k\"", {"follows r/j, expected that joint"}},
      {"[[robot.drive]]\njoint = \"j\"\nkind = \"magic\"", {"drive[0].kind: found \"magic\""}},
      {"[[robot.drive]]\njoint = \"j\"\nkind = \"position\"", {"stiffness_n_m_per_rad: missing"}},
      {"[[robot.drive]]\njoint = \"j\"\nkind = \"torque\"\ntarget_n = 1", {"target_n: unknown key"}},
      {"[[robot.drive]]\njoint = \"j\"\nkind = \"torque\"\n[[robot.drive]]\njoint = \"j\"\nkind = \"torque\"",
       {"drive[1].joint: found \"j\" again, expected one drive a joint"}},
      {"[[robot.sensor]]\nname = \"s\"\nkind = \"smell\"", {"sensor[0].kind: found \"smell\""}},
      {"[[robot.sensor]]\nname = \"s\"\nkind = \"imu\"\nlink = \"z\"", {"sensor[0].link: found \"z\""}},
      {"[[robot.sensor]]\nname = \"s\"\nkind = \"contact\"\nlink = \"a\"", {"without collision shapes"}},
      {"[[robot.sensor]]\nname = \"s\"\nkind = \"force_torque\"\nlink = \"a\"", {"found the root"}},
      {"[[robot.sensor]]\nname = \"s\"\nkind = \"force_torque\"", {"expected one of the two"}},
      {"[[robot.sensor]]\nname = \"s\"\nkind = \"encoder\"\njoint = \"j\"\nnoise_rad = -1", {"noise_rad: found -1"}},
      {"[[robot]]\nurdf = \"r.urdf\"", {"s.toml:4: robot[1].name: found \"r\" again"}},
      {"[[robot]]\nurdf = \"none.urdf\"", {"s.toml:5: robot[1].urdf: ", "none.urdf: no such file"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.first);
    const std::string message = robot_refusal(folder, urdf, c.first);
    for (const auto& part : c.second)
      CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
  }
  CHECK(robot_refusal(folder, urdf, "", "planar = true").find("planar") != std::string::npos);
}

TEST_CASE("robots: a mesh that is not there is named with the link and where it was looked for") {
  const Folder folder;
  const auto with_mesh = [](const std::string& file) {
    return robot(link(
        "a", inertial(1, "", kUnit) + "<collision><geometry><mesh filename=\"" + file + "\"/></geometry></collision>"));
  };
  const auto says = [&](const std::string& file, const std::string& more, const std::string& part) {
    const std::string message = robot_refusal(folder, with_mesh(file), more);
    CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
    CHECK_MESSAGE(message.find("r.urdf:2: link \"a\": <collision> (line 2): <mesh>: ") != std::string::npos, message);
  };
  says("package://p/a.stl", "", "found \"package://p/a.stl\", a mesh that is nowhere");
  says("package://p/a.stl", "", "packages = { \"p\" = \"folder\" }");
  says("package://p/a.stl", "packages = { p = \"q\" }", "but no file");
  says("package://p", "", "expected package://NAME/PATH");
  says("meshes/a.stl", "", "but no file");
  says("http://example.org/a.stl", "", "expected package://NAME/PATH");
  const std::string empty = folder.write("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  says("flat.obj", "", "found points without a usable hull");
  const std::string dae = folder.write("a.dae", "<COLLADA/>");
  says("a.dae", "", "a.dae");
}

}  // namespace
}  // namespace tactus::test
