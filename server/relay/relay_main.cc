// tactus-relay: a UDP relay that delays, loses, doubles and reorders on purpose. See server/README.md.
#include <CLI/CLI.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>
#include <asio/signal_set.hpp>

#include <cstdio>
#include <functional>

#include "server/relay/relay.h"

namespace {

using asio::ip::udp;
using namespace tactus;
using ull = unsigned long long;

struct Problem {
  std::string text;
};

struct Flags {
  std::string listen, to;
  std::vector<std::string> up, down, both;
  std::uint64_t seed = 1;
  double duration_s = 0, every_s = 1;
  std::size_t clients = 64, queue = 4096;
};

// "HOST:PORT" or "PORT"; HOST numerical.
udp::endpoint endpoint_of(const std::string& flag, const std::string& text, bool may_be_any) {
  const std::size_t colon = text.rfind(':');
  const std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  asio::error_code error;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error)
    throw Problem{flag + " " + text + ": expected HOST:PORT with a numerical address, for example 127.0.0.1:17801"};
  int number = -1;
  try {
    std::size_t used = 0;
    number = std::stoi(port, &used);
    if (used != port.size()) number = -1;
  } catch (const std::exception&) {
    number = -1;
  }
  if (number < (may_be_any ? 0 : 1) || number > 65535)
    throw Problem{flag + " " + text + ": found port '" + port + "', expected " + (may_be_any ? "0" : "1") +
                  " to 65535"};
  return {address, static_cast<std::uint16_t>(number)};
}

void read_faults(const std::string& flag, const std::vector<std::string>& texts, LinkFaultSettings& out) {
  for (const std::string& text : texts) {
    if (const std::string problem = parse_link_faults(text, out); !problem.empty())
      throw Problem{flag + ": " + problem};
  }
}

net::RelayOptions options_of(const Flags& flags) {
  net::RelayOptions out;
  const udp::endpoint listen = endpoint_of("--listen", flags.listen, true);
  out.listen = listen.address().to_string();
  out.port = listen.port();
  out.to = endpoint_of("--to", flags.to, false);
  if (listen == out.to)
    throw Problem{"--to " + flags.to + ": is the address of --listen: a relay to itself never ends"};
  if (!listen.address().is_loopback())
    std::fprintf(stderr, "tactus-relay: %s can be reached from other machines, and a relay checks nobody's identity\n",
                 flags.listen.c_str());
  read_faults("--both", flags.both, out.up);
  out.down = out.up;
  read_faults("--up", flags.up, out.up);
  read_faults("--down", flags.down, out.down);
  out.seed = flags.seed;
  out.clients = flags.clients;
  out.queue_datagrams = flags.queue;
  return out;
}

void print_direction(const char* name, const LinkFaultCounters& c, ull received, ull sent, const char* end) {
  std::printf(
      "\"%s\": {\"received\": %llu, \"sent\": %llu, \"lost\": %llu, \"bursts\": %llu, \"duplicated\": %llu, "
      "\"reordered\": %llu, \"queue_full\": %llu, \"delay_us\": {\"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f, "
      "\"mean\": %.1f}, \"sequence_hash\": \"%016llx\"}%s",
      name, received, sent, ull{c.lost}, ull{c.bursts}, ull{c.duplicated}, ull{c.reordered}, ull{c.queue_full},
      1e-3 * static_cast<double>(c.delay_ns.percentile(0.5)), 1e-3 * static_cast<double>(c.delay_ns.percentile(0.99)),
      1e-3 * static_cast<double>(c.delay_ns.max), 1e-3 * c.delay_ns.mean(), ull{c.sequence_hash}, end);
}

void print_json(const net::RelayTotals& t, std::uint64_t seed) {
  std::printf("{\"seed\": %llu, \"clients\": %llu, ", ull{seed}, ull{t.clients});
  print_direction("up", t.up, t.up_received, t.up_sent, ", ");
  print_direction("down", t.down, t.down_received, t.down_sent, ", ");
  std::printf("\"too_long\": %llu, \"send_failed\": %llu}\n", ull{t.too_long}, ull{t.send_failed});
  std::fflush(stdout);
}

void print_line(const net::RelayTotals& t) {
  std::fprintf(stderr,
               "tactus-relay: %llu clients | up %llu in, %llu out, %llu lost | down %llu in, %llu out, %llu lost\n",
               ull{t.clients}, ull{t.up_received}, ull{t.up_sent}, ull{t.up.lost}, ull{t.down_received},
               ull{t.down_sent}, ull{t.down.lost});
}

int serve(const Flags& flags) {
  const net::RelayOptions options = options_of(flags);
  asio::io_context io(1);
  net::Relay relay(io, options);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](asio::error_code, int) { io.stop(); });
  asio::steady_timer end(io), line(io);
  const auto seconds = [](double s) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
  };
  if (flags.duration_s > 0) {
    end.expires_after(seconds(flags.duration_s));
    end.async_wait([&](asio::error_code) { io.stop(); });
  }
  std::function<void()> say = [&] {
    line.expires_after(seconds(flags.every_s));
    line.async_wait([&](asio::error_code error) {
      if (error) return;
      print_line(relay.totals());
      say();
    });
  };
  if (flags.every_s > 0) say();
  relay.start();
  std::printf("tactus-relay: listening %s:%u to %s:%u\n", options.listen.c_str(), relay.port(),
              options.to.address().to_string().c_str(), options.to.port());
  std::fflush(stdout);
  io.run();
  print_json(relay.totals(), options.seed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{
      "tactus-relay: passes UDP datagrams on, and delays, loses, doubles and reorders them on purpose.\n"
      "Faults are KEY=VALUE,...: delay_us, jitter_us, loss, loss_burst, duplicate, reorder, reorder_us, keep_order.\n"
      "Example: tactus-relay --listen 127.0.0.1:9000 --to 127.0.0.1:9001 --both delay_us=2000,jitter_us=300 "
      "--down loss=0.02,loss_burst=4 --seed 7"};
  app.add_option("--listen", flags.listen, "HOST:PORT for the clients; port 0 = any free one")->required();
  app.add_option("--to", flags.to, "HOST:PORT that their datagrams go to")->required();
  app.add_option("--up", flags.up, "Faults towards --to")->take_all();
  app.add_option("--down", flags.down, "Faults back to the clients")->take_all();
  app.add_option("--both", flags.both, "Faults both ways; --up and --down go on top")->take_all();
  app.add_option("--seed", flags.seed, "The same seed, the same faults (default 1); the n-th client has seed + n");
  app.add_option("--duration-s", flags.duration_s, "Stop after this time (default: run until stopped)")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--every-s", flags.every_s, "A line of figures on stderr (default 1; 0 = none)")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("--clients", flags.clients, "Addresses at one time (default 64)")->check(CLI::Range(1, 1024));
  app.add_option("--queue", flags.queue, "Datagrams under way, each direction of each client (default 4096)")
      ->check(CLI::Range(1, 65536));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return serve(flags);
  } catch (const Problem& problem) {
    std::fprintf(stderr, "tactus-relay: %s\n", problem.text.c_str());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactus-relay: --listen %s: %s\n", flags.listen.c_str(), e.what());
    return 1;
  }
}
