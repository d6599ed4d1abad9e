#include "server/net/desk/play_desk.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "proto/cpp/ranges.h"

namespace tactus::net {

static_assert(wire::range_of("SetPlayback.speed").low == record::Player::kSpeedLeast &&
              wire::range_of("SetPlayback.speed").high == record::Player::kSpeedMost);

bool PlayDesk::allows(v1::Request::BodyCase request) {
  using Body = v1::Request;
  switch (request) {
    case Body::kListScenes:
    case Body::kDescribeScene:
    case Body::kSubscribe:
    case Body::kUnsubscribe:
    case Body::kAcquireLease:
    case Body::kRenewLease:
    case Body::kReleaseLease:
    case Body::kListLeases:
    case Body::kPause:
    case Body::kResume:
    case Body::kStep:
    case Body::kGetStatistics:
    case Body::kGetMesh:
    case Body::kSetPlayback:
    case Body::kCommand:  // gets a verdict
    case Body::kSetLinkFaults:
    case Body::kGetLinkFaults:
      return true;
    default:
      return false;
  }
}

std::string PlayDesk::why() const {
  return "the server plays the recording " + player_.tape().path() +
         ": nothing in it can be changed or driven; Pause, Resume, Step and SetPlayback move through it";
}

void PlayDesk::serve(const Exchange& x, const v1::SetPlayback& request) {
  const auto answer = [this, &x] {
    v1::Reply reply;
    report(*reply.mutable_playback());
    x.reply(std::move(reply));
  };
  const double speed = request.speed();
  if (!request.has_position_s() && speed == 0) return answer();
  if (!x.needs_world(uses_.leases)) return;
  if (speed != 0 && speed != player_.speed()) {
    player_.set_speed(speed);
    uses_.events.broadcast(v1::Event::PLAYBACK_CHANGED, fmt::format("speed {}", speed));
    // What stands ready is of the old speed. Running on, it is over in no time; in a pause it would be what Step shows.
    if (uses_.status.paused && play_time_ns_ != 0 && seeks_.empty() && !request.has_position_s())
      here_ = player_.seek(play_time_ns_);
  }
  if (!request.has_position_s()) return answer();
  const record::PlayTape& tape = player_.tape();
  const double length_s = 1e-9 * static_cast<double>(tape.end_ns() - tape.begin_ns());
  const double position_s = std::clamp(request.position_s(), 0.0, length_s);
  const auto position = tape.begin_ns() + static_cast<std::uint64_t>(std::llround(1e9 * position_s));
  seeks_.emplace_back(player_.seek(position), x);
}

void PlayDesk::tell_jump(const char* what) {
  uses_.status.newest.tick = tick_;
  uses_.events.broadcast(v1::Event::RESTORED, what);
}

void PlayDesk::published(const StateFrame& frame) {
  if (frame.play_time_ns == 0) return;
  const bool sought = frame.play_generation != generation_, jumped = sought && frame.play_generation != here_;
  const bool reset = !sought && frame.tick < tick_;
  generation_ = frame.play_generation;
  tick_ = frame.tick;
  play_time_ns_ = frame.play_time_ns;
  if (jumped) tell_jump("seek");
  if (reset) tell_jump("recorded");
  if (frame.play_ended && (!ended_ || jumped)) uses_.events.broadcast(v1::Event::PLAYBACK_CHANGED, "ended");
  ended_ = frame.play_ended;
  if (!sought) return;
  // Overtaken seeks, too: what they asked for is over.
  for (const auto& [generation, x] : std::exchange(seeks_, {})) {
    if (generation > generation_) {
      seeks_.emplace_back(generation, x);
      continue;
    }
    v1::Reply reply;
    report(*reply.mutable_playback());
    x.reply(std::move(reply));
  }
}

void PlayDesk::report(v1::Playback& out) const {
  const record::PlayTape& tape = player_.tape();
  const auto seconds = [&tape](std::uint64_t ns) { return 1e-9 * static_cast<double>(ns - tape.begin_ns()); };
  out.set_position_s(play_time_ns_ < tape.begin_ns() ? 0 : seconds(play_time_ns_));
  out.set_duration_s(seconds(tape.end_ns()));
  out.set_speed(player_.speed());
  out.set_paused(uses_.status.paused);
  out.set_ended(ended_);
  out.set_begin_ns(tape.begin_ns());
  out.set_file(tape.path());
  out.set_recorded_by(tape.header().build());
  out.set_state_step_s(tape.header().step_s() * std::max(1u, tape.header().state_every()));
  out.set_damage(player_.damage());
}

}  // namespace tactus::net
