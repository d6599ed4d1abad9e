// Offline search for the gains kp, kv, ki of the penalty force (Drumwright III-C): by Ziegler and Nichols' rule, and by
// minimising a criterion.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "core/scene/scene.h"

namespace tactus::tune {

struct PidGains {
  double kp = 0, kv = 0, ki = 0;  // [N/m], [N s/m], [N/m per tick of summed depth]
};
// The line that a scene file takes.
std::string as_toml(const PidGains& gains);

// Makes the scene anew for each trial: its model is used up by the run.
using MakeScene = std::function<SceneRun()>;

// What one run of the scene under these gains shows.
struct Outcome {
  double depth_mean = 0;  // of the deepest overlap [m]
  double pop = 0;         // how far the bodies rose, on average, above both their start and their end [m]
  double energy_end = 0;  // mean kinetic energy of the last sixth [J]
  bool blown_up = false;  // a body was frozen, or something left by more than it is allowed to
};
Outcome run(const MakeScene& make, const PidGains& gains, double seconds);

// Ziegler and Nichols 1942. The scene is let come to rest under damped gains; then, with kp alone, the oscillation
// after a kick grows or does not. The ultimate gain is the largest at which it does not grow; found by doubling and
// bisection to 0.5 %. kp = 0.6 Ku, Ti = Tu / 2, Td = Tu / 8; ki per tick, times (1 - lambda) Tu / h less where the sum
// forgets sooner. Fails (false) when nothing rests, or when no gain makes it grow.
struct Ultimate {
  double gain = 0;    // Ku [N/m]
  double period = 0;  // Tu [s]
};
bool find_ultimate(const MakeScene& make, Ultimate& out, std::string& error);
PidGains ziegler_nichols(const Ultimate& ultimate, double step, double lambda);

// Minimises f over R^3 by Nelder and Mead's simplex, from x with first steps of `reach`; stops after `evaluations`, or
// when the simplex is smaller than `tolerance`. Returns the best value.
using Point = std::array<double, 3>;
double minimise(const std::function<double(const Point&)>& f, Point& x, double reach, double tolerance,
                int evaluations);

// Mean depth + pop + weight * residual energy [m], least over kp, kv and ki (in logarithms), from `start`. A run that
// blows up is worse than any that does not.
struct Criterion {
  double weight = 0.01;  // [m/J]
  double seconds = 0;    // of each run; 0: as long as the scene suggests, at most 3
  int evaluations = 120;
};
double criterion(const Outcome& outcome, double weight);
PidGains tune_to_criterion(const MakeScene& make, const Criterion& c, const PidGains& start, double& best);

}  // namespace tactus::tune
