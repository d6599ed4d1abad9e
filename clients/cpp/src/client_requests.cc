// Requests about the scene and the world: one method, one message.
#include "clients/cpp/src/client_impl.h"

namespace tactus::client {

v1::Reply Client::request(v1::Request message) {
  return impl_->request(std::move(message));
}

namespace {

template <class Fill>
v1::Reply call(Client& client, Fill fill) {
  v1::Request message;
  fill(message);
  return client.request(std::move(message));
}

}  // namespace

v1::SceneList Client::list_scenes() {
  return call(*this, [](auto& m) { m.mutable_list_scenes(); }).scene_list();
}

v1::SceneDescription Client::describe_scene() {
  return call(*this, [](auto& m) { m.mutable_describe_scene(); }).scene();
}

v1::SceneDescription Client::load_scene(const std::string& name,
                                        const std::vector<std::pair<std::string, std::string>>& set,
                                        std::uint64_t seed) {
  return call(*this,
              [&](auto& m) {
                v1::LoadScene& load = *m.mutable_load_scene();
                load.set_name(name);
                load.set_seed(seed);
                for (const auto& [key, value] : set) {
                  v1::Parameter& parameter = *load.add_parameters();
                  parameter.set_key(key);
                  parameter.set_value(value);
                }
              })
      .scene();
}

v1::ToolAttached Client::attach_tool(const v1::AttachTool& request) {
  return call(*this,
              [&](auto& m) {
                *m.mutable_attach_tool() = request;
                m.mutable_attach_tool()->set_scene_epoch(epoch());
              })
      .tool_attached();
}

void Client::detach_tool(std::uint32_t tool) {
  call(*this, [&](auto& m) { m.mutable_detach_tool()->set_tool(tool); });
}

v1::LeaseList Client::list_leases() {
  return call(*this, [](auto& m) { m.mutable_list_leases(); }).leases();
}

void Client::stop() {
  call(*this, [](auto& m) { m.mutable_stop(); });
}

void Client::pause(bool keep) {
  call(*this, [&](auto& m) { m.mutable_pause()->set_keep(keep); });
}

void Client::resume(bool force) {
  call(*this, [&](auto& m) { m.mutable_resume()->set_force(force); });
}

void Client::set_lockstep(bool on, bool keep, bool force) {
  call(*this, [&](auto& m) {
    v1::SetLockstep& set = *m.mutable_set_lockstep();
    set.set_on(on);
    set.set_keep(keep);
    set.set_force(force);
  });
}

v1::SceneDescription Client::reset() {
  const v1::Reply reply = call(*this, [](auto& m) { m.mutable_reset(); });
  impl_->forget_tick();
  return reply.scene();
}

v1::Snapshot Client::snapshot(const std::string& name) {
  return call(*this, [&](auto& m) { m.mutable_take_snapshot()->set_name(name); }).snapshot();
}

void Client::restore(const std::string& name) {
  call(*this, [&](auto& m) { m.mutable_restore_snapshot()->set_name(name); });
  impl_->forget_tick();
}

void Client::restore_bytes(const std::string& state) {
  call(*this, [&](auto& m) { m.mutable_restore_snapshot()->set_state(state); });
  impl_->forget_tick();
}

void Client::set_model(const std::string& name) {
  call(*this, [&](auto& m) { m.mutable_set_model()->set_name(name); });
}

void Client::set_shadow(const std::string& model, double rate_hz) {
  call(*this, [&](auto& m) {
    m.mutable_set_shadow()->set_model(model);
    m.mutable_set_shadow()->set_rate_hz(rate_hz);
  });
}

void Client::set_parameter(const std::string& key, const std::string& value) {
  call(*this, [&](auto& m) {
    m.mutable_set_parameter()->set_key(key);
    m.mutable_set_parameter()->set_value(value);
  });
}

v1::Statistics Client::statistics() {
  return call(*this, [](auto& m) { m.mutable_get_statistics(); }).statistics();
}

v1::LinkFaultsReply Client::set_link_faults(const v1::SetLinkFaults& faults) {
  return call(*this, [&](auto& m) { *m.mutable_set_link_faults() = faults; }).link_faults();
}

v1::LinkFaultsReply Client::link_faults(std::uint32_t session) {
  return call(*this, [&](auto& m) { m.mutable_get_link_faults()->set_session(session); }).link_faults();
}

}  // namespace tactus::client
