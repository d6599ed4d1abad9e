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
    contacts_ = dJointGroupCreate(0);
    const Vec3& g = model.parameters.gravity_W;
    dWorldSetGravity(world_, g.x(), g.y(), g.z());
    dWorldSetAutoDisableFlag(world_, 0);
    for (BodyIndex b = 0; b < model.bodies.size(); ++b) add(b);
  }
  ~OdeEngine() override {
    dJointGroupDestroy(contacts_);
    dSpaceDestroy(space_);
    dWorldDestroy(world_);
  }
  void apply(BodyIndex b, const SpatialForce& F) override {
    dBodyAddForce(bodies_[b], F.force.x(), F.force.y(), F.force.z());
    dBodyAddTorque(bodies_[b], F.torque.x(), F.torque.y(), F.torque.z());
  }
  void step() override {
    dSpaceCollide(space_, this, &OdeEngine::near);
    if (quick_)
      dWorldQuickStep(world_, model_->step);
    else
      dWorldStep(world_, model_->step);
    dJointGroupEmpty(contacts_);
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
  dGeomID geom(const Shape& s, const Pose& X_WS) {
    const Vec3 e = 2 * s.half_S;
    switch (s.kind) {
      case ShapeKind::sphere:
        return dCreateSphere(space_, s.radius);
      case ShapeKind::box:
        return dCreateBox(space_, e.x(), e.y(), e.z());
      case ShapeKind::capsule:
        return dCreateCapsule(space_, s.radius, 2 * s.half_length);
      case ShapeKind::cylinder:
        return dCreateCylinder(space_, s.radius, 2 * s.half_length);
      case ShapeKind::half_space: {
        const Vec3 n = X_WS.q * Vec3::UnitZ();
        return dCreatePlane(space_, n.x(), n.y(), n.z(), n.dot(X_WS.p));
      }
      case ShapeKind::convex:
      case ShapeKind::mesh:
        break;
    }
    throw InputError("convex hulls and meshes are not given to the peers");
  }
  void add(BodyIndex b) {
    const Body& body = model_->bodies[b];
    TACTUS_REQUIRE(body.mode != BodyMode::kinematic, "benchmark bodies are free or fixed");
    const Pose X_WBcm{model_->X_WB0[b].q, model_->X_WB0[b] * body.p_BBcm};
    dBodyID id = nullptr;
    if (body.mode == BodyMode::free) {
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
      const dGeomID g = geom(s.shape, X_WBcm * s.X_BcmS);
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
  dSpaceID space_ = nullptr;
  dJointGroupID contacts_ = nullptr;
  std::vector<dBodyID> bodies_;
};

}  // namespace

std::unique_ptr<Engine> make_ode_engine(const Model& model, bool quick) {
  return std::make_unique<OdeEngine>(model, quick);
}

}  // namespace tactus::bench
