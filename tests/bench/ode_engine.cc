// ODE in double precision: hash space, at most 8 contacts a pair, pyramid friction scaled by the normal force, defaults
// otherwise.
#include <ode/ode.h>

#include <vector>

#include "core/check.h"
#include "tests/bench/engine.h"

namespace tactus::bench {
namespace {

constexpr int kContactsPerPair = 8;

struct OdeLibrary {
  OdeLibrary() { dInitODE2(0); }
};

class OdeEngine final : public Engine {
 public:
  OdeEngine(const Model& model, bool quick) : model_(&model), quick_(quick) {
    static OdeLibrary library;
    world_ = dWorldCreate();
    space_ = dHashSpaceCreate(nullptr);
    // A robot touches what is fixed, and never itself: two spaces, met with each other.
    if (!model.robots.empty()) links_ = dSimpleSpaceCreate(nullptr);
    contacts_ = dJointGroupCreate(0);
    const Vec3& g = model.parameters.gravity_W;
    dWorldSetGravity(world_, g.x(), g.y(), g.z());
    dWorldSetAutoDisableFlag(world_, 0);
    for (BodyIndex b = 0; b < model.bodies.size(); ++b) add(b);
    for (const Joint& joint : model.joints) add_joint(joint);
  }
  ~OdeEngine() override {
    dJointGroupDestroy(contacts_);
    dSpaceDestroy(space_);
    if (links_) dSpaceDestroy(links_);
    dWorldDestroy(world_);
  }
  void apply(BodyIndex b, const SpatialForce& F) override {
    dBodyAddForce(bodies_[b], F.force.x(), F.force.y(), F.force.z());
    dBodyAddTorque(bodies_[b], F.torque.x(), F.torque.y(), F.torque.z());
  }
  void step() override {
    if (links_)
      dSpaceCollide2(reinterpret_cast<dGeomID>(space_), reinterpret_cast<dGeomID>(links_), this, &OdeEngine::near);
    else
      dSpaceCollide(space_, this, &OdeEngine::near);
    apply_drives();
    if (quick_)
      dWorldQuickStep(world_, model_->step);
    else
      dWorldStep(world_, model_->step);
    dJointGroupEmpty(contacts_);
    time_ += model_->step;
  }
  void read(BodyIndex b, Pose& X_WBcm, SpatialVelocity& V_WBcm) const override {
    if (!bodies_[b]) {
      X_WBcm = model_->X_WB0[b];
      V_WBcm = {};
      return;
    }
    const dReal *p = dBodyGetPosition(bodies_[b]), *q = dBodyGetQuaternion(bodies_[b]);
    const dReal *v = dBodyGetLinearVel(bodies_[b]), *w = dBodyGetAngularVel(bodies_[b]);
    X_WBcm = {Quat(q[0], q[1], q[2], q[3]), Vec3(p[0], p[1], p[2])};
    V_WBcm = {Vec3(w[0], w[1], w[2]), Vec3(v[0], v[1], v[2])};
  }

