// Damaged robot descriptions: whatever the damage, the loader accepts a sound model or throws InputError that names
// the file; it never crashes, hangs or lets a non-finite number through.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "core/scene/random.h"
#include "core/scene/urdf.h"
#include "tests/unit/scene/urdf_samples.h"

namespace tactus::test {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::size_t pick(SceneRandom& random, std::size_t n) {
  return static_cast<std::size_t>(random.next() % n);
}

// A token: a tag, a value between quotes, or what is between two blanks.
std::pair<std::size_t, std::size_t> token(const std::string& text, std::size_t at) {
  const auto end_of = [&](std::size_t from) {
    const std::size_t end = text.find_first_of("\"<> \n", from + 1);
    return end == std::string::npos ? text.size() : end;
  };
  const std::size_t begin = text.find_first_of("\"< ", at);
  return begin == std::string::npos ? std::pair{at, text.size()} : std::pair{begin, end_of(begin)};
}

std::string damaged(std::string text, SceneRandom& random) {
  static const std::string kValues[] = {"\"0",      "\"-1",       "\"1e308",    "\"1e400",   "\"nan",
                                        "\"inf",    "\"",         "\"0 0 0",    "\"fixed",   "\"floating",
                                        "\"planar", "\"${x}",     "\"revolute", "\"-1e-320", "\"1e300 1e300 1e300",
                                        "\"world",  "\"prismatic"};
  for (std::size_t k = 1 + pick(random, 3); k > 0 && !text.empty(); --k) {
    const std::size_t at = pick(random, text.size());
    const auto [begin, end] = token(text, at);
    switch (pick(random, 6)) {
      case 0:  // cut
        text.resize(at);
        break;
      case 1:  // flip
        text[at] = static_cast<char>(random.next());
        break;
      case 2:  // delete
        text.erase(begin, end - begin);
        break;
      case 3: {  // duplicate
        const std::string copy = text.substr(begin, end - begin);
        text.insert(begin, copy);
        break;
      }
      case 4: {  // a line elsewhere
        const std::size_t line = text.find('\n', at);
        if (line == std::string::npos) break;
        const std::string copy = text.substr(line, text.find('\n', line + 1) - line);
        text.insert(pick(random, text.size()), copy);
        break;
      }
      default: {  // another value
        const std::size_t quote = text.find("=\"", at);
        if (quote == std::string::npos) break;
        const std::size_t close = text.find('"', quote + 2);
        if (close == std::string::npos) break;
        text.replace(quote + 1, close - quote - 1, kValues[pick(random, std::size(kValues))]);
      }
    }
  }
  return text;
}

bool sound(const Model& m) {
  for (const Body& b : m.bodies) {
    if (!b.I_BBcm.allFinite() || !b.p_BBcm.allFinite() || !std::isfinite(b.mass)) return false;
    if (b.mode == BodyMode::link && !(b.mass > 0)) return false;
  }
  for (const Pose& X : m.X_WB0)
    if (!X.p.allFinite() || !(std::abs(X.q.norm() - 1) < 1e-9)) return false;
  std::size_t nq = 0;
  for (const Joint& j : m.joints) {
    if (j.child >= m.bodies.size() || !(std::abs(j.axis_F.norm() - 1) < 1e-9) || !j.X_PF.p.allFinite()) return false;
    if (j.mimic == kNone) nq += position_count(j.kind);
    if (j.mimic != kNone && (j.mimic >= m.joints.size() || m.joints[j.mimic].mimic != kNone)) return false;
  }
  for (const double q : m.joint_q0)
    if (!std::isfinite(q)) return false;
  for (const ShapeInstance& s : m.shapes)
    if (!s.X_BcmS.p.allFinite()) return false;
  return nq == m.joint_q0.size() && m.X_WB0.size() == m.bodies.size();
}

void try_all(const std::string& good, const std::string& more, int count, int& accepted, int& refused) {
  const Folder folder;
  SceneRandom random(17, good.size());
  for (int i = 0; i < count; ++i) {
    const std::string text = damaged(good, random);
    try {
      const RobotDescription description = parse_urdf(text, "r.urdf");  // most are refused here, without a file
      const auto model = load_robot(folder, text, more);
      ++accepted;
      CHECK_MESSAGE(sound(*model), text);
    } catch (const InputError& e) {
      ++refused;
      const std::string message = e.what();
      const bool named = message.find("r.urdf:") == 0 || message.find("s.toml:") != std::string::npos;
      CHECK_MESSAGE(named, message);
    }
  }
}

TEST_CASE("damaged robot descriptions are refused by name or are sound") {
  int accepted = 0, refused = 0, files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TACTUS_SOURCE_DIR) + "/config/robots")) {
    if (entry.path().extension() != ".urdf") continue;
    ++files;
    const std::string good = read(entry.path());
    try_all(good, "repairs = \"all\"", 1000, accepted, refused);
    try_all(good, "", 500, accepted, refused);
  }
  CHECK(files >= 3);
  CHECK(accepted > 300);
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace tactus::test
