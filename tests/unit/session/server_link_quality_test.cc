// Why did my cycle miss? A control loop in simulated time through the real link, session and client arithmetic: what
// was injected is found again, and the named cause is right.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <queue>
#include <vector>

#include "clients/cpp/src/link_math.h"
#include "server/session/session.h"
#include "tests/support/random.h"

using namespace tactus;

namespace {

constexpr std::int64_t kPeriod = 1'000'000;  // [ns]

// A time that is `usual`, spread by +-20 %, and now and then `rare`.
struct Duration {
  double usual_us = 100, rare_us = 0, rare_share = 0;
  std::int64_t draw(test::Random& random) const {
    const double us = random.uniform(0, 1) < rare_share ? rare_us : usual_us;
    return static_cast<std::int64_t>(1000 * us * random.uniform(0.8, 1.2));
  }
};

struct Plan {
  LinkFaultSettings up, down;
  Duration compute, work, wake_late{40};
  std::int64_t clean_ticks = 0;  // before the faults begin
  std::int64_t ticks = 3000;
  std::int64_t client_clock_ns = 0;  // client's clock - server's
  bool refuse = false;
};

// What happened, beside what was reported of it.
struct Outcome {
  LinkFigures server, client;
  LinkFaultCounters up, down;
  std::uint64_t commands_lost = 0, states_lost = 0;
};

class Loop {
 public:
  Loop(const Plan& plan, std::uint64_t seed)
      : plan_(plan), random_(seed), session_(1, 77, "loop", wire::Key{}, false, RateCap(0, 1)) {
    session_.faults = std::make_unique<FaultyLinks>(seed, plan.up, plan.down, 4096);
  }

  Outcome run() {
    schedule(0, Event::tick);
    while (!events_.empty()) {
      const Entry e = events_.top();
      events_.pop();
      now_ = e.at;
      if (e.event == Event::tick && tick_ >= plan_.ticks) break;
      handle(e);
      release();
    }
    Outcome out;
    out.server = session_.watch ? session_.watch->meter().figures() : LinkFigures{};
    out.client = quality_.meter().figures();
    if (session_.faults->up) out.up = session_.faults->up->counters();
    if (session_.faults->down) out.down = session_.faults->down->counters();
    return out;
  }

