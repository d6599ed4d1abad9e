#include "server/solver/exact_watch.h"

#include <utility>

namespace tactus {

std::string ExactWatch::take(const Counts& now) {
  ++seconds_;
  if (silent_ > 0) --silent_;
  const std::uint64_t unresolved = now.unresolved - told_.unresolved, exhausted = now.exhausted - told_.exhausted;
  if (unresolved + exhausted == 0 || silent_ > 0) return {};
  std::string what;
  if (exhausted > 0)
    what = std::to_string(exhausted) + (exhausted == 1 ? " step" : " steps") +
           " had too many pieces, and the rest of it was a fixed one";
  if (unresolved > 0)
    what += (what.empty() ? "" : "; ") + std::to_string(unresolved) + (unresolved == 1 ? " overlap" : " overlaps") +
            " had no time of its collision, and is worked off as drift";
  std::string text = "lcp_stepper = \"exact\" did not do what was asked: in the last " +
                     std::to_string(std::exchange(seconds_, 0)) + " s " + what +
                     ". A shorter step_s leaves fewer pieces in a step; lcp_stepper = \"fixed\" has none.";
  told_ = now;
  silent_ = kSilent;
  return text;
}

}  // namespace tactus
