#include "tests/paper/tune/tune.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/world.h"

namespace tactus::tune {

namespace {

void set_gains(Parameters& parameters, const PidGains& gains) {
  Gains& g = parameters.gains;
  g.law = GainLaw::explicit_gains;
  g.kp = gains.kp, g.kv = gains.kv, g.ki = gains.ki;
}

// The same in the scene's own step, integrator and model, under other gains.
struct Trial {
  std::vector<Push> pushes;
  std::unique_ptr<World> world;

  Trial(const MakeScene& make, const PidGains& gains) {
    SceneRun scene = make();
    set_gains(scene.model->parameters, gains);
    pushes = std::move(scene.pushes);
    world = std::make_unique<World>(std::move(scene.model), Limits());
  }
  StepReport step() {
    const State& state = world->state();
    for (const Push& push : pushes) {
      if (push.start <= state.tick && state.tick < push.end)
        world->apply(push.body, push_force(world->model(), state, push));
    }
    return world->step();
  }
};

double free_mass(const Model& model) {
  double mass = 0;
  for (const Body& body : model.bodies) mass += body.mode == BodyMode::free ? body.mass : 0;
  return mass;
}

// Mean height of the free bodies against gravity, by mass [m].
double height(const World& world) {
  const Vec3 up = -world.parameters().gravity_W.normalized();
  double sum = 0;
  for (BodyIndex b = 0; b < world.state().body_count(); ++b) {
    const Body& body = world.model().bodies[b];
    if (body.mode == BodyMode::free) sum += body.mass * up.dot(world.state().p_WBcm(b));
  }
  return sum / free_mass(world.model());
}

// How the scene swings with kp alone after a small kick.
struct Swing {
  bool grows = true;  // the kick's energy becomes a hundred times what it was, or a body is lost
  double period = 0;  // of the strongest of all velocity components [s]; 0: none swings
};

// The velocities of all free bodies over time, angular ones by their radius of gyration.
class Velocities {
 public:
  explicit Velocities(const Model& model) : model_(model) {}
  void record(const State& state) {
    for (BodyIndex b = 0; b < state.body_count(); ++b) {
      const Body& body = model_.bodies[b];
      if (body.mode != BodyMode::free) continue;
      const Vec3 v = state.v_WBcm(b), w = state.w_WB(b) * std::sqrt(body.I_BBcm.trace() / 3 / body.mass);
      samples_.insert(samples_.end(), {v.x(), v.y(), v.z(), w.x(), w.y(), w.z()});
    }
    ++ticks_;
  }
  // Of the component that varies most over the last third [ticks].
  [[nodiscard]] double period() const {
    const std::size_t width = samples_.size() / ticks_, first = ticks_ - ticks_ / 3;
    double most = 0, ticks = 0;
    for (std::size_t k = 0; k < width; ++k) {
      double mean = 0, variance = 0;
      for (std::size_t i = first; i < ticks_; ++i) mean += samples_[i * width + k];
      mean /= static_cast<double>(ticks_ - first);
      int crossings = 0;
      for (std::size_t i = first; i < ticks_; ++i) {
        const double x = samples_[i * width + k] - mean;
        variance += x * x;
        if (i > first) crossings += (samples_[(i - 1) * width + k] < mean) != (x < 0) ? 1 : 0;
      }
      if (variance <= most) continue;
      most = variance;
      ticks = crossings > 0 ? 2 * static_cast<double>(ticks_ - first) / crossings : 0;
    }
    return ticks;
  }

