// Net's part of recording, beside the journal: whole states now and then, what the tick has done, and requests to save.
// Without a recorder every function does nothing.
#pragma once

#include <asio/steady_timer.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "control.pb.h"
#include "record.pb.h"
#include "server/net/control/events.h"
#include "server/net/desk/exchange.h"
#include "server/net/options.h"
#include "server/net/scene/scene_library.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/solvers.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/record/recorder.h"
#include "server/session/session.h"

namespace tactus::net {

class RecordDesk {
 public:
  struct Uses {
    asio::io_context& io;
    const NetOptions& options;
    const SceneView& scene;
    const WorldStatus& status;
    const SolverState& solvers;
    SessionTable& sessions;
    TickPort& tick;
    Events& events;
  };
  RecordDesk(const Uses& uses, record::Recorder* recorder);

  void keep_first();  // before the first tick, which waits for it
  void start();       // once the first scene has begun
  void stop();
  // The scene that is shown now.
  void begin(const SceneSource& source);
  // A command of ours that the tick has done. text: what it was about.
  void done(const Notice& notice, const std::string& text);
  // A state was published. In lockstep this thread ticks, and empties the recorder's rings.
  void published(const StateFrame& frame);
  // A fault has latched: a file, unless one was just written.
  void latched(const std::string& reason);
  void report(v1::Statistics& out) const;
  // SaveBlackBox, StartRecording, StopRecording.
  void serve(const Exchange& x, const v1::Request& request);

 private:
  // What of the world is no part of its state.
  struct Settings {
    Parameters parameters;
    std::vector<ChannelOptions> joint_options;
  };

  void save(const Exchange& x, const v1::SaveBlackBox& request);
  // Recordings of all that comes, into the folder of the config.
  void start_recording(const Exchange& x, const v1::StartRecording& request);
  void stop_recording(const Exchange& x);
  void every_second();
  void tell_losses();
  void take_keyframe();
  void keep_here();
  void add_keyframe(const State& state, const SlowMemory* memory, std::uint64_t hash, const Settings& settings,
                    std::uint64_t ticket);
  std::uint32_t slow_ticks_max() const;

  const Uses uses_;
  record::Recorder* recorder_;
  asio::steady_timer timer_;
  std::uint64_t keyframe_tick_ = 0, keyframe_ticks_ = 1000;
  record::RecorderStatus told_;  // what was lost, and said
  bool keyframe_wanted_ = true, keyframe_under_way_ = false;
};

}  // namespace tactus::net
