// How often each contact model steps: at the tick's own rate, or slower, beside the tick.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/dynamics/model.h"

namespace tactus {

inline constexpr std::size_t kContactModels = 7;

// By ContactModelKind [Hz]; 0: every tick. Defaults: server/README.md, "Rates that hold".
struct ModelRates {
  std::array<double, kContactModels> hz{0, 0, 100, 100, 100, 100, 100};
  std::array<bool, kContactModels> chosen{};  // set by the config: refused where the tick is slower

  [[nodiscard]] double of(ContactModelKind kind) const noexcept { return hz[static_cast<std::size_t>(kind)]; }
};

// Ticks that one step of a model at rate_hz takes, where the tick is step_s long: rounded to a whole number, at least
// 1. 0 Hz: 1.
std::uint32_t ticks_per_step(double rate_hz, double step_s) noexcept;
// The same for a model of the table.
std::uint32_t ticks_per_step(const ModelRates& rates, ContactModelKind kind, double step_s) noexcept;

// Throws InputError when a chosen rate is above the tick's: key, value, range.
void require_rate(const std::string& key, double rate_hz, double step_s);
// What to tell the user when the rate had to be rounded to whole ticks; empty: it fits.
std::string rounding_note(const std::string& key, double rate_hz, double step_s);

}  // namespace tactus
