// What is wrong with a scene file is said with file, line, key, what was found and what is expected; nothing is built.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/check.h"
#include "core/scene/scene.h"

namespace {

std::string complaint(const std::string& text, const tactus::SceneOptions& options = {}) {
  try {
    tactus::parse_scene_run(text, "f.toml", options);
  } catch (const tactus::InputError& e) {
    return e.what();
  }
  return "accepted";
}

// A scene whose line 2 to 4 are a good body; more follows in line 5.
std::string with(const std::string& more) {
  return "title = \"t\"\n[[body]]\nname = \"a\"\nmass_kg = 1\n" + more +
         "\n[[body.shape]]\nkind = \"sphere\"\nradius_m = 0.1\n";
}

struct Case {
  const char* what;
  std::string text;
  std::vector<std::string> parts;  // all in the message
};

void check_all(const std::vector<Case>& cases) {
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const std::string message = complaint(c.text);
    for (const auto& part : c.parts)
      CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
  }
}

}  // namespace

TEST_CASE("a key of more parts than any stack bears is refused, one of many is not") {
  const auto key = [](int parts) {
    std::string text = "title = \"a.b = 1\"\n";
    for (int i = 0; i < parts; ++i) text += "a.";
    return text + "a = 1\n";
  };
  CHECK(complaint(key(50'000)).find("f.toml:2: found a key of more than 200 parts") != std::string::npos);
  CHECK(complaint(key(150)).find("200 parts") == std::string::npos);
}

TEST_CASE("the good body of these tests is accepted") {
  CHECK(complaint(with("")) == "accepted");
  CHECK(complaint(with("position_m = [1, 2, 3]\norientation_wxyz = [1, 0, 0, 0]")) == "accepted");
}

TEST_CASE("numbers: type, range, finite, with line and key") {
  check_all({
      {"string for a number",
       with("gravity_scale = \"x\""),
       {"f.toml:5: body[0].gravity_scale: found \"x\", expected a finite number"}},
      {"nan", with("gravity_scale = nan"), {"f.toml:5:", "gravity_scale", "nan", "finite"}},
      {"infinity in an array",
       with("position_m = [0, inf, 0]"),
       {"f.toml:5:", "position_m", "inf", "3 finite numbers"}},
      {"two numbers for three", with("position_m = [0, 1]"), {"f.toml:5:", "an array of 2", "3 finite numbers"}},
      {"zero step", "step_s = 0\n" + with(""), {"f.toml:1: step_s: found 0"}},
      {"a step too short for a clock", "step_s = 1e-10\n", {"from 1e-06 to 1"}},
      {"negative friction",
       with("") + "[[material]]\nname = \"m\"\nstatic_friction = -1\n",
       {"f.toml:11: material[0].static_friction: found -1"}},
      {"restitution over 1",
       with("") + "[[material]]\nname = \"m\"\nrestitution = 1.5\n",
       {"restitution: found 1.5", "from 0 to 1"}},
      {"dynamic over static",
       with("") + "[[material]]\nname = \"m\"\nstatic_friction = 0.2\ndynamic_friction = 0.3\n",
       {"found 0.3", "at most static_friction, 0.2"}},
  });
}

TEST_CASE("links: ranges, kinds, what cannot be at once, with line and key") {
  const auto link = [](const std::string& text) { return with("") + "[[link]]\n" + text; };
  check_all({
      {"share over 1", link("up = { loss = 2 }"), {"f.toml:10: link[0].up.loss: found 2", "from 0 to 1"}},
      {"nan", link("up = { loss = nan }"), {"f.toml:10: link[0].up.loss", "nan"}},
      {"negative delay", link("down = { delay_us = -1 }"), {"f.toml:10: link[0].down.delay_us: found -1", "1000000"}},
      {"broken delay", link("[link.down]\ndelay_us = 1.5"), {"f.toml:11: link[0].down.delay_us: found 1.5"}},
      {"unknown key", link("up = { los = 0.1 }"), {"f.toml:10: link[0].up.los: unknown key", "loss"}},
      {"unknown key of the link", link("dwon = { loss = 0.1 }"), {"f.toml:10: link[0].dwon: unknown key", "down"}},
      {"short burst", link("up = { loss_burst = 0.5 }"), {"link[0].up.loss_burst: found 0.5", "1 to 1000"}},
      {"too much in bursts",
       link("up = { loss = 0.8, loss_burst = 1 }"),
       {"f.toml:10: link[0].up.loss: found 0.8", "at most 0.5"}},
      {"order", link("up = { keep_order = 1 }"), {"link[0].up.keep_order: found 1"}},
      {"name", link("client = \"a b\""), {"f.toml:10: link[0].client: found \"a b\""}},
      {"seed", link("seed = -4"), {"f.toml:10: link[0].seed: found -4"}},
      {"twice", link("client = \"a\"\n[[link]]\nclient = \"a\""), {"f.toml:12: link[1].client: found \"a\"", "once"}},
      {"two for all", link("seed = 1\n[[link]]\nseed = 2"), {"link[1]", "second time"}},
      {"no array", "link = 3\n" + with(""), {"f.toml:1: link: found 3", "[[link]]"}},
      {"a plain table", with("") + "[link]\nseed = 1", {"link: found", "[[link]]"}},
  });
  const auto run = tactus::parse_scene_run(
      link("client = \"c\"\nseed = 9\nup = { delay_us = 3, loss = 0.25 }\ndown = { keep_order = true, jitter_us = 4 }"),
      "f.toml", {});
  REQUIRE(run.links.size() == 1);
  const tactus::SceneLink& got = run.links[0];
  CHECK((got.client == "c" && got.seed == 9 && got.up.delay_us == 3 && got.up.loss == 0.25));
  CHECK((got.down.keep_order && got.down.jitter_us == 4 && got.down.loss == 0 && !got.up.keep_order));
}

TEST_CASE("keys and names") {
  check_all({
      {"unit left out", with("mass = 3"), {"f.toml:5: body[0].mass: unknown key", "perhaps mass_kg"}},
      {"typing error", with("positoin_m = [0,0,0]"), {"f.toml:5:", "perhaps position_m"}},
      {"at the top", "gravty = 3\n" + with(""), {"f.toml:1: gravty: unknown key"}},
      {"name with a space",
       "[[body]]\nname = \"a b\"\n",
       {"f.toml:2: body[0].name: found \"a b\"", "A-Z a-z 0-9 _ . -"}},
      {"empty name", "[[body]]\nname = \"\"\n", {"f.toml:2:"}},
      {"no name", "[[body]]\nmass_kg = 1\n", {"f.toml:1: body[0].name: missing"}},
      {"name of 65", "[[body]]\nname = \"" + std::string(65, 'x') + "\"\n", {"1 to 64"}},
      {"twice",
       with("") + "[[body]]\nname = \"a\"\nmode = \"fixed\"\n",
       {"f.toml:10: body[1].name: found \"a\" again, first in line 3"}},
      {"unknown material", with("material = \"ice\""), {"f.toml:5:", "found \"ice\"", "\"default\""}},
      {"unknown model",
       "model = \"spring\"\n" + with(""),
       {"f.toml:1: model: found \"spring\"", "\"penalty\"", "\"peg\""}},
      {"unknown mode", with("mode = \"floating\""), {"\"kinematic\""}},
      {"unknown shape",
       "[[body]]\nname = \"a\"\n[[body.shape]]\nkind = \"cone\"\n",
       {"f.toml:4: body[0].shape[0].kind: found \"cone\"", "\"half_space\""}},
      {"bad colour", with("colour = \"red\""), {"found \"red\", expected \"#rrggbb\""}},
      {"unknown body", "no_collision = [[\"a\", \"z\"]]\n" + with(""), {"f.toml:1: no_collision: found \"z\""}},
      {"shape that is no array", "[[body]]\nname = \"a\"\nshape = 3\n", {"f.toml:3:", "found 3", "[[body[0].shape]]"}},
      {"not TOML", "a = [1, 2\nb = 3\n", {"f.toml:2", "not TOML"}},
      {"nothing", "", {"f.toml", "no body"}},
  });
}

TEST_CASE("[peg]: words, range and type, with line and key; nothing else is in it") {
  check_all({
      {"form",
       "[peg]\nform = \"exact\"\n" + with(""),
       {"f.toml:2: peg.form: found \"exact\"", "\"repaired\"", "\"printed\"", "\"unilateral\""}},
      {"form, a number", "[peg]\nform = 1\n" + with(""), {"f.toml:2: peg.form: found 1", "\"repaired\""}},
      {"edge_test",
       "[peg]\nedge_test = \"none\"\n" + with(""),
       {"f.toml:2: peg.edge_test: found \"none\"", "\"gauss\"", "\"paper\""}},
      {"angle below 0",
       "[peg]\nangle_rad = -1e-3\n" + with(""),
       {"f.toml:2: peg.angle_rad: found -0.001", "from 0 to 0.5"}},
      {"angle above", "[peg]\nangle_rad = 0.6\n" + with(""), {"f.toml:2: peg.angle_rad: found 0.6", "from 0 to 0.5"}},
      {"angle nan", "[peg]\nangle_rad = nan\n" + with(""), {"f.toml:2: peg.angle_rad:", "nan"}},
      {"angle, a word", "[peg]\nangle_rad = \"small\"\n" + with(""), {"f.toml:2: peg.angle_rad: found \"small\""}},
      {"unknown key", "[peg]\nalpha = 1\n" + with(""), {"f.toml:2: peg.alpha"}},
      {"no table", "peg = 1\n" + with(""), {"f.toml:1: peg: found 1"}},
  });
  tactus::SceneOptions options;
  options.set = {{"peg.form", "exact"}};
  CHECK(complaint(with(""), options).find("\"repaired\"") != std::string::npos);
  options.set = {{"peg.angle_rad", "7"}};
  CHECK(complaint(with(""), options).find("from 0 to 0.5") != std::string::npos);
}

TEST_CASE("friction: directions of the cone and coefficients out of range, with line, key and range") {
  std::vector<Case> cases;
  for (const char* found : {"0", "-4", "2", "3", "33", "34"}) {
    cases.push_back({found,
                     "\nfriction_directions = " + std::string(found) + "\n" + with(""),
                     {"f.toml:2: friction_directions: found " + std::string(found), "expected an", "4 to 32"}});
  }
  for (const char* found : {"5", "31"}) {
    cases.push_back({found,
                     "\nfriction_directions = " + std::string(found) + "\n" + with(""),
                     {"f.toml:2: friction_directions: found " + std::string(found), "an even number from 4 to 32"}});
  }
  for (const char* found : {"nan", "4.5", "\"four\""}) {
    cases.push_back({found,
                     "friction_directions = " + std::string(found) + "\n" + with(""),
                     {"f.toml:1: friction_directions: found", "4 to 32"}});
  }
  for (const std::string key : {"static_friction", "dynamic_friction"}) {
    for (const std::string found : {"-1e-9", "-1", "nan", "inf", "-inf"}) {
      cases.push_back({"friction of a material",
                       with("") + "[[material]]\nname = \"m\"\n" + key + " = " + found + "\n",
                       {"f.toml:11: material[0]." + key + ": found " + (found == "-1e-9" ? "-1e-09" : found)}});
    }
  }
  check_all(cases);
  for (const char* fine : {"4", "8", "32"})
    CHECK(complaint("friction_directions = " + std::string(fine) + "\n" + with("")) == "accepted");
}

TEST_CASE("bodies that cannot be") {
  const std::string box = "[[body.shape]]\nkind = \"box\"\nsize_m = [1, 1, 1]\n";
  check_all({
      {"no mass", "[[body]]\nname = \"a\"\n" + box, {"f.toml:1: body[0].mass_kg: missing", "density_kg_per_m3"}},
      {"zero mass",
       "[[body]]\nname = \"a\"\nmass_kg = 0\n" + box,
       {"f.toml:3: body[0].mass_kg: found 0", "greater than 0"}},
      {"mass and density", "[[body]]\nname = \"a\"\nmass_kg = 1\ndensity_kg_per_m3 = 1\n" + box, {"one of the two"}},
      {"inertia against the triangle inequality",
       "[[body]]\nname = \"a\"\nmass_kg = 1\ninertia_kg_m2 = [1, 1, 3]\n" + box,
       {"f.toml:4:", "no real body"}},
      {"negative inertia",
       "[[body]]\nname = \"a\"\nmass_kg = 1\ninertia_kg_m2 = [1, -1, 1]\n" + box,
       {"f.toml:4:", "inertia_kg_m2"}},
      {"inertia of 4 numbers",
       "[[body]]\nname = \"a\"\nmass_kg = 1\ninertia_kg_m2 = [1, 1, 1, 0]\n" + box,
       {"found 4 numbers"}},
      {"inertia without mass", "[[body]]\nname = \"a\"\ninertia_kg_m2 = [1, 1, 1]\n" + box, {"mass_kg: missing"}},
      {"a free half-space",
       "[[body]]\nname = \"a\"\nmass_kg = 1\n[[body.shape]]\nkind = \"half_space\"\n",
       {"half-space has no mass"}},
      {"free without shape", "[[body]]\nname = \"a\"\nmass_kg = 1\n", {"at least one [[body.shape]]"}},
      {"negative radius",
       "[[body]]\nname = \"a\"\nmass_kg = 1\n[[body.shape]]\nkind = \"sphere\"\nradius_m = -1\n",
       {"f.toml:6: body[0].shape[0].radius_m: found -1"}},
      {"flat box",
       "[[body]]\nname = \"a\"\nmass_kg = 1\n[[body.shape]]\nkind = \"box\"\nsize_m = [1, 1, 0]\n",
       {"size_m: found 0"}},
      {"flat hull",
       "[[body]]\nname = \"a\"\nmass_kg = 1\n[[body.shape]]\nkind = \"convex\"\npoints_m = "
       "[[0,0,0],[1,0,0],[0,1,0],[1,1,0]]\n",
       {"usable hull"}},
      {"quaternion of length 2", with("orientation_wxyz = [2, 0, 0, 0]"), {"f.toml:5:", "length 2", "length 1"}},
      {"zero quaternion", with("orientation_wxyz = [0, 0, 0, 0]"), {"length 0"}},
      {"two orientations",
       with("orientation_wxyz = [1, 0, 0, 0]\nroll_pitch_yaw_rad = [0,0,0]"),
       {"f.toml:6:", "one of the two"}},
      {"a fixed body that moves",
       with("mode = \"fixed\"\nlinear_velocity_m_per_s = [1, 0, 0]"),
       {"f.toml:6:", "kinematic"}},
      {"motion of a free body", with("motion = {frequency_hz = 1}"), {"f.toml:5:", "kinematic"}},
      {"continuous, but fixed", with("mode = \"fixed\"\ncontinuous = true"), {"f.toml:6:", "mode = \"free\""}},
      {"gravity out of the plane",
       "planar = true\ngravity_m_per_s2 = [0, 0, -9.81]\n" + with(""),
       {"f.toml:2:", "planar"}},
  });
}

TEST_CASE("bodies of smooth shapes may be continuous") {
  CHECK(complaint("[[body]]\nname = \"a\"\nmass_kg = 1\ncontinuous = true\n[[body.shape]]\nkind = \"ellipsoid\"\n"
                  "radii_m = [1, 1, 2]\n") == "accepted");
}

TEST_CASE("limits, parameters and overrides") {
  tactus::SceneOptions few;
  few.limits.bodies = 3;
  const std::string stack =
      "[parameters]\nn = 4\n[[generate]]\nkind = \"stack\"\ncount = \"$n\"\nsize_m = [1,1,1]\nmass_kg = 1\n";
  CHECK(complaint(stack) == "accepted");
  CHECK(complaint(stack, few).find("f.toml:5: generate[0].count: found 4 (\"$n\"), expected an integer from 1 to 3") !=
        std::string::npos);
  few.limits = {};
  few.limits.shapes = 3;
  CHECK(complaint(stack, few).find("more than 3 shapes") != std::string::npos);

  tactus::SceneOptions set;
  set.set = {{"m", "3"}};
  CHECK(complaint(stack, set).find("--set: m: unknown parameter; expected one of n, step_s") != std::string::npos);
  for (const char* name : {"coherence", "lcp_stepper", "detection_distance_m", "peg.form", "peg.angle_rad"})
    CHECK(complaint(stack, set).find(name) != std::string::npos);
  set.set = {{"n", "three"}};
  CHECK(complaint(stack, set).find("--set: n: found \"three\", expected a number") != std::string::npos);
  set.set = {{"n", "2.5"}};
  CHECK(complaint(stack, set).find("found 2.5 (\"$n\"), expected an integer") != std::string::npos);
  set.set = {{"step_s", "-1"}};
  CHECK(complaint(stack, set).find("f.toml --set: step_s: found -1") != std::string::npos);
  CHECK(complaint("[[generate]]\nkind = \"stack\"\nmass_kg = 1\ncount = \"$k\"\n").find("(there is none)") !=
        std::string::npos);
  CHECK_THROWS_AS(tactus::load_scene("/nonexistent/scene.toml", {}), tactus::InputError);
  CHECK_THROWS_AS(tactus::load_scene("/", {}), tactus::InputError);
}