 private:
  static void near(void* data, dGeomID a, dGeomID b) {
    auto& self = *static_cast<OdeEngine*>(data);
    const dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    if ((!body_a && !body_b) || body_a == body_b) return;
    dContactGeom found[kContactsPerPair];
    const int n = dCollide(a, b, kContactsPerPair, found, sizeof(dContactGeom));
    const auto index = [&](dGeomID g) {
      return self.model_->shapes[reinterpret_cast<std::uintptr_t>(dGeomGetData(g))].material;
    };
    for (int i = 0; i < n; ++i) {
      const SurfacePair& surface = self.model_->surface(index(a), index(b));
      dContact contact{};
      contact.surface.mode = dContactApprox1 | (surface.restitution > 0 ? dContactBounce : 0);
      contact.surface.mu = surface.friction.mu_static;
      contact.surface.bounce = surface.restitution;
      contact.geom = found[i];
      dJointAttach(dJointCreateContact(self.world_, self.contacts_, &contact), body_a, body_b);
    }
  }
  void add_joint(const Joint& joint) {
    dJointID id = nullptr;
    if (joint.kind != JointKind::floating) {
      TACTUS_REQUIRE(joint.kind == JointKind::revolute || joint.kind == JointKind::continuous,
                     "only hinges and floating bases are given to ODE");
      id = dJointCreateHinge(world_, nullptr);
      dJointAttach(id, bodies_[joint.child], joint.parent == kNone ? nullptr : bodies_[joint.parent]);
      const Pose& X_WB = model_->X_WB0[joint.child];  // at q0: the axis is the same in both links
      const Vec3 axis = X_WB.q * joint.axis_F;
      dJointSetHingeAnchor(id, X_WB.p.x(), X_WB.p.y(), X_WB.p.z());
      dJointSetHingeAxis(id, axis.x(), axis.y(), axis.z());
    }
    joints_.push_back(id);
  }
  void apply_drives() {
    for (const JointDrive& drive : model_->drives) {
      const dJointID id = joints_[drive.joint];
      const double q = model_->joint_q0[model_->joints[drive.joint].first_q] + dJointGetHingeAngle(id);
      dJointAddHingeTorque(id, drive_effort(drive, time_, q, dJointGetHingeAngleRate(id)));
    }
  }
  dGeomID geom(const Shape& s, const Pose& X_WS, dSpaceID space) {
    const Vec3 e = 2 * s.half_S;
    switch (s.kind) {
      case ShapeKind::sphere:
        return dCreateSphere(space, s.radius);
      case ShapeKind::box:
        return dCreateBox(space, e.x(), e.y(), e.z());
      case ShapeKind::capsule:
        return dCreateCapsule(space, s.radius, 2 * s.half_length);
      case ShapeKind::cylinder:
        return dCreateCylinder(space, s.radius, 2 * s.half_length);
      case ShapeKind::half_space: {
        const Vec3 n = X_WS.q * Vec3::UnitZ();
        return dCreatePlane(space, n.x(), n.y(), n.z(), n.dot(X_WS.p));
      }
      case ShapeKind::convex:
      case ShapeKind::mesh:
      case ShapeKind::smooth:
        break;
    }
    throw InputError("convex hulls and meshes are not given to the peers");
  }
  void add(BodyIndex b) {
    const Body& body = model_->bodies[b];
    TACTUS_REQUIRE(body.mode != BodyMode::kinematic, "benchmark bodies are free or fixed");
    const Pose X_WBcm{model_->X_WB0[b].q, model_->X_WB0[b] * body.p_BBcm};
    dBodyID id = nullptr;
    if (body.mode != BodyMode::fixed) {
      id = dBodyCreate(world_);
      dMass mass;
      const Mat3& I = body.I_BBcm;
      dMassSetParameters(&mass, body.mass, 0, 0, 0, I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2));
      dBodySetMass(id, &mass);
      dBodySetPosition(id, X_WBcm.p.x(), X_WBcm.p.y(), X_WBcm.p.z());
      const dQuaternion q{X_WBcm.q.w(), X_WBcm.q.x(), X_WBcm.q.y(), X_WBcm.q.z()};
      dBodySetQuaternion(id, q);
      const SpatialVelocity& V = model_->V_WB0[b];
      const Vec3 v = V.v + V.w.cross(X_WBcm.q * body.p_BBcm);
      dBodySetLinearVel(id, v.x(), v.y(), v.z());
      dBodySetAngularVel(id, V.w.x(), V.w.y(), V.w.z());
    }
    bodies_.push_back(id);
    for (std::uint32_t i = body.first_shape; i < body.first_shape + body.shape_count; ++i) {
      const ShapeInstance& s = model_->shapes[i];
      const dGeomID g = geom(s.shape, X_WBcm * s.X_BcmS, body.mode == BodyMode::link ? links_ : space_);
      dGeomSetData(g, reinterpret_cast<void*>(static_cast<std::uintptr_t>(i)));
      place(g, id, s, X_WBcm);
    }
  }
  static void place(dGeomID g, dBodyID id, const ShapeInstance& s, const Pose& X_WBcm) {
    if (s.shape.kind == ShapeKind::half_space) return;  // a plane has its place in its equation
    const Pose X = id ? s.X_BcmS : X_WBcm * s.X_BcmS;
    const dQuaternion q{X.q.w(), X.q.x(), X.q.y(), X.q.z()};
    if (id) {
      dGeomSetBody(g, id);
      if (X.p.isZero(1e-12) && X.q.vec().isZero(1e-12)) return;
      dGeomSetOffsetPosition(g, X.p.x(), X.p.y(), X.p.z());
      dGeomSetOffsetQuaternion(g, q);
    } else {
      dGeomSetPosition(g, X.p.x(), X.p.y(), X.p.z());
      dGeomSetQuaternion(g, q);
    }
  }

  const Model* model_;
  bool quick_;
  dWorldID world_ = nullptr;
  dSpaceID space_ = nullptr, links_ = nullptr;
  dJointGroupID contacts_ = nullptr;
  std::vector<dBodyID> bodies_;
  std::vector<dJointID> joints_;  // hinges; null for a floating base
  double time_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_ode_engine(const Model& model, bool quick) {
  return std::make_unique<OdeEngine>(model, quick);
}

}  // namespace tactus::bench
