#include "server/net/desk/record_desk.h"

#include <spdlog/spdlog.h>

#include <asio/post.hpp>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "proto/cpp/utf8.h"
#include "server/net/control/ids.h"
#include "server/net/scene/drawn_shape.h"
#include "server/record/build_id.h"
#include "server/record/foxglove_scene.h"
#include "server/record/keyframe.h"
#include "server/record/record_codec.h"

namespace tactus::net {
namespace {

constexpr double kKeyframe_s = 1;
constexpr std::uint32_t kTrianglesInFile = 200'000;  // of one shape: 10 MB; larger ones are left out

void say_to(spdlog::logger& log, const record::Saved& saved) {
  if (saved.error.empty()) {
    log.warn("black box: {} records in {} bytes written to {}", saved.records, saved.bytes, saved.path);
  } else {
    log.error("black box: {}", saved.error);
  }
}

void say(const record::Saved& saved) {
  say_to(*spdlog::default_logger_raw(), saved);
}

// The process ends as soon as this returns: the words go to the log's sinks from here, not through its queue.
void say_at_end(const record::Saved& saved) {
  const std::vector<spdlog::sink_ptr>& sinks = spdlog::default_logger_raw()->sinks();
  spdlog::logger direct("tactusd", sinks.begin(), sinks.end());
  say_to(direct, saved);
  direct.flush();
}

void say_recorded(const record::Saved& saved) {
  if (saved.error.empty()) {
    spdlog::info("recorded: {} records in {} bytes, ticks {} to {}, in {}", saved.records, saved.bytes,
                 saved.first_tick, saved.last_tick, saved.path);
  } else {
    spdlog::error("the recording has ended: {}", saved.error);
  }
  if (saved.bytes_overtaken > 0)
    spdlog::warn("the disk was too slow: {} bytes are missing in {}, which says where", saved.bytes_overtaken,
                 saved.path);
}

// For viewers that have a file only, meshes stand in it.
std::shared_ptr<const record::FoxgloveScene> drawing(const SceneView& scene) {
  v1::SceneDescription description;
  describe(scene, description);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> stl;
  const Model& model = scene.model();
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) {
    for (std::uint32_t i = 0; i < model.bodies[b].shape_count; ++i) {
      const Shape& shape = model.shapes[model.bodies[b].first_shape + i].shape;
      const DrawnShape drawn(shape);
      const std::uint32_t triangles = drawn.triangles();
      if (triangles == 0 || triangles > kTrianglesInFile) continue;
      v1::Mesh mesh;
      drawn.add(0, triangles, mesh);
      const std::vector<std::uint8_t> bytes = record::stl_of({mesh.corner_m().begin(), mesh.corner_m().end()});
      stl[{b, i}].assign(bytes.begin(), bytes.end());
    }
  }
  auto out = std::make_shared<record::FoxgloveScene>();
  out->set(std::move(description));
  out->set_meshes(std::move(stl));
  return out;
}

bool jumps(Command::Kind kind) {
  return kind == Command::Kind::reset || kind == Command::Kind::restore || kind == Command::Kind::set_model ||
         kind == Command::Kind::set_parameters;
}

}  // namespace

RecordDesk::RecordDesk(const Uses& uses, record::Recorder* recorder)
    : uses_(uses), recorder_(recorder), timer_(uses.io) {
  if (recorder_ == nullptr) return;
  recorder_->on_fault_saved = say_at_end;
  recorder_->on_recorded = [this](const record::Saved& saved) {
    say_recorded(saved);
    if (saved.error.empty()) return;
    asio::post(uses_.io, [this, text = saved.error] { uses_.events.broadcast(v1::Event::RECORD_FAILED, text); });
  };
}

// The tick has not begun: its first states come after the whole state that they follow from.
void RecordDesk::keep_first() {
  if (recorder_ == nullptr) return;
  keep_here();
  recorder_->take_now();
}

void RecordDesk::start() {
  if (recorder_ == nullptr) return;
  if (keyframe_wanted_) take_keyframe();
  every_second();
}

void RecordDesk::stop() {
  timer_.cancel();
}

void RecordDesk::begin(const SceneSource& source) {
  if (recorder_ == nullptr) return;
  const Model& model = uses_.scene.model();
  v1::RecordHeader header;
  header.set_build(std::string("tactusd ") + build_id());
  header.set_config(uses_.options.config_text);
  header.set_scene(source.text);
  header.set_scene_path(source.path);
  header.set_scene_name(uses_.scene.name);
  header.set_scene_epoch(uses_.scene.epoch);
  header.set_seed(source.seed);
  header.set_step_s(model.step);
  header.set_model(to_string(model.contact_model));
  for (const auto& [key, value] : source.set) {
    v1::Parameter* parameter = header.add_parameters();
    parameter->set_key(key);
    parameter->set_value(value);
  }
  for (const Body& body : model.bodies) header.add_bodies(body.name);
  for (const Joint& joint : model.joints)
    header.add_joints(position_count(joint.kind) == 1 ? joint.name : std::string());
  recorder_->begin(std::move(header), recorder_->options().viewer_hz > 0 ? drawing(uses_.scene) : nullptr);
  keyframe_ticks_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(kKeyframe_s / model.step)));
  keyframe_wanted_ = true;
}

