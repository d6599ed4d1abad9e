#include "server/record/viewer_frames.h"

#include "server/record/foxglove_scene.h"

namespace tactus::record {

struct ViewerFrames::Messages {
  v1::StatePacket state;
  foxglove::FrameTransforms frames;
  foxglove::SceneUpdate arrows;
  foxglove::JointStates joints;
};

ViewerFrames::~ViewerFrames() = default;

ViewerFrames::ViewerFrames(RecordWriter& out, const ViewerOptions& options, std::uint64_t begin_ns)
    : out_(out), options_(options) {
  if (options_.scene == nullptr) return;
  messages_ = std::make_unique<Messages>();
  frames_ = out_.add_channel("/tf", *foxglove::FrameTransforms::descriptor());
  scene_ = out_.add_channel("/scene", *foxglove::SceneUpdate::descriptor());
  contacts_ = out_.add_channel("/contacts", *foxglove::SceneUpdate::descriptor());
  joints_ = out_.add_channel("/joints", *foxglove::JointStates::descriptor());
  foxglove::SceneUpdate update;
  options_.scene->fill(update, 1e-9 * static_cast<double>(begin_ns));
  out_.add(scene_, update, begin_ns);
}

void ViewerFrames::add(const v1::StatePacket& state, std::uint64_t time_ns) {
  if (options_.scene == nullptr) return;
  const std::uint64_t now = state.tick() / options_.every, before = last_tick_ / options_.every;
  const bool is_due = !any_ || state.tick() < last_tick_ || now != before;
  // The recorder gives contacts to the states of whole periods: those that are due here.
  if (!is_due) return;
  any_ = true;
  last_tick_ = state.tick();
  Messages& m = *messages_;
  m.state = state;
  m.state.set_sim_time_s(1e-9 * static_cast<double>(time_ns));
  m.frames.Clear();
  options_.scene->fill(m.frames, m.state);
  out_.add(frames_, m.frames, time_ns);
  if (state.contact_size() > 0 || state.contacts() == 0) {
    m.arrows.Clear();
    options_.scene->fill_contacts(m.arrows, m.state);
    out_.add(contacts_, m.arrows, time_ns);
  }
  if (state.joint_id_size() == 0) return;
  m.joints.Clear();
  options_.scene->fill(m.joints, m.state);
  out_.add(joints_, m.joints, time_ns);
}

}  // namespace tactus::record
