// What several subcommands need: where the server is, signals, percentiles.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include "clients/cli/commands.h"
#include "control.pb.h"
#include "proto/cpp/token_file.h"

namespace tactus::cli {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

extern "C" void on_signal(int signal) {
  if (g_interrupted.exchange(true)) {  // the second one: leave at once; commands die at their deadline
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void watch_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() {
  return g_interrupted.load();
}

void sleep_until_ns(std::int64_t when) {
  constexpr std::int64_t kNap = 50'000'000;  // so that Ctrl-C is noticed
  while (!interrupted()) {
    const std::int64_t stop = std::min(when, client::now_ns() + kNap);
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::nanoseconds(stop))));
    if (stop == when) return;
  }
}

client::Options client_options(const Common& common, const std::string& name, bool reconnect) {
  client::Options options;
  options.name = "tactus-" + name;
  options.reconnect = reconnect;
  options.host = common.host;
  const auto colon = common.host.rfind(':');
  const bool v6 = !common.host.empty() && common.host.front() == '[';
  const auto bracket = common.host.find(']');
  const bool has_port = v6 ? bracket + 1 == colon : colon != std::string::npos && common.host.find(':') == colon;
  if (has_port) {
    const std::string port = common.host.substr(colon + 1);
    unsigned value = 0;
    const auto end = std::from_chars(port.data(), port.data() + port.size(), value);
    if (end.ec != std::errc() || end.ptr != port.data() + port.size() || value == 0 || value > 65535)
      throw FlagError("--host " + common.host + ": the port must be 1 to 65535");
    options.control_port = static_cast<std::uint16_t>(value);
    options.host = common.host.substr(0, colon);
  }
  if (v6) options.host = common.host.substr(1, bracket - 1);
  if (common.token_file.empty()) return options;
  try {
    wire::Token token = wire::read_token_file("--token-file", common.token_file, wire::Reader::client);
    static std::once_flag warned;  // some commands connect more than once
    std::call_once(warned, [&] {
      for (const std::string& warning : token.warnings) std::fprintf(stderr, "tactus: %s\n", warning.c_str());
    });
    options.token = std::move(token.text);
  } catch (const wire::TokenFileError& error) {
    throw FlagError(error.what());
  }
  return options;
}

Spread spread_of(std::vector<double> values) {
  Spread out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const auto at = [&](double quantile) {
    const auto index = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(values.size())));
    return values[std::clamp<std::size_t>(index, 1, values.size()) - 1];
  };
  out.p50 = at(0.5);
  out.p99 = at(0.99);
  out.p999 = at(0.999);
  out.max = values.back();
  return out;
}

std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "; ";
    else
      out += c;
  }
  while (out.ends_with("; ")) out.resize(out.size() - 2);
  return out;
}

std::string exact_words(const v1::ExactStatistics& e) {
  const auto count = [](std::uint64_t n, const char* what) { return std::to_string(n) + what; };
  std::string out = count(e.collisions(), " collisions, ") + count(e.breaks(), " breaks and ") +
                    count(e.stops(), " ends of slip found in time, ") + count(e.evaluations(), " evaluations, ") +
                    count(e.bisections(), " bisections, ") + count(e.pieces(), " pieces");
  if (e.unresolved() > 0) out += "; " + count(e.unresolved(), " collision times NOT FOUND");
  if (e.exhausted() > 0) out += "; " + count(e.exhausted(), " steps CUT SHORT: too many pieces");
  return out;
}

void claim_world(client::Client& client, bool take_over) {
  try {
    client.claim({"world"}, take_over);
  } catch (const client::Error& error) {
    if (error.code() != v1::ERROR_LEASED_BY_OTHER) throw;
    throw client::Error(error.kind(),
                        std::string(error.what()) + " (--take-over takes it, with a token of role control)",
                        error.code());
  }
}

}  // namespace tactus::cli
