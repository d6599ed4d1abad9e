// Snapshots that somebody has written over, restored into every model and stepped: whatever they hold, the world lives,
// and all of it stays finite.
//
// Input: scene, model (bit 7: the exact stepper, of lcp), then changes of four bytes: which number of the state (two
// bytes), how, and with what. So every input is a snapshot that decodes and fits.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "tests/fuzz/count.h"

namespace {

using namespace tactus;

constexpr std::uint64_t kSteps = 8;
constexpr std::size_t kChanges = 12, kModels = static_cast<std::size_t>(ContactModelKind::peg) + 1;
constexpr std::array<const char*, 5> kScenes{"config/scenes/block_pushed.toml", "config/scenes/egg.toml",
                                             "config/scenes/sphere_off_sphere.toml", "config/scenes/planar_arm.toml",
                                             "config/scenes/stack.toml"};  // tests/fuzz/run stands in the repository
constexpr double kHuge = std::numeric_limits<double>::max(), kNone = std::numeric_limits<double>::denorm_min();
constexpr std::array<double, 24> kValues{0,     1,     -1,     1e-3,  -1e-3, 1e3,   -1e3,  1e6,
                                         -1e6,  1e9,   1e12,   -1e12, 1e30,  1e77,  1e99,  1e154,
                                         1e160, 1e300, -1e300, kHuge, 1e-12, 1e-99, kNone, -0.0};

void require(bool holds) {
  if (!holds) std::abort();
}

struct Subject {
  std::unique_ptr<World> world;
  State first;
};

Subject make(const char* path) {
  Limits limits;
  limits.bodies = 64;
  limits.shapes = 128;
  limits.pairs = 512;
  SceneOptions options;
  options.limits = limits;
  Subject out;
  out.world = std::make_unique<World>(load_scene(path, options), limits);
  for (std::size_t kind = 0; kind < kModels; ++kind)
    if (World::has_model(static_cast<ContactModelKind>(kind)))
      require(out.world->prepare_model(static_cast<ContactModelKind>(kind)));
  for (int i = 0; i < 50; ++i) out.world->step();
  out.world->snapshot(out.first);
  return out;
}

double changed(double x, std::uint8_t how, std::uint8_t with) {
  const double scale = std::pow(10.0, (static_cast<int>(with) - 128) / 8.0);
  switch (how % 4) {
    case 0:
      return kValues[with % kValues.size()];
    case 1:
      return x * scale;
    case 2:
      return x + scale * ((how & 4) != 0 ? -1 : 1);
    default:
      return with % 4 == 0   ? std::numeric_limits<double>::quiet_NaN()
             : with % 4 == 1 ? std::numeric_limits<double>::infinity()
                             : -x;
  }
}

void change(State& state, const std::uint8_t* data) {
  const std::array<std::vector<double>*, 5> parts{&state.q, &state.v, &state.joint_q, &state.joint_v, &state.actuators};
  std::size_t total = 0;
  for (const auto* part : parts) total += part->size();
  std::size_t i = (data[0] | data[1] << 8) % total;
  for (auto* part : parts) {
    if (i < part->size()) {
      (*part)[i] = changed((*part)[i], data[2], data[3]);
      return;
    }
    i -= part->size();
  }
}

void check(const State& state) {
  for (const auto* part : {&state.q, &state.v, &state.joint_q, &state.joint_v})
    for (const double x : *part) require(std::isfinite(x));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::array<Subject, kScenes.size()> subjects;
  static const Parameters usual;
  if (size < 2) return 0;
  const std::size_t scene = data[0] % kScenes.size();
  Subject& subject = subjects[scene];
  if (subject.world == nullptr) subject = make(kScenes[scene]);
  World& world = *subject.world;
  State state = subject.first;
  state.contact_model = static_cast<ContactModelKind>((data[1] & 0x7f) % kModels);
  if (!World::has_model(state.contact_model)) return 0;
  for (std::size_t at = 2, n = 0; at + 4 <= size && n < kChanges; at += 4, ++n) change(state, data + at);
  State came = subject.first;
  const std::vector<std::uint8_t> bytes = world.serialise(state);
  fuzz::count_message();
  if (!world.deserialise(bytes, came)) return 0;  // refused
  Parameters parameters = world.parameters();
  require(World::parse_parameter("lcp_stepper", (data[1] & 0x80) != 0 ? "exact" : "fixed", parameters));
  world.set_parameters(parameters);
  if (!world.restore(came)) return 0;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    world.step();
    check(world.state());
  }
  return 0;
}
