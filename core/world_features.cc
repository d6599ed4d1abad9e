// Pairs of polyhedra for the models that want to see every feature that could touch (lnc, peg).
#include <algorithm>

#include "core/world.h"

namespace tactus {

void World::make_room(std::uint32_t features) {
  const std::size_t pairs = limits_.pairs;
  if (manifolds_.size() >= pairs + features) return;
  manifolds_.resize(pairs + features);
  points_.resize(pairs * limits_.points_per_pair + features);
  contact_forces_.resize(points_.size());
  contacts_.manifolds = manifolds_.data();
  contacts_.points = points_.data();
}

// Each feature contact becomes a manifold of one point. Manifold::depth_max is the whole pair's.
void World::add_features(std::uint32_t pair, FeaturePairs& features, StepReport& report) noexcept {
  PairRecord& record = state_.pairs[pair];
  const std::uint32_t a = record.key.shape_a, b = record.key.shape_b, dropped = features.dropped();
  const auto rate = [this](std::uint32_t shape) {
    const Body& body = model_->bodies[model_->shapes[shape].body];
    return state_.w_WB(model_->shapes[shape].body).norm() +
           2 * M_PI * body.motion.frequency * body.motion.angle_amplitude_W.norm();
  };
  const FeaturePairs::Found found =
      features.find(a, model_->shapes[a].shape, kinematics_.X_WS[a], b, model_->shapes[b].shape, kinematics_.X_WS[b],
                    reach_[a] + reach_[b], h() * (rate(a) + rate(b)), record.witness);
  report.points_dropped += features.dropped() - dropped;
  const std::uint32_t age = record.age;
  if (found.count == 0) return add_manifold(pair, ContactBuffer{nullptr, 0}, report);
  bool overlaps = false;
  for (std::uint32_t i = found.first; i < found.first + found.count; ++i) {
    const FeatureContact& contact = features.contacts()[i];
    features.set_manifold(i, contacts_.manifold_count);
    Manifold& m = contacts_.manifolds[contacts_.manifold_count++];
    m.nhat_BA_W = contact.nhat_BA_W;
    m.pair = pair;
    m.shape_a = a, m.shape_b = b;
    m.body_a = model_->shapes[a].body, m.body_b = model_->shapes[b].body;
    m.first = contacts_.point_count, m.count = 1;
    m.depth_max = found.overlap;
    m.all_on_bottom = true;
    contacts_.points[contacts_.point_count++] = {contact.p_WC, -contact.gap};
    overlaps = overlaps || found.overlap > 0;
  }
  record.age = age + 1;
  report.contacts += overlaps ? 1 : 0;
  report.depth_max = std::max(report.depth_max, found.overlap);
}

// A feature beyond another's plane is not in overlap: nobody is shown more than the pair has.
void World::publish_features() noexcept {
  for (std::uint32_t i = 0; i < contacts_.manifold_count; ++i) {
    const Manifold& m = contacts_.manifolds[i];
    for (std::uint32_t k = m.first; k < m.first + m.count; ++k) {
      contacts_.points[k].depth = std::min(contacts_.points[k].depth, m.depth_max);
    }
  }
}

}  // namespace tactus
