// A scene and its states as a Foxglove viewer draws them: entities that move with the frames of their bodies, frames,
// arrows of contact forces, meshes as STL.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control.pb.h"
#include "foxglove.pb.h"
#include "realtime.pb.h"

namespace tactus::record {

class FoxgloveScene {
 public:
  void set(v1::SceneDescription description);
  [[nodiscard]] const v1::SceneDescription& description() const { return description_; }
  [[nodiscard]] const std::string* name_of(std::uint32_t body) const;
  // Names of bodies that no stream of moving bodies carries.
  [[nodiscard]] std::vector<std::string> still_bodies() const;

  // Where nobody can fetch assets (a file), meshes go along: STL by body and shape.
  void set_meshes(std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> stl) { stl_ = std::move(stl); }

  // Everything drawn before goes; one entity a body.
  void fill(foxglove::SceneUpdate& out, double time_s) const;
  void fill(foxglove::FrameTransforms& out, const v1::StatePacket& state) const;
  // Arrows at the points of contact along the force on body A, replacing those before.
  void fill_contacts(foxglove::SceneUpdate& out, const v1::StatePacket& state) const;
  void fill(foxglove::JointStates& out, const v1::StatePacket& state) const;

  // "package://tactus/EPOCH/BODY/SHAPE.stl", as in the entities.
  struct Asset {
    std::uint32_t body = 0, shape = 0;
  };
  [[nodiscard]] bool find_asset(const std::string& uri, Asset& out) const;

 private:
  void add_model(foxglove::SceneEntity& out, const v1::BodyDescription& body, int shape,
                 const foxglove::Color& colour) const;

  v1::SceneDescription description_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> stl_;
  std::vector<std::string> joint_names_;  // by id
  double metres_per_newton_ = 0.001, arrow_max_m_ = 1;
};

// corners: 9 numbers a triangle [m].
[[nodiscard]] std::vector<std::uint8_t> stl_of(const std::vector<float>& corners);

}  // namespace tactus::record
