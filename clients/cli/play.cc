// `tactus play`: where the playback of a server stands, and what moves it.
#include <cstdio>
#include <cstdlib>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"

namespace tactus::cli {
namespace {

v1::Playback ask(client::Client& client, v1::Request request) {
  return client.request(std::move(request)).playback();
}

v1::Playback ask(client::Client& client) {
  v1::Request request;
  request.mutable_set_playback();
  return ask(client, std::move(request));
}

// From the begin; +S and -S count from where it is.
double position_of(const std::string& text, const v1::Playback& now) {
  const double seconds = std::strtod(text.c_str(), nullptr);
  return text[0] == '+' || text[0] == '-' ? now.position_s() + seconds : seconds;
}

void print(const v1::Playback& p) {
  std::printf("%s: %.3f of %.3f s, speed %g, %s\n", p.file().c_str(), p.position_s(), p.duration_s(), p.speed(),
              p.paused()  ? "paused"
              : p.ended() ? "ended"
                          : "playing");
  if (!p.damage().empty()) std::printf("damaged behind its end: %s\n", p.damage().c_str());
}

void print_json(const v1::Playback& p) {
  Json json;
  json.open('{').field("file", p.file()).field("position_s", p.position_s()).field("duration_s", p.duration_s());
  json.field("speed", p.speed()).field("paused", p.paused()).field("ended", p.ended());
  json.field("recorded_by", p.recorded_by()).field("state_step_s", p.state_step_s());
  json.field("damage", p.damage()).close('}');
  std::printf("%s\n", json.text().c_str());
}

}  // namespace

int run_play(const Common& common, const PlayOptions& options) {
  client::Client client(client_options(common, "play"));
  v1::Playback playback = ask(client);
  const bool changes = !options.seek.empty() || options.speed > 0;
  if (changes || options.pause || options.resume) claim_world(client, options.take_over);
  if (options.pause) client.pause(true);
  if (changes) {
    v1::Request request;
    request.mutable_set_playback()->set_speed(options.speed);
    if (!options.seek.empty()) request.mutable_set_playback()->set_position_s(position_of(options.seek, playback));
    playback = ask(client, std::move(request));
  }
  if (options.resume) client.resume();
  if (options.pause || options.resume) playback = ask(client);
  common.json ? print_json(playback) : print(playback);
  return 0;
}

}  // namespace tactus::cli