void RecordDesk::done(const Notice& notice, const std::string& text) {
  if (recorder_ == nullptr || notice.client == kNoClient) return;
  v1::Record record;
  v1::WorldOperation* operation = record.mutable_operation();
  operation->set_tick(notice.tick);
  operation->set_what(record::name_of(notice.command));
  operation->set_text(wire::as_utf8(notice.ok ? text : text + " (not done)"));
  operation->set_client(client_name(uses_.sessions, notice.client));
  operation->set_state_hash(notice.hash);
  operation->set_ticket(notice.ticket);
  recorder_->add(std::move(record));
  if (notice.ok && notice.command == Command::Kind::restore && notice.state != nullptr)  // what it went on from
    add_keyframe(*notice.state, nullptr, notice.hash, {uses_.scene.parameters, uses_.scene.joint_options},
                 notice.ticket);
  if (notice.ok && jumps(notice.command)) keyframe_wanted_ = true;
}

void RecordDesk::published(const StateFrame& frame) {
  if (recorder_ == nullptr || frame.epoch != uses_.scene.epoch) return;
  const bool due = frame.tick < keyframe_tick_ || frame.tick >= keyframe_tick_ + keyframe_ticks_;
  if (uses_.tick.lockstep()) {
    if (keyframe_wanted_ || due) keep_here();
    recorder_->take_now();
  } else if (keyframe_wanted_) {
    take_keyframe();
  }
}

// Where the tick does not run: in lockstep, or before it begins.
void RecordDesk::keep_here() {
  const World& world = uses_.tick.world();
  SlowMemory memory;
  SlowTicker::resize_memory(world, slow_ticks_max(), memory);
  const bool fits = uses_.tick.slow().save(world, memory);
  add_keyframe(world.state(), fits ? &memory : nullptr, world.hash(),
               {uses_.scene.parameters, uses_.scene.joint_options}, 0);
}

void RecordDesk::every_second() {
  timer_.expires_after(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(kKeyframe_s)));
  timer_.async_wait([this](asio::error_code error) {
    if (error) return;
    if (!uses_.tick.lockstep() && uses_.status.newest.tick != keyframe_tick_) take_keyframe();
    tell_losses();
    every_second();
  });
}

void RecordDesk::tell_losses() {
  const record::RecorderStatus now = recorder_->status();
  const std::uint64_t states = now.states_lost - told_.states_lost, rows = now.rows_lost - told_.rows_lost,
                      bytes = now.overtaken_bytes - told_.overtaken_bytes;
  if (states + rows + bytes == 0) return;
  told_ = now;
  const std::string text = fmt::format("{} states, {} rows, {} bytes of {}", states, rows, bytes,
                                       now.path.empty() ? "the black box" : now.path);
  spdlog::warn("the recorder or the disk was too slow, and lost {}", text);
  uses_.events.broadcast(v1::Event::RECORD_LOST, text);
}

// In free run by way of the tick, which copies its state.
void RecordDesk::take_keyframe() {
  if (keyframe_under_way_ || uses_.tick.lockstep()) return;
  keyframe_under_way_ = true;
  keyframe_wanted_ = false;
  const auto state = std::make_shared<State>(uses_.scene.blank);
  const auto memory = std::make_shared<SlowMemory>();
  SlowTicker::resize_memory(*uses_.scene.world, slow_ticks_max(), *memory);
  Command command;
  command.kind = Command::Kind::snapshot;
  command.state = state.get();
  command.memory = memory.get();
  uses_.tick.post(command,
                  [this, state, memory, epoch = uses_.scene.epoch,
                   settings = Settings{uses_.scene.parameters, uses_.scene.joint_options}](const Notice& notice) {
                    keyframe_under_way_ = false;
                    if (epoch == uses_.scene.epoch && notice.ok)
                      add_keyframe(*state, memory.get(), notice.hash, settings, notice.ticket);
                  });
}

// The longest step of any model beside the tick.
std::uint32_t RecordDesk::slow_ticks_max() const {
  std::uint32_t out = 1;
  for (std::size_t i = 0; i < kContactModels; ++i)
    out = std::max(
        out, ticks_per_step(uses_.solvers.options.rates, static_cast<ContactModelKind>(i), uses_.scene.model().step));
  return out;
}

void RecordDesk::add_keyframe(const State& state, const SlowMemory* memory, std::uint64_t hash,
                              const Settings& settings, std::uint64_t ticket) {
  v1::Record record;
  v1::Keyframe* keyframe = record.mutable_keyframe();
  record::write_keyframe(*uses_.scene.world, state, settings.parameters, memory, *keyframe);
  keyframe->set_state_hash(hash);
  keyframe->set_ticket(ticket);
  for (const ChannelOptions& options : settings.joint_options)
    record::write_options(options, *keyframe->add_joint_options());
  recorder_->add(std::move(record));
  keyframe_tick_ = state.tick;
  keyframe_wanted_ = false;
}

