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

// A slower model would leave bodies without forces for too long, and keeps a command of every joint for each tick [Hz].
inline constexpr double kLeastRate = 1;

// Ticks that one step of a model at rate_hz takes, where the tick is step_s long: rounded to a whole number, at least
// 1. 0 Hz: 1; below kLeastRate: as many as there.
std::uint32_t ticks_per_step(double rate_hz, double step_s) noexcept;
// The same for a model of the table.
std::uint32_t ticks_per_step(const ModelRates& rates, ContactModelKind kind, double step_s) noexcept;

// What is wrong with a rate that was asked for: found, expected; empty: nothing. 0 is the tick's own.
std::string rate_fault(double rate_hz, double step_s);
// Throws InputError when there is something, with the key before it.
void require_rate(const std::string& key, double rate_hz, double step_s);
// What to tell the user when the rate had to be rounded to whole ticks; empty: it fits.
std::string rounding_note(const std::string& key, double rate_hz, double step_s);

}  // namespace tactus
