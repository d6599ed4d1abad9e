#include "server/solver/model_rates.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/check.h"

namespace tactus {

std::uint32_t ticks_per_step(double rate_hz, double step_s) noexcept {
  if (!(rate_hz > 0)) return 1;
  return static_cast<std::uint32_t>(std::max(1.0, std::round(1.0 / (std::max(rate_hz, kLeastRate) * step_s))));
}

std::uint32_t ticks_per_step(const ModelRates& rates, ContactModelKind kind, double step_s) noexcept {
  return ticks_per_step(rates.of(kind), step_s);
}

void require_rate(const std::string& key, double rate_hz, double step_s) {
  const std::string fault = rate_fault(rate_hz, step_s);
  if (!fault.empty()) throw InputError(key + ": " + fault);
}

std::string rate_fault(double rate_hz, double step_s) {
  const bool asks = rate_hz > 0;  // 0: every tick, where that is offered
  if (rate_hz == 0 || (asks && rate_hz >= kLeastRate && rate_hz * step_s <= 1 + 1e-9)) return {};
  std::ostringstream text;
  text << "found " << rate_hz << ", expected " << kLeastRate << " to " << 1 / step_s << ", the scene's ticks a second";
  return text.str();
}

std::string rounding_note(const std::string& key, double rate_hz, double step_s) {
  if (rate_hz <= 0) return {};
  const std::uint32_t ticks = ticks_per_step(rate_hz, step_s);
  const double got = 1.0 / (ticks * step_s);
  if (std::abs(got - rate_hz) <= 1e-6 * rate_hz) return {};
  std::ostringstream text;
  text << key << ": " << rate_hz << " Hz is ";
  if (rate_hz > got && ticks == 1)
    text << "above the tick's rate; a step takes a tick (" << got << " Hz)";
  else
    text << "not a whole number of ticks; a step takes " << ticks << " ticks (" << got << " Hz)";
  return text.str();
}

}  // namespace tactus
