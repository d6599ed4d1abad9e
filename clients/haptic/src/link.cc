#include "tactus/haptic/link.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace tactus::haptic {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

void measure_link(Client& client, v1::AttachTool& out) {
  constexpr std::uint64_t kPings = 20;
  const std::uint64_t before = client.clock().samples;
  std::uint64_t seen = before;
  std::int64_t low = 0, high = 0;
  for (std::uint64_t k = 0; k < kPings + 40 && seen < before + kPings; ++k) {  // up to 0.3 s for late ones
    if (k < kPings) client.ping();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const client::Clock clock = client.clock();
    if (clock.samples == seen) continue;
    seen = clock.samples;
    low = low == 0 ? clock.round_trip_last_ns : std::min(low, clock.round_trip_last_ns);
    high = std::max(high, clock.round_trip_last_ns);
  }
  out.set_round_trip_s(1e-9 * static_cast<double>(low));
  out.set_jitter_s(1e-9 * static_cast<double>(high - low));
  out.set_loss(seen >= before + kPings ? 0.0 : 1 - static_cast<double>(seen - before) / static_cast<double>(kPings));
}

Link::Link(Client& client, Device& device, const LinkOptions& options)
    : client_(client),
      device_(device),
      options_(options),
      deadline_(static_cast<std::int64_t>(1e9 / device.capabilities().rate_hz)) {
  if (const std::string problem = device_.open(); !problem.empty()) throw std::runtime_error(problem);
  const Capabilities c = device_.capabilities();
  if (const std::string fault = fault_in(c); !fault.empty()) throw std::runtime_error(fault);
  client_.claim({"tool/" + options.tool});
  v1::AttachTool request;
  request.set_tool(options.tool);
  fill(c, *request.mutable_device());
  request.set_mode(options.mode ? static_cast<v1::ToolMode>(*options.mode) : v1::TOOL_AUTO);
  if (!options.mode || options.passivity) measure_link(client_, request);
  request.set_passivity(options.passivity);
  request.set_position_scale(options.position_scale);
  request.set_stiffness_n_per_m(options.stiffness);
  request.set_watchdog_s(options.watchdog_s);
  request.set_reach_m(options.reach);
  request.set_deadband(options.deadband);
  attached_ = client_.attach_tool(request);
  epoch_ = client_.epoch();
  const LoopOptions loop = loop_options(c, attached_, options_);
  if (c.admittance) {
    auto admittance = std::make_unique<AdmittanceLoop>(loop, choose_admittance(c, options_.mass));
    admittance_ = admittance.get();
    loop_ = std::move(admittance);
  } else {
    loop_ = std::make_unique<Loop>(loop);
  }
  if (attached_.deadband() > 0) {
    wire::DeadbandOptions band;
    band.share = attached_.deadband();
    band.heartbeat = static_cast<std::uint32_t>(std::max(1.0, attached_.heartbeat_s() * c.rate_hz));
    band_.emplace(band, 1 / c.rate_hz);
  }
  client_.on_tool([this](const v1::ToolPacket& packet, std::int64_t) {
    if (packet.subscription() != 0 || packet.tool() != attached_.tool()) return;
    ToolMessage message;
    if (!read(packet, message)) return;
    const std::lock_guard lock(m_);
    if (arrived_.size() < 256) arrived_.push_back(std::move(message));
    tool_seen_ = packet.band_seen();
    tool_sent_ = packet.band_sent();
    tool_error_ = packet.band_error();
  });
  if (options_.engage) wish_ = 1;
  thread_ = std::thread([this] { run(); });
}

