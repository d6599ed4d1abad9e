// Model: everything about a scene that does not change while it runs. Built by scene/, constant afterwards; State
// refers to it by index.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/collide/convex/gauss_map.h"
#include "core/dynamics/free_rotation.h"
#include "core/dynamics/robot.h"
#include "core/dynamics/robot_drive.h"
#include "core/dynamics/robot_sensor.h"
#include "core/shape/convex_hull.h"
#include "core/shape/mass_properties.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/shape.h"

namespace tactus {

inline constexpr BodyIndex kNoBody = 0xffffffffu;

enum class BodyMode : std::uint8_t {
  free,       // six degrees of freedom
  fixed,      // never moves
  kinematic,  // prescribed motion, infinite mass: moves with the velocity in State, plus its harmonic motion
  link,       // moved by a joint of a robot: pose and velocity follow from State::joint_q and joint_v
};
const char* to_string(BodyMode mode) noexcept;
// Free bodies and links answer forces.
[[nodiscard]] inline bool takes_wrenches(BodyMode mode) noexcept {
  return mode == BodyMode::free || mode == BodyMode::link;
}

// Prescribed harmonic velocity of a kinematic body, on top of its constant one: v = amplitude * w * cos(w t), w = 2 pi
// f.
struct HarmonicMotion {
  Vec3 amplitude_W = Vec3::Zero();        // [m]
  Vec3 angle_amplitude_W = Vec3::Zero();  // [rad]
  double frequency = 0;                   // [Hz]
};

struct Body {
  std::string name;  // [A-Za-z0-9_.-]{1,64}, unique; world-fixed geometry belongs to a fixed body
  BodyMode mode = BodyMode::free;
  double mass = 0, inv_mass = 0;   // [kg]; inv_mass 0 unless free
  JointIndex joint = kNone;        // link: the joint that moves it; set by finish_robots()
  Mat3 I_BBcm = Mat3::Zero();      // about the mass centre, in B [kg m^2]
  Mat3 inv_I_BBcm = Mat3::Zero();  // zero unless free
  bool spherical_inertia = false;  // equal principal moments: no gyroscopic term; set by finish_model()
  InertiaAxes axes;                // of the free rotation; set by finish_model()
  Vec3 p_BBcm = Vec3::Zero();      // mass centre in the user's body frame B [m]
  HarmonicMotion motion;           // kinematic only
  double force_limit = 1e4;        // wrench channel [N]
  double torque_limit = 1e4;       // wrench channel [N m]
  double gravity_scale = 1;
  bool continuous = false;  // free bodies: none is passed through within a step (continuous_motion.h)
  std::uint32_t first_shape = 0, shape_count = 0;
};

struct ShapeInstance {
  Shape shape;
  BodyIndex body = 0;
  Pose X_BcmS;                                  // of the shape in the frame (mass centre, axes of B)
  bool shape_at_centre = false;                 // X_BcmS is the identity: set by finish_model(), saves a product a tick
  std::uint32_t material = 0;                   // into Model::materials
  std::uint32_t group = 1, mask = 0xffffffffu;  // two shapes collide when each's group meets the other's mask
  std::string colour;                           // "#rrggbb" or empty; for viewers
};

// Gains of the penalty force, given per material or per scene.
enum class GainLaw : std::uint8_t {
  automatic,  // implicit: kp = alpha/(h^2 L), kv = beta/(h L), L = 1/m_a + 1/m_b, solved for the end of a substep
  automatic_explicit,  // the same form, evaluated at the start of a substep; L bounds all modes from above
  paper,               // Drumwright III-C: 100, 50, 2 times (m1 + m2), lambda 0.9
  explicit_gains       // kp, kv, ki as given
};
struct Gains {
  GainLaw law = GainLaw::automatic;
  // Per substep. Measured: core/DECISIONS.md.
  double alpha = 1, beta = 300;                       // automatic
  double depth_scale = 1e-4;                          // automatic: loads press no contact much deeper than this [m]
  double explicit_alpha = 0.25, explicit_beta = 1.4;  // automatic_explicit; stable for alpha + 2 beta < 4
  double kp = 0, kv = 0, ki = 0;                      // explicit [N/m], [N s/m], [N/m per tick of summed depth]
  double lambda = 0.9;                                // forgetting factor of eq. 2, 0 < lambda < 1
  bool divide_by_points = true;                       // eq. 1's division by r
};

enum class FrictionLaw : std::uint8_t { springs, linear_system };  // linear_system: III-B, explicit gains only
const char* to_string(FrictionLaw law) noexcept;

struct Friction {
  double mu_static = 0.5, mu_dynamic = 0.5;
  double viscous = 0;                      // [N s/m]
  double stribeck_velocity = 0;            // [m/s]; 0 = no Stribeck effect
  FrictionLaw law = FrictionLaw::springs;  // of a pair: linear_system when either material says so
  double rolling = 0;  // arm of the rolling resistance: its moment is at most this times the normal force [m]
};

struct Material {
  std::string name;
  double restitution = 0;  // 0..1
  Friction friction;
};

// What holds where two materials meet: given pairs first, otherwise combined (friction: geometric mean; restitution:
// larger).
struct SurfacePair {
  double restitution = 0;
  Friction friction;
};

enum class Integrator : std::uint8_t { semi_implicit_euler, rk4 };
const char* to_string(Integrator integrator) noexcept;

enum class ContactModelKind : std::uint8_t { penalty, deepest, lcp, st, ap, lnc, peg };
const char* to_string(ContactModelKind kind) noexcept;
bool parse_contact_model(const std::string& name, ContactModelKind& out) noexcept;

enum class Impacts : std::uint8_t {
  sequential,   // manifold after manifold, at the centroid (Drumwright)
  simultaneous  // all bottom points of all manifolds that impact together
};
enum class RestitutionLaw : std::uint8_t { newton, poisson, stronge };  // of velocities, of impulses, of work

enum class PegForm : std::uint8_t {
  repaired,   // one I-constraint for each pair of vertices, and of a vertex and an edge
  printed,    // the paper's: I-constraints of each vertex, X-constraints across
  unilateral  // every contact for itself: Stewart and Trinkle with these contacts, traps included; for comparison
};
// Model `lcp` (contact/lcp/lcp_model.h).
enum class LcpFriction : std::uint8_t {
  coulomb,   // bounds follow the normal forces
  lotstedt,  // bounds are those of the last step's normal forces: convex, always consistent
  none
};
enum class ForceMethod : std::uint8_t {
  automatic,  // Newton's method from the last forces, sparse by body; then pivoting
  pivoting,   // one contact at a time (Dantzig, Baraff)
  qp          // the convex program; not for Coulomb's law
};
enum class OverlapDrift : std::uint8_t { penalty, off };  // what becomes of overlap
enum class LcpStepper : std::uint8_t {
  fixed,  // one evaluation of forces a step, contacts to first order
  exact   // contact/exact/exact_stepper.h: from one discontinuity to the next; scenes with robots: as fixed
};

// Set at run time too (World::set_parameter).
struct Parameters {
  Gains gains;
  Vec3 gravity_W = Vec3(0, 0, -9.81);  // [m/s^2]
  Impacts impacts = Impacts::sequential;
  RestitutionLaw restitution_law = RestitutionLaw::newton;  // sequential only
  double impact_epsilon = 1e-3;       // Fig. 2: a new contact that approaches faster is an impact [m/s]
  double overlap_relax_time = 0.005;  // an overlap found at first contact is worked off with this time constant [s] ...
  double overlap_relax_speed = 1.0;   // ... but never faster than this [m/s]
  std::uint32_t friction_directions = 0;  // time steppers: corners of the friction cone, even, 4..32; 0: the round cone
  double detection_distance = 0;  // time steppers: gaps seen [m]; 0: what both can travel in a step. ap: active within
  PegForm peg_form = PegForm::repaired;      // peg
  EdgeTest peg_edge_test = EdgeTest::gauss;  // lnc, peg: which edges can touch
  double peg_angle = 1e-4;  // lnc, peg: applicability is relaxed by this, besides what a step turns [rad]
  LcpFriction lcp_friction = LcpFriction::coulomb;
  ForceMethod lcp_method = ForceMethod::automatic;
  OverlapDrift lcp_drift = OverlapDrift::penalty;
  LcpStepper lcp_stepper = LcpStepper::fixed;
  OverlapDrift ap_drift = OverlapDrift::penalty;
  bool coherence = true;         // false: witnesses and the sweep's order are forgotten each step, for comparison
  double contact_margin = 1e-4;  // automatic gains: a pair that touched is seen across a gap up to this [m]
};

struct Model {
  std::string name, title;
  double step = 1e-3;          // h [s]
  std::uint32_t substeps = 4;  // semi-implicit Euler: forces are found so often a tick, on one contact set
  Integrator integrator = Integrator::semi_implicit_euler;
  ContactModelKind contact_model = ContactModelKind::penalty;
  Parameters parameters;
  bool planar = false;  // x-y plane: integrators drop z, w_x, w_y
  std::uint64_t seed = 1;
  double settle = 0;  // measurements start here [s]