 private:
  enum class Event { tick, publish, to_client, to_server, computed, due };
  struct Entry {
    std::int64_t at;
    std::uint64_t order;
    Event event;
    std::size_t item;
    bool operator<(const Entry& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Packet {  // either way
    std::uint64_t sequence = 0;
    client::State state;
    std::vector<VerdictRecord> verdicts;
    CommandStamps stamps;
  };

  void schedule(std::int64_t at, Event event, std::size_t item = 0) { events_.push({at, order_++, event, item}); }

  void handle(const Entry& e) {
    switch (e.event) {
      case Event::tick:
        return begin_tick();
      case Event::publish:
        return publish();
      case Event::to_client:
        return receive_state(packets_[e.item]);
      case Event::to_server:
        return receive_command(packets_[e.item]);
      case Event::computed:
        return send_command();
      case Event::due:
        return;
    }
  }

  // Half of the way's own time stands before the fault, half behind: 40 to 60 us in all.
  void travel(FaultyLink* link, std::size_t item, Event arrival) {
    if (link == nullptr || tick_ < plan_.clean_ticks)
      return schedule(now_ + static_cast<std::int64_t>(random_.uniform(40'000, 60'000)), arrival, item);
    std::uint8_t bytes[8];
    std::memcpy(bytes, &item, 8);
    link->submit(bytes, static_cast<std::uint64_t>(now_), 1);
  }
  void release_one(FaultyLink* link, Event arrival) {
    if (link == nullptr) return;
    for (auto d = link->take_due(static_cast<std::uint64_t>(now_)); !d.empty();
         d = link->take_due(static_cast<std::uint64_t>(now_))) {
      std::size_t item = 0;
      std::memcpy(&item, d.data(), 8);
      schedule(now_ + static_cast<std::int64_t>(random_.uniform(40'000, 60'000)), arrival, item);
    }
    next_due_ = std::min(next_due_, link->next_due());
  }
  void release() {
    next_due_ = ~std::uint64_t{0};
    release_one(session_.faults->up.get(), Event::to_server);
    release_one(session_.faults->down.get(), Event::to_client);
    const auto next = static_cast<std::int64_t>(next_due_);
    if (next_due_ == ~std::uint64_t{0} || (due_at_ > now_ && due_at_ <= next)) return;
    due_at_ = next;
    schedule(next, Event::due);
  }

  // --- The server: tick on a grid, no bursts.
  void begin_tick() {
    late_ = plan_.wake_late.draw(random_);
    now_ += late_;
    ++tick_;
    const auto verdict = [this](const Waiting& w, std::uint32_t code) {
      const auto age = static_cast<std::uint32_t>((now_ - w.received) / 1000);
      session_.add_verdict({w.sequence, static_cast<std::uint64_t>(tick_), code, age, 0});
    };
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      verdict(waiting_[i], plan_.refuse ? 12 : i + 1 < waiting_.size() ? 3 : 1);
    waiting_.clear();
    const std::int64_t work = plan_.work.draw(random_);
    schedule(now_ + work, Event::publish);
    last_work_ = work;
  }

  void publish() {
    Packet p;
    p.sequence = session_.next_sequence();
    p.state.tick = static_cast<std::uint64_t>(tick_);
    p.state.sequence = p.sequence;
    p.state.send_ns = now_;
    p.state.ticks_missed = missed_;
    p.state.wake_late_us = 1e-3 * static_cast<double>(late_);
    p.state.work_us = 1e-3 * static_cast<double>(last_work_);
    p.state.echo_client_send_ns = static_cast<std::int64_t>(session_.echo().client_send_ns);
    p.state.echo_server_recv_ns = static_cast<std::int64_t>(session_.echo().server_recv_ns);
    p.state.echo_sequence = session_.echo().sequence;
    p.state.up_lost = static_cast<std::uint32_t>(session_.window.gaps());
    p.verdicts.assign(session_.verdicts().begin(), session_.verdicts().end());
    session_.sent_tick({p.state.tick, static_cast<std::uint64_t>(now_), missed_, 1e-3 * kPeriod, p.state.wake_late_us,
                        p.state.work_us});
    packets_.push_back(std::move(p));
    travel(session_.faults->down.get(), packets_.size() - 1, Event::to_client);
    const std::int64_t next = std::max(grid_ + kPeriod, now_ / kPeriod * kPeriod + (now_ % kPeriod != 0 ? kPeriod : 0));
    missed_ += static_cast<std::uint64_t>((next - grid_) / kPeriod - 1);
    grid_ = next;
    schedule(next, Event::tick);
  }

  void receive_command(const Packet& p) {
    if (!session_.window.accept(p.sequence)) return;
    session_.saw_datagram(p.sequence, p.stamps.client_send_ns, static_cast<std::uint64_t>(now_));
    session_.saw_command(p.stamps, static_cast<std::uint64_t>(now_));
    if (!waiting_.empty() && waiting_.back().sequence > p.sequence) {
      waiting_.insert(waiting_.begin(), {p.sequence, now_});  // overtaken: superseded
    } else {
      waiting_.push_back({p.sequence, now_});
    }
  }

  // --- The client: newest state in, command out.
  [[nodiscard]] std::int64_t client_now() const { return now_ + plan_.client_clock_ns; }

  void receive_state(const Packet& p) {
    if (!window_.accept(p.sequence)) return;
    for (auto v = p.verdicts.rbegin(); v != p.verdicts.rend(); ++v) {
      if (v->sequence <= judged_) continue;  // each once
      judged_ = v->sequence;
      client::Verdict verdict;
      verdict.sequence = v->sequence;
      verdict.code = static_cast<int>(v->code);
      verdict.tick = v->tick;
      verdict.age_us = v->age_us;
      quality_.on_verdict(verdict);
    }
    if (p.sequence < newest_sequence_) return;
    newest_sequence_ = p.sequence;
    newest_ = p.state;
    newest_.receive_ns = client_now();
    quality_.on_state(newest_, 1, {window_.lost(), 0, 0});
    unread_ = true;
    if (!busy_) compute();
  }

  void compute() {
    busy_ = true;
    unread_ = false;
    answering_ = newest_.tick;
    schedule(now_ + plan_.compute.draw(random_), Event::computed);
  }

  void send_command() {
    Packet p;
    p.sequence = ++client_sequence_;
    p.stamps = {answering_,
                static_cast<std::uint64_t>(quality_.receive_ns(answering_)),
                static_cast<std::uint64_t>(client_now()),
                static_cast<std::uint32_t>(quality_.states()),
                static_cast<std::uint32_t>(window_.lost()),
                static_cast<std::uint32_t>(quality_.states_due()),
                20'000,
                p.sequence,
                false};
    quality_.on_sent({p.sequence, answering_, client_now(), 20'000, false});
    packets_.push_back(std::move(p));
    travel(session_.faults->up.get(), packets_.size() - 1, Event::to_server);
    busy_ = false;
    if (unread_) compute();
  }

  struct Waiting {
    std::uint64_t sequence;
    std::int64_t received;
  };
  const Plan plan_;
  test::Random random_;
  Session session_;
  std::priority_queue<Entry> events_;
  std::vector<Packet> packets_;
  std::uint64_t order_ = 0, missed_ = 0, next_due_ = 0;
  std::int64_t now_ = 0, tick_ = 0, grid_ = 0, late_ = 0, last_work_ = 0, due_at_ = 0;
  std::vector<Waiting> waiting_;

  client::Quality quality_;
  client::ReplayWindow window_;
  client::State newest_;
  std::uint64_t newest_sequence_ = 0, judged_ = 0, client_sequence_ = 0, answering_ = 0;
  bool busy_ = false, unread_ = false;
};

// An ordinary day: everything far from the limit.
Plan ordinary(test::Random& random) {
  Plan p;
  p.compute.usual_us = random.uniform(50, 400);
  p.work.usual_us = random.uniform(50, 400);
  p.wake_late.usual_us = random.uniform(10, 80);
  p.up.delay_us = p.down.delay_us = static_cast<std::uint32_t>(random.uniform(0, 2000));
  p.up.jitter_us = p.down.jitter_us = static_cast<std::uint32_t>(random.uniform(0, 40));
  p.up.loss = p.down.loss = random.uniform(0, 0.002);
  p.client_clock_ns = static_cast<std::int64_t>(random.uniform(-1e15, 1e15));
  return p;
}

void make_slow_client(Plan& p, test::Random& random) {
  if (random.uniform(0, 1) < 0.5)
    p.compute.usual_us = random.uniform(1300, 4000);
  else
    p.compute = {p.compute.usual_us, random.uniform(2500, 8000), random.uniform(0.04, 0.2)};
}
void make_lossy(Plan& p, test::Random& random) {
  const double where = random.uniform(0, 1), burst = random.uniform(0, 1) < 0.5 ? 0 : random.uniform(1, 8);
  for (LinkFaultSettings* s : {&p.up, &p.down}) {
    if ((s == &p.up && where > 0.66) || (s == &p.down && where < 0.33)) continue;
    s->loss = random.uniform(0.05, 0.3);
    s->loss_burst = burst;
  }
}
void make_jittery(Plan& p, test::Random& random) {
  const double where = random.uniform(0, 1);
  for (LinkFaultSettings* s : {&p.up, &p.down}) {
    if ((s == &p.up && where > 0.66) || (s == &p.down && where < 0.33)) continue;
    s->jitter_us = static_cast<std::uint32_t>(random.uniform(1500, 12000));
    s->keep_order = random.uniform(0, 1) < 0.5;
  }
}
void make_slow_server(Plan& p, test::Random& random) {
  if (random.uniform(0, 1) < 0.5)
    p.work.usual_us = random.uniform(1300, 3000);
  else
    p.work = {p.work.usual_us, random.uniform(2500, 6000), random.uniform(0.04, 0.2)};
}

constexpr LinkCause kCauses[] = {LinkCause::slow_client, LinkCause::lossy_link, LinkCause::jittery_link,
                                 LinkCause::slow_server};

Plan plan_of(LinkCause cause, test::Random& random) {
  Plan p = ordinary(random);
  if (cause == LinkCause::slow_client) make_slow_client(p, random);
  if (cause == LinkCause::lossy_link) make_lossy(p, random);
  if (cause == LinkCause::jittery_link) make_jittery(p, random);
  if (cause == LinkCause::slow_server) make_slow_server(p, random);
  return p;
}

}  // namespace

TEST_CASE("the named cause is right in at least 95 of 100 runs, on the server and in the client") {
  int right_server = 0, right_client = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    test::Random random(1000 + seed);
    const LinkCause cause = kCauses[seed % 4];
    const Outcome out = Loop(plan_of(cause, random), seed).run();
    right_server += out.server.cause == cause ? 1 : 0;
    right_client += out.client.cause == cause ? 1 : 0;
    if (out.server.cause != cause || out.client.cause != cause)
      MESSAGE("run " << seed << ", " << std::string(to_string(cause)) << ": server: " << out.server.explanation
                     << " client: " << out.client.explanation);
  }
  MESSAGE("right: server " << right_server << ", client " << right_client << " of 100");
  CHECK(right_server >= 95);
  CHECK(right_client >= 95);
}

TEST_CASE("injected delays are found again within 5 %, in each direction, whatever the clocks say") {
  Plan plan;
  plan.up = {2000, 800, 0, 0, 0, 0, 0, true};
  plan.down = {4000, 600, 0, 0, 0, 0, 0, true};
  plan.clean_ticks = 300;  // the shortest way is seen once before
  plan.ticks = 2000;
  for (const std::int64_t clock :
       {std::int64_t{0}, std::int64_t{-7'000'000'000'000}, std::int64_t{123'456'789'012'345}}) {
    plan.client_clock_ns = clock;
    const Outcome out = Loop(plan, 4).run();
    for (const LinkFigures* f : {&out.server, &out.client}) {
      // 40 to 60 us are the way's own, before and behind the fault, once each.
      for (const auto& [found, low, high] : {std::tuple{f->up_us, 2050.0, 2850.0}, {f->down_us, 4050.0, 4650.0}}) {
        CHECK(found.p50 == doctest::Approx(0.5 * (low + high)).epsilon(0.05));
        CHECK(found.mean == doctest::Approx(0.5 * (low + high)).epsilon(0.05));
        CHECK(found.p99 == doctest::Approx(low + 0.99 * (high - low)).epsilon(0.05));
        CHECK(found.min == doctest::Approx(low).epsilon(0.05));
      }
    }
    CHECK(out.up.delay_ns.mean() == doctest::Approx(2.4e6).epsilon(0.02));
  }
}

TEST_CASE("a delay in one direction from the start: the sum is right, the split is a guess and bounded") {
  Plan plan;
  plan.up = {0, 0, 0, 0, 0, 0, 0, true};
  plan.down = {6000, 500, 0, 0, 0, 0, 0, true};
  const Outcome out = Loop(plan, 9).run();
  for (const LinkFigures* f : {&out.server, &out.client}) {
    CHECK(f->round_trip_min_us == doctest::Approx(6000 + 100).epsilon(0.05));
    CHECK(f->up_us.p50 + f->down_us.p50 == doctest::Approx(6000 + 250 + 100).epsilon(0.05));
    CHECK(f->up_us.min == doctest::Approx(0.5 * f->round_trip_min_us).epsilon(0.05));
    CHECK(f->down_us.p99 - f->down_us.min == doctest::Approx(500).epsilon(0.05));  // what is beyond it is right
  }
}

TEST_CASE("injected losses are found again within 5 %") {
  struct Losses {
    double up, down, burst;
  };
  for (const Losses& losses : {Losses{0.2, 0.0, 0.0}, Losses{0.0, 0.2, 4.0}, Losses{0.15, 0.25, 2.0}}) {
    const double up = losses.up, down = losses.down, burst = losses.burst;
    CAPTURE(up);
    CAPTURE(down);
    Plan plan;
    plan.up.loss = up;
    plan.down.loss = down;
    plan.up.loss_burst = plan.down.loss_burst = burst;
    plan.ticks = 1000;  // all of it lies in the window
    const Outcome out = Loop(plan, 21).run();
    const auto injected = [](const LinkFaultCounters& c) {
      return c.datagrams == 0 ? 0 : static_cast<double>(c.lost) / static_cast<double>(c.datagrams);
    };
    for (const LinkFigures* f : {&out.server, &out.client}) {
      CHECK(f->lost_down == doctest::Approx(injected(out.down)).epsilon(0.05));
      CHECK(f->lost_up == doctest::Approx(injected(out.up)).epsilon(0.05));
      CHECK(f->cause == LinkCause::lossy_link);
    }
  }
}

TEST_CASE("refusals, a healthy loop and too few cycles are told apart") {
  test::Random random(3);
  Plan plan = ordinary(random);
  CHECK(Loop(plan, 1).run().server.cause == LinkCause::none);
  plan.refuse = true;
  const Outcome refused = Loop(plan, 1).run();
  CHECK(refused.server.cause == LinkCause::refused);
  CHECK(refused.client.cause == LinkCause::refused);
  CHECK(refused.server.success_rate == 0);
  CHECK(refused.server.lost_in_a_row > 1000);
  plan.ticks = 50;
  CHECK(Loop(plan, 1).run().server.cause == LinkCause::unknown);
}
