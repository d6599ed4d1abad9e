// Bullet in double precision: discrete world, dynamic AABB tree, sequential impulses with their defaults (10
// iterations).
#include <btBulletDynamicsCommon.h>

#include <cmath>
#include <vector>

#include "core/check.h"
#include "tests/bench/engine.h"

namespace tactus::bench {
namespace {

btVector3 to_bt(const Vec3& v) {
  return {v.x(), v.y(), v.z()};
}
btTransform to_bt(const Pose& X) {
  return btTransform(btQuaternion(X.q.x(), X.q.y(), X.q.z(), X.q.w()), to_bt(X.p));
}
Vec3 from_bt(const btVector3& v) {
  return {v.x(), v.y(), v.z()};
}

class BulletEngine final : public Engine {
 public:
  BulletEngine(const Model& model, double margin)
      : dispatcher_(&configuration_),
        world_(&dispatcher_, &broad_phase_, &solver_, &configuration_),
        step_(model.step),
        margin_(margin) {
    world_.setGravity(to_bt(model.parameters.gravity_W));
    for (BodyIndex b = 0; b < model.bodies.size(); ++b) add(model, b);
  }
  ~BulletEngine() override {
    for (auto& body : bodies_) world_.removeRigidBody(body.get());
  }
  void apply(BodyIndex b, const SpatialForce& F_Bcm_W) override {
    bodies_[b]->applyCentralForce(to_bt(F_Bcm_W.force));
    bodies_[b]->applyTorque(to_bt(F_Bcm_W.torque));
  }
  void step() override { world_.stepSimulation(step_, 0); }
  void read(BodyIndex b, Pose& X_WBcm, SpatialVelocity& V_WBcm) const override {
    const btTransform& X = bodies_[b]->getWorldTransform();
    const btQuaternion q = X.getRotation();
    X_WBcm = {Quat(q.w(), q.x(), q.y(), q.z()), from_bt(X.getOrigin())};
    V_WBcm = {from_bt(bodies_[b]->getAngularVelocity()), from_bt(bodies_[b]->getLinearVelocity())};
  }

 private:
  btCollisionShape* shape(const Shape& s) {
    std::unique_ptr<btCollisionShape> out;
    switch (s.kind) {
      case ShapeKind::sphere:
        out = std::make_unique<btSphereShape>(s.radius);
        break;
      case ShapeKind::box:
        out = std::make_unique<btBoxShape>(to_bt(s.half_S));
        break;
      case ShapeKind::capsule:
        out = std::make_unique<btCapsuleShapeZ>(s.radius, 2 * s.half_length);
        break;
      case ShapeKind::cylinder:
        out = std::make_unique<btCylinderShapeZ>(btVector3(s.radius, s.radius, s.half_length));
        break;
      case ShapeKind::half_space:
        out = std::make_unique<btStaticPlaneShape>(btVector3(0, 0, 1), 0);
        break;
      case ShapeKind::convex:
      case ShapeKind::mesh:
      case ShapeKind::smooth:
        throw InputError("convex hulls and meshes are not given to the peers");
    }
    if (margin_ >= 0 && s.kind != ShapeKind::sphere && s.kind != ShapeKind::capsule) out->setMargin(margin_);
    shapes_.push_back(std::move(out));
    return shapes_.back().get();
  }
  void add(const Model& model, BodyIndex b) {
    const Body& body = model.bodies[b];
    TACTUS_REQUIRE(body.mode != BodyMode::kinematic && body.shape_count > 0,
                   "benchmark bodies are free or fixed and have shapes");
    btCollisionShape* collision = nullptr;
    const ShapeInstance& first = model.shapes[body.first_shape];
    if (body.shape_count == 1 && first.X_BcmS.p.isZero(1e-12) && first.X_BcmS.q.vec().isZero(1e-12)) {
      collision = shape(first.shape);
    } else {
      auto compound = std::make_unique<btCompoundShape>();
      for (std::uint32_t i = 0; i < body.shape_count; ++i) {
        const ShapeInstance& s = model.shapes[body.first_shape + i];
        compound->addChildShape(to_bt(s.X_BcmS), shape(s.shape));
      }
      shapes_.push_back(std::move(compound));
      collision = shapes_.back().get();
    }
    const bool free = body.mode == BodyMode::free;
    btRigidBody::btRigidBodyConstructionInfo info(free ? body.mass : 0, nullptr, collision,
                                                  to_bt(Vec3(body.I_BBcm.diagonal())));
    const Pose X_WB = model.X_WB0[b];
    info.m_startWorldTransform = to_bt(Pose{X_WB.q, X_WB * body.p_BBcm});
    // Bullet multiplies the two coefficients: their roots give the geometric mean.
    info.m_friction = std::sqrt(model.surface(first.material, first.material).friction.mu_static);
    info.m_restitution = model.surface(first.material, first.material).restitution;
    bodies_.push_back(std::make_unique<btRigidBody>(info));
    btRigidBody& rigid = *bodies_.back();
    const SpatialVelocity& V = model.V_WB0[b];
    rigid.setLinearVelocity(to_bt(Vec3(V.v + V.w.cross(X_WB.q * body.p_BBcm))));
    rigid.setAngularVelocity(to_bt(V.w));
    rigid.setActivationState(DISABLE_DEACTIVATION);
    world_.addRigidBody(&rigid);
  }

  btDefaultCollisionConfiguration configuration_;
  btCollisionDispatcher dispatcher_;
  btDbvtBroadphase broad_phase_;
  btSequentialImpulseConstraintSolver solver_;
  btDiscreteDynamicsWorld world_;
  std::vector<std::unique_ptr<btCollisionShape>> shapes_;
  std::vector<std::unique_ptr<btRigidBody>> bodies_;
  double step_, margin_;
};

}  // namespace

std::unique_ptr<Engine> make_bullet_engine(const Model& model, double margin) {
  return std::make_unique<BulletEngine>(model, margin);
}

}  // namespace tactus::bench