  std::vector<Body> bodies;
  std::vector<ShapeInstance> shapes;
  std::vector<Material> materials;         // at least one: index 0 is "default"
  std::vector<SurfacePair> surface_pairs;  // materials x materials, symmetric
  std::vector<std::unique_ptr<ConvexHull>> hulls;
  std::vector<std::shared_ptr<const TriangleMesh>> meshes;  // each once, whatever number of shapes are made of it
  std::vector<std::shared_ptr<const SmoothSurface>> smooth_surfaces;  // likewise
  std::vector<std::string> notes;  // what the loader has to say to the user: odd sizes, repairs
  std::vector<std::pair<BodyIndex, BodyIndex>> no_collision;  // a < b, sorted
  std::vector<Joint> joints;                                  // robot after robot
  std::vector<Robot> robots;
  std::vector<LinkFrame> frames;  // every link of every robot
  std::vector<JointDrive> drives;
  std::vector<SensorSpec> sensors;

  // Initial state, in the user's frames: pose of B, velocity of B's origin.
  std::vector<Pose> X_WB0;
  std::vector<SpatialVelocity> V_WB0;
  // Initial joint coordinates of all robots; those of links above are then not looked at. Sized by finish_robots() when
  // empty (zero; quaternions one).
  std::vector<double> joint_q0, joint_v0;

  [[nodiscard]] const SurfacePair& surface(std::uint32_t material_a, std::uint32_t material_b) const noexcept {
    return surface_pairs[material_a * materials.size() + material_b];
  }
  [[nodiscard]] BodyIndex find_body(const std::string& body_name) const noexcept;
  [[nodiscard]] const LinkFrame* find_frame(const std::string& link_name) const noexcept;  // robot/link
  [[nodiscard]] JointIndex find_joint(const std::string& joint_name) const noexcept;       // robot/joint
};

// Derived values (inverses, shape_at_centre); called by scene/ once the model is complete.
void finish_model(Model& model);

// Fills surface_pairs by the combination rule (explicit pairs are written over it afterwards).
void combine_materials(Model& model);

}  // namespace tactus
