// One collision as a process in the normal impulse (Keller 1986): slip changes its direction, stops, sticks or starts
// again while the normal impulse p grows. The reference for what a frictional impact gives, and the laws of Poisson and
// Stronge, which need the process and not only its ends.
#pragma once

#include <cstdint>

#include "core/dynamics/model.h"
#include "core/math/spatial.h"

namespace tactus {

// How finely the curved part of the slip is followed. Straight parts, sticking and reversed slip are exact always.
struct SlipAccuracy {
  double turn;      // of the direction of slip in one step [rad]; the error goes with its fourth power
  double straight;  // slip that turns slower than this fraction of its rate is a straight line
  double stop;      // slip below this fraction of the approach velocity is none
  std::uint32_t steps_max;
};
inline constexpr SlipAccuracy kSlipReference{0.02, 1e-12, 1e-13, 20000};
inline constexpr SlipAccuracy kSlipTick{0.4, 1e-4, 1e-6, 256};

enum class SlipEnd : std::uint8_t { never, in_compression, in_restitution };  // when the slip came to its first stop

struct SlipProcess {
  Vec3 j = Vec3::Zero();        // impulse on A [N s]
  double compression = 0;       // normal impulse at the end of compression [N s]
  double compression_work = 0;  // of the normal impulse until then, <= 0 [J]
  double work = 0;              // of the normal impulse in all [J]
  SlipEnd stopped = SlipEnd::never;
  bool reversed = false;    // after the stop slip started again, because friction cannot hold it
  std::uint32_t steps = 0;  // of the numerical integration
};

// dv/dp = K (nhat - mu s / |s|), s the tangential part of v; at s = 0 it sticks if the impulse that holds it lies in
// the cone, else it slips on in the one direction in which friction slows but does not stop it. Compression ends when
// the normal velocity is zero; restitution when it is -e times what it was (newton), when the normal impulse is 1 + e
// times that of compression (poisson), or when the normal work is e^2 of that of compression (stronge). v_rel: A minus
// B, approaching (else nothing happens). K symmetric, positive definite. The cone holds exactly. Nothing is done about
// energy: Newton's law may gain some.
SlipProcess integrate_slip(const Mat3& K, const Vec3& v_rel, const Vec3& nhat_BA_W, double restitution, double mu,
                           RestitutionLaw law, const SlipAccuracy& accuracy) noexcept;

}  // namespace tactus