void RecordDesk::latched(const std::string& reason) {
  if (recorder_ != nullptr && recorder_->options().seconds > 0) recorder_->save_once(reason, say);
}

void RecordDesk::report(v1::Statistics& out) const {
  if (recorder_ == nullptr) return;
  const record::RecorderStatus status = recorder_->status();
  v1::BlackBoxStatistics* box = out.mutable_black_box();
  box->set_kept_s(status.kept_s);
  box->set_bytes(status.bytes);
  box->set_states_lost(status.states_lost);
  box->set_rows_lost(status.rows_lost);
  box->set_state_every(status.state_every);
  box->set_files(status.files);
  box->set_written_bytes(status.written_bytes);
  box->set_bytes_overtaken(status.overtaken_bytes);
  if (status.path.empty()) return;
  v1::RecordingStatistics* recording = out.mutable_recording();
  recording->set_path(status.path);
  recording->set_bytes(status.recorded_bytes);
  recording->set_bytes_overtaken(status.bytes_overtaken);
  recording->set_state_every(status.recorded_state_every);
}

void RecordDesk::serve(const Exchange& x, const v1::Request& request) {
  if (request.has_save_black_box())
    save(x, request.save_black_box());
  else if (request.has_start_recording())
    start_recording(x, request.start_recording());
  else if (request.has_stop_recording())
    stop_recording(x);
}

void RecordDesk::save(const Exchange& x, const v1::SaveBlackBox& request) {
  if (recorder_ == nullptr || recorder_->options().seconds <= 0)
    return x.error(v1::ERROR_WRONG_STATE, "this server keeps no black box: black_box.seconds is 0");
  const std::string reason = request.reason().empty() ? "request" : request.reason();
  if (!is_name(reason))
    return x.error(v1::ERROR_BAD_VALUE, "a reason must match [A-Za-z0-9_.-]{1,64}: it becomes part of a file's name");
  const bool taken = recorder_->save(reason, [&io = uses_.io, x](const record::Saved& saved) {
    asio::post(io, [x, saved] {
      say(saved);
      if (!saved.error.empty()) return x.error(saved.full ? v1::ERROR_FULL : v1::ERROR_NOT_WRITTEN, saved.error);
      v1::Reply reply;
      v1::BlackBoxSaved* out = reply.mutable_black_box();
      out->set_path(saved.path);
      out->set_bytes(saved.bytes);
      out->set_records(saved.records);
      out->set_first_tick(saved.first_tick);
      out->set_last_tick(saved.last_tick);
      x.reply(std::move(reply));
    });
  });
  if (!taken) x.error(v1::ERROR_WRONG_STATE, "the black box is being written just now: ask again");
}

void RecordDesk::start_recording(const Exchange& x, const v1::StartRecording& request) {
  if (recorder_ == nullptr || recorder_->options().record_folder.empty())
    return x.error(v1::ERROR_WRONG_STATE,
                   "clients may have nothing recorded here: record.folder is not set in the config");
  const std::string name = request.name().empty() ? "recording" : request.name();
  if (!is_name(name))
    return x.error(v1::ERROR_BAD_VALUE, "a name must match [A-Za-z0-9_.-]{1,64}: it becomes part of a file's name");
  const double hz = request.state_hz();
  if (recorder_->recording()) return x.error(v1::ERROR_WRONG_STATE, "a recording runs already: stop it first");
  const std::string problem = recorder_->start_recording("", name, hz);
  if (!problem.empty()) return x.error(v1::ERROR_NOT_WRITTEN, problem);
  keyframe_wanted_ = true;
  take_keyframe();
  const record::RecorderStatus status = recorder_->status();
  if (status.path.empty())  // the event RECORD_FAILED says what the system said
    return x.error(v1::ERROR_NOT_WRITTEN, "the recording ended at once: found no room for it in " +
                                              recorder_->options().record_folder +
                                              ", expected a folder that can be written (see the log)");
  spdlog::info("recording to {}, asked for by {}", status.path, x.name());
  v1::Reply reply;
  reply.mutable_recording()->set_path(status.path);
  x.reply(std::move(reply));
}

void RecordDesk::stop_recording(const Exchange& x) {
  const bool stopped =
      recorder_ != nullptr && recorder_->stop_recording([&io = uses_.io, x](const record::Saved& saved) {
        asio::post(io, [x, saved] {
          if (!saved.error.empty()) return x.error(v1::ERROR_NOT_WRITTEN, saved.error);
          v1::Reply reply;
          v1::Recorded* out = reply.mutable_recording();
          out->set_path(saved.path);
          out->set_bytes(saved.bytes);
          out->set_records(saved.records);
          out->set_first_tick(saved.first_tick);
          out->set_last_tick(saved.last_tick);
          out->set_bytes_overtaken(saved.bytes_overtaken);
          x.reply(std::move(reply));
        });
      });
  if (!stopped) x.error(v1::ERROR_WRONG_STATE, "nothing is being recorded");
}

}  // namespace tactus::net
