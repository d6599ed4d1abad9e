// One [[robot]] of a scene, from its description to bodies and joints in the Model. Links over fixed joints become one
// body; the names of all links stay in Model::frames.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/scene/scene_builder.h"
#include "core/scene/urdf.h"

namespace tactus {

enum class RobotBase : std::uint8_t { automatic, fixed, floating };  // automatic: fixed when the root is called world
enum class SelfCollision : std::uint8_t {
  none,
  adjacent_off,  // but bodies that a joint joins, and bodies that overlap at the initial pose
  all
};

// Data that no real robot has is refused unless the scene asks for the repair by name (config/README.md).
struct Repairs {
  bool inertia_from_shapes = false;  // a moving body without mass: that of its collision shapes at `density`
  bool min_inertia = false;          // a moving body without mass or moments gets the least ones
  bool triangle_inequality = false;  // moments A + B < C of a link: the nearest with A + B = C
  bool missing_limits = false;       // revolute and prismatic joints without limits move freely
  bool mesh = false;                 // collision_meshes = "mesh": repair = true of the mesh
};

struct RobotSpec {
  std::string name, urdf;              // urdf: path
  Pose X_WR;                           // of the root link
  std::optional<double> lowest_point;  // the robot is moved along z until its lowest point is there [m]
  RobotBase base = RobotBase::automatic;
  std::map<std::string, double> joint_positions;
  std::map<std::string, std::string> packages;  // name -> folder
  Repairs repairs;
  double density = 1000;                           // of inertia_from_shapes [kg/m^3]
  double least_mass = 1e-3, least_inertia = 1e-6;  // of min_inertia [kg], [kg m^2]
  bool mesh_shapes = false;                        // collision meshes as they are; otherwise their convex hulls
  std::uint32_t hull_vertices = 256;               // a hull of more is approximated from inside
  Surface surface;                                 // of all links
  bool own_colour = false;                         // surface.colour is the scene's, not the description's
  std::map<std::string, std::uint32_t> materials;  // link -> material
  SelfCollision self_collision = SelfCollision::adjacent_off;
  std::vector<std::pair<std::string, std::string>> no_collision;  // links
  double gravity_scale = 1;
  std::set<std::string> kept_joints;  // fixed joints that are not merged: a force/torque sensor sits there
};

// A link in a body, and the body's shapes of it.
struct RobotLink {
  std::uint32_t link = 0;  // into RobotDescription::links
  Pose X_BL;
  std::vector<ShapeSpec> shapes;  // X_BS: in the body's frame
};

// Links that move as one; the first gives name and frame.
struct RobotBody {
  std::vector<RobotLink> links;
  MassProperties mass;           // in B
  std::uint32_t joint = kNone;   // into RobotDescription::joints; kNone: the root
  std::uint32_t parent = kNone;  // into RobotAssembly::bodies
  Pose X_PF;                     // of the joint in the parent body's frame
  double q0 = 0;                 // initial position of a joint with one coordinate
  Pose X_RB0;                    // initial pose against the root link's frame
};

// Everything about a robot that needs no Model: can be refused as a whole.
struct RobotAssembly {
  std::vector<RobotBody> bodies;  // parents first; 0 has the root
  bool fixed_base = false;
  std::vector<std::string> notes;
};

// Throws InputError that names the URDF's file, line and link. Hulls are handed to the model, to which no index refers
// yet.
RobotAssembly assemble_robot(const RobotDescription& robot, const RobotSpec& spec, SceneBuilder& builder);

// The parts of it. Shapes of one link, in L.
class RobotShapes {
 public:
  RobotShapes(const RobotDescription& robot, const RobotSpec& spec, SceneBuilder& builder)
      : robot_(robot), spec_(spec), builder_(builder) {}
  std::vector<ShapeSpec> read(const UrdfLink& link);
  // What has to be told: packages guessed, surfaces inside out, hulls approximated.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  Shape mesh_shape(const UrdfCollision& collision, ShapeSpec& out);
  const ConvexHull* hull_of(const std::string& path, const UrdfCollision& collision);

  const RobotDescription& robot_;
  const RobotSpec& spec_;
  SceneBuilder& builder_;
  std::map<std::string, const ConvexHull*> hulls_;  // by path and scale
  std::vector<std::string> notes_;
};

// Checks or repairs what a link says.
MassProperties link_inertia(const RobotDescription& robot, const UrdfLink& link, const RobotSpec& spec,
                            std::vector<std::string>& notes);
// Sum over the links of a body; checked or repaired when it moves.
void finish_inertia(const RobotDescription& robot, RobotBody& body, bool moves, const RobotSpec& spec,
                    std::vector<std::string>& notes);

// Bodies of the robot that never collide, by index into RobotAssembly::bodies, a < b; adds notes.
std::vector<std::pair<std::uint32_t, std::uint32_t>> apart_pairs(const RobotDescription& robot, RobotAssembly& assembly,
                                                                 const RobotSpec& spec);

// [[robot]]: reads, builds, adds.
void read_robot(StrictTable& table, SceneBuilder& builder, SceneRandom random);
// Its [[robot.drive]] and [[robot.sensor]].
void read_drive(StrictTable& table, SceneBuilder& builder, std::uint32_t robot);
void read_sensor(StrictTable& table, SceneBuilder& builder, std::uint32_t robot, SceneRandom& random);

// A scene around a URDF file: the robot on a floor, as the text of a scene file (config/README.md).
std::string scene_of_urdf(const std::string& path);

}  // namespace tactus