 private:
  const Model& model_;
  std::vector<double> samples_;
  std::size_t ticks_ = 0;
};

Swing swing(const MakeScene& make, double kp) {
  // The scene comes to rest under little damping, a hundredth of what one tick could take out of the lightest body:
  // more would lower the stability limit. Then kp is alone; the static depth is the same.
  const SceneRun scene = make();
  const double mass = free_mass(*scene.model);
  double lightest = mass;
  for (const Body& body : scene.model->bodies) {
    if (body.mode == BodyMode::free) lightest = std::min(lightest, body.mass);
  }
  // It starts soft, because near the limit a body that is let go hops for ever.
  const double h = scene.model->step, damping = 0.01 * lightest / h, soft = std::min(kp, 1e-4 * mass / (h * h));
  Trial trial(make, {soft, damping, 0});
  trial.pushes.clear();
  World& world = *trial.world;
  Parameters parameters = world.parameters();
  for (int i = 0; i < 8000; ++i) {
    const double stiffer = std::clamp((i - 2000) / 3000.0, 0.0, 1.0);
    set_gains(parameters, {soft * std::pow(kp / soft, stiffer), damping, 0});
    world.set_parameters(parameters);
    if (trial.step().bodies_frozen > 0) return {};
  }
  set_gains(parameters, {kp, 0, 0});
  world.set_parameters(parameters);
  // Moves the bodies by 1e-4 of the static depth: contact is kept until the swing has grown.
  const double depth = mass * parameters.gravity_W.norm() / kp, speed = 1e-4 * depth * std::sqrt(kp / mass);
  State state = world.state();
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    if (world.model().bodies[b].mode != BodyMode::free) continue;
    const Vec3 up = -parameters.gravity_W.normalized();
    state.set_velocity(b, state.v_WBcm(b) + speed * up, state.w_WB(b) + Vec3::Constant(0.3 * speed));
  }
  world.restore(state);
  const double kick = 0.5 * mass * speed * speed;
  Velocities velocities(world.model());
  for (int i = 0; i < 3000; ++i) {
    if (trial.step().bodies_frozen > 0) return {};
    velocities.record(world.state());
  }
  return {!(kinetic_energy(world.model(), world.state()) < 100 * kick), velocities.period() * world.model().step};
}

}  // namespace

std::string as_toml(const PidGains& gains) {
  char text[160];
  std::snprintf(text, sizeof text, "gains = {kp_n_per_m = %.6g, kv_n_s_per_m = %.6g, ki_n_per_m = %.6g}", gains.kp,
                gains.kv, gains.ki);
  return text;
}

Outcome run(const MakeScene& make, const PidGains& gains, double seconds) {
  Trial trial(make, gains);
  const int ticks = std::max(1, static_cast<int>(std::lround(seconds / trial.world->model().step)));
  const double start = height(*trial.world);
  double highest = start;
  Outcome out;
  for (int i = 0; i < ticks && !out.blown_up; ++i) {
    const StepReport r = trial.step();
    const double energy = kinetic_energy(trial.world->model(), trial.world->state());
    out.depth_mean += r.depth_max / ticks;
    const int tail = std::max(1, ticks / 6);
    if (i >= ticks - tail) out.energy_end += energy / tail;
    // Away through the floor, or thrown: both are no contact any more.
    out.blown_up = r.bodies_frozen > 0 || !std::isfinite(energy) || std::abs(height(*trial.world) - start) > 1;
    highest = std::max(highest, height(*trial.world));
  }
  out.pop = highest - std::max(start, height(*trial.world));
  return out;
}

bool find_ultimate(const MakeScene& make, Ultimate& out, std::string& error) {
  const SceneRun scene = make();
  const double mass = free_mass(*scene.model), h = scene.model->step;
  if (mass <= 0) {
    error = "no free body";
    return false;
  }
  double lo = 1e-4 * mass / (h * h), hi = lo;
  if (swing(make, lo).grows) {
    error = "the bodies do not come to rest on what is below them";
    return false;
  }
  while (!swing(make, hi).grows) {
    lo = hi, hi *= 2;
    if (hi > 1e4 * mass / (h * h)) {
      error = "no proportional gain makes the oscillation grow";
      return false;
    }
  }
  while (hi / lo > 1.005) {
    const double middle = std::sqrt(lo * hi);
    (swing(make, middle).grows ? hi : lo) = middle;
  }
  out.gain = lo;
  out.period = swing(make, lo).period;
  error = out.period > 0 ? "" : "it does not swing";
  return out.period > 0;
}

