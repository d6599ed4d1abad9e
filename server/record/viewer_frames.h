// In a recording, what viewers that know Foxglove's schemas draw without our code: frames, the scene with its meshes,
// contact forces as arrows, joints. Thinned out, because the recording's own states are whole already.
#pragma once

#include <cstdint>
#include <memory>

#include "server/record/record_writer.h"

namespace tactus::record {

class FoxgloveScene;

struct ViewerOptions {
  std::shared_ptr<const FoxgloveScene> scene;  // null: no frames
  std::uint32_t every = 0;                     // ticks from one frame to the next, at least
};

class ViewerFrames {
 public:
  // Adds the channels and the scene to `out`, which outlives this.
  ViewerFrames(RecordWriter& out, const ViewerOptions& options, std::uint64_t begin_ns);
  ~ViewerFrames();
  ViewerFrames(const ViewerFrames&) = delete;
  ViewerFrames& operator=(const ViewerFrames&) = delete;
  // Of those states that are due. time_ns: of the message; stamps are the same.
  void add(const v1::StatePacket& state, std::uint64_t time_ns);

 private:
  struct Messages;  // reused from frame to frame
  RecordWriter& out_;
  const ViewerOptions options_;
  std::uint16_t frames_ = 0, scene_ = 0, contacts_ = 0, joints_ = 0;  // channels
  bool any_ = false;
  std::uint64_t last_tick_ = 0;
  std::unique_ptr<Messages> messages_;
};

}  // namespace tactus::record
