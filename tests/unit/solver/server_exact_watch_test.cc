// The log's line about an exact stepper that did not do what was asked: when it comes, what it says, how often.
#include <doctest/doctest.h>

#include "server/solver/exact_watch.h"

using namespace tactus;

namespace {

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("server_exact_watch: nothing is said while every step does what was asked; then what came, by its name") {
  ExactWatch watch;
  for (int second = 0; second < 5; ++second) CHECK(watch.take({}).empty());
  const std::string cut = watch.take({0, 3});
  CAPTURE(cut);
  CHECK(has(cut, "in the last 6 s 3 steps had too many pieces"));
  CHECK_FALSE(has(cut, "overlap"));
  ExactWatch other;
  const std::string both = other.take({1, 1});
  CAPTURE(both);
  CHECK(has(both, "in the last 1 s 1 step had too many pieces"));
  CHECK(has(both, "; 1 overlap had no time of its collision"));
}

TEST_CASE("server_exact_watch: one line in ten seconds, and what came in between is in the next") {
  ExactWatch watch;
  ExactWatch::Counts counts;
  int lines = 0;
  for (int second = 0; second < 40; ++second) {
    counts.unresolved += 2;
    const std::string text = watch.take(counts);
    if (text.empty()) continue;
    CHECK(has(text, lines == 0 ? "in the last 1 s 2 overlaps" : "in the last 10 s 20 overlaps"));
    ++lines;
  }
  CHECK(lines == 4);
  for (int second = 0; second < 30; ++second) {
    const std::string text = watch.take(counts);
    lines += text.empty() ? 0 : 1;
  }
  CHECK(lines == 5);  // what came after the fourth, and then nothing
}