PidGains ziegler_nichols(const Ultimate& ultimate, double step, double lambda) {
  PidGains gains;
  gains.kp = 0.6 * ultimate.gain;
  gains.kv = gains.kp * ultimate.period / 8;
  // kp / Ti is per second of summed depth; eq. 2 sums once a tick. A sum that forgets adds ki / (1 - lambda) to the
  // static stiffness: more than kp there pops on unloading (a static gain above 2).
  gains.ki = std::min(gains.kp * step / (ultimate.period / 2), gains.kp * (1 - lambda));
  return gains;
}

double minimise(const std::function<double(const Point&)>& f, Point& x, double reach, double tolerance,
                int evaluations) {
  using Corner = std::pair<double, Point>;
  std::array<Corner, 4> simplex;
  for (std::size_t i = 0; i < 4; ++i) {
    Point p = x;
    if (i > 0) p[i - 1] += reach;
    simplex[i] = {f(p), p};
  }
  const auto mix = [](const Point& a, const Point& b, double t) {  // a + t (b - a)
    return Point{a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])};
  };
  for (int used = 4; used < evaluations;) {
    std::sort(simplex.begin(), simplex.end(), [](const Corner& a, const Corner& b) { return a.first < b.first; });
    double size = 0;
    for (std::size_t i = 1; i < 4; ++i) {
      for (std::size_t k = 0; k < 3; ++k) size = std::max(size, std::abs(simplex[i].second[k] - simplex[0].second[k]));
    }
    if (size < tolerance) break;
    Point centre{};
    for (std::size_t k = 0; k < 3; ++k) {
      centre[k] = (simplex[0].second[k] + simplex[1].second[k] + simplex[2].second[k]) / 3;
    }
    const auto at = [&](double t) {
      const Point p = mix(centre, simplex[3].second, t);
      ++used;
      return Corner{f(p), p};
    };
    const Corner reflected = at(-1);
    if (reflected.first < simplex[0].first) {
      const Corner further = at(-2);
      simplex[3] = further.first < reflected.first ? further : reflected;
    } else if (reflected.first < simplex[2].first) {
      simplex[3] = reflected;
    } else {
      const Corner nearer = at(reflected.first < simplex[3].first ? -0.5 : 0.5);
      if (nearer.first < std::min(reflected.first, simplex[3].first)) {
        simplex[3] = nearer;
      } else {
        for (std::size_t i = 1; i < 4; ++i) {
          const Point p = mix(simplex[0].second, simplex[i].second, 0.5);
          simplex[i] = {f(p), p};
          ++used;
        }
      }
    }
  }
  const auto best = std::min_element(simplex.begin(), simplex.end(),
                                     [](const Corner& a, const Corner& b) { return a.first < b.first; });
  x = best->second;
  return best->first;
}

double criterion(const Outcome& outcome, double weight) {
  if (outcome.blown_up) return 1e6;
  return outcome.depth_mean + outcome.pop + weight * outcome.energy_end;
}

PidGains tune_to_criterion(const MakeScene& make, const Criterion& c, const PidGains& start, double& best) {
  const SceneRun scene = make();
  const double seconds = c.seconds > 0 ? c.seconds : scene.duration > 0 ? std::min(scene.duration, 3.0) : 3.0;
  // ki is searched as a fraction of kp, so that it may not outgrow it unseen.
  const auto gains_at = [](const Point& x) {
    const double kp = std::exp(x[0]);
    return PidGains{kp, std::exp(x[1]), kp * std::exp(std::min(x[2], 0.0))};
  };
  Point x{std::log(start.kp), std::log(start.kv), std::log(std::clamp(start.ki / start.kp, 1e-6, 1.0))};
  best = minimise([&](const Point& p) { return criterion(run(make, gains_at(p), seconds), c.weight); }, x, 1.0, 1e-2,
                  c.evaluations);
  return gains_at(x);
}

}  // namespace tactus::tune