// Ramps down, then lets go of everything.
Link::~Link() {
  let_go();
  const auto patience = Clock::now() + std::chrono::milliseconds(200);
  while (Clock::now() < patience && (status().device_bits & (kEngaged | kRampOut)) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  stop_ = true;
  thread_.join();
  device_.close();
  client_.on_tool(nullptr);
  try {
    client_.detach_tool(attached_.tool());
  } catch (const client::Error&) {  // the link is gone, and with it the lease
  }
}

void Link::engage() {
  const std::lock_guard lock(m_);
  wish_ = 1;
}

void Link::let_go() {
  const std::lock_guard lock(m_);
  wish_ = -1;
}

LinkStatus Link::status() const {
  const std::lock_guard lock(m_);
  return status_;
}

void Link::set_after_cycle(std::function<void(int)> call) {
  const std::lock_guard lock(m_);
  after_cycle_ = std::move(call);
}

void Link::run() {
  const auto period = static_cast<std::int64_t>(1e9 / device_.capabilities().rate_hz);
  std::int64_t due = now() + period, last = due;
  while (!stop_) {
    std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(due)));
    const std::int64_t start = now();
    const auto cycles = static_cast<int>(std::max<std::int64_t>(1, (start - last + period / 2) / period));
    last = start;
    cycle(cycles);
    due = deadline_.next(due, start, now());
  }
}

// A device that has nothing new is where it was; for longer than the watchdog's time it is lost.
Reading Link::read_device(int cycles) {
  Reading fresh;
  const Status status = device_.read(fresh);
  silent_cycles_ = status == Status::ok ? 0 : silent_cycles_ + cycles;
  if (status == Status::ok) reading_ = fresh;
  const LoopOptions& o = loop_->options();
  if (status == Status::lost) loop_->fail("the device does not answer any more");
  if (o.period * silent_cycles_ > std::max(o.watchdog_s, 3 * o.period)) loop_->fail("the device has no new readings");
  return reading_;
}

// Impedance devices get a force for their pose, admittance devices a motion for the hand's force.
void Link::move_device(int cycles) {
  const Reading reading = read_device(cycles);
  if (admittance_ == nullptr) {
    device_.write(loop_->step(reading, cycles));
    return;
  }
  const AdmittanceLoop::Command motion = admittance_->move(reading, cycles);
  device_.write_pose(motion.X_DH, motion.V_DH);
}

void Link::cycle(int cycles) {
  std::vector<ToolMessage> arrived;
  int wish = 0;
  std::function<void(int)> after;
  {
    const std::lock_guard lock(m_);
    arrived.swap(arrived_);
    std::swap(wish, wish_);
    after = after_cycle_;
  }
  if (wish > 0) loop_->engage();
  if (wish < 0) loop_->let_go();
  for (const ToolMessage& message : arrived) loop_->receive(message);
  move_device(cycles);
  thread_local v1::DevicePacket packet;
  fill(loop_->message(), epoch_, attached_.tool(), packet);
  const bool due = !band_ || band_->take(loop_->message());
  if (band_) {
    packet.set_band_seen(band_->count().seen);
    packet.set_band_sent(band_->count().sent);
    packet.set_band_error(band_->count().error_max);
  }
  const bool sent = !due || client_.send_device(packet);
  const std::lock_guard lock(m_);
  status_.device_bits = loop_->bits();
  status_.tool_bits = loop_->tool().bits;
  status_.reason = loop_->reason();
  status_.X_WT = loop_->tool().X_WT;
  status_.X_WR = loop_->message().X_WR;
  status_.force = loop_->message().F_H;
  status_.tool_force = loop_->tool().F_T;
  status_.given = loop_->ledger().given();
  status_.taken = loop_->ledger().taken();
  status_.round_trip_s = loop_->round_trip();
  status_.cycles = deadline_.cycles();
  status_.missed = deadline_.missed();
  status_.tools += arrived.size();
  status_.send_failures += sent ? 0 : 1;
  status_.late_us_p50 = deadline_.late_us(0.5);
  status_.late_us_max = deadline_.late_us_max();
  status_.stiffness = loop_->options().gains.stiffness;
  status_.saved_up = band_ ? band_->count().saved() : 0;
  status_.saved_down = tool_seen_ > 0 ? 1 - static_cast<double>(tool_sent_) / static_cast<double>(tool_seen_) : 0;
  status_.band_error = std::max(tool_error_, band_ ? band_->count().error_max : 0);
  if (after) after(cycles);
}

}  // namespace tactus::haptic
