// A fixed body in a test scene without a mass of its own: what is around a hollow has none.
#pragma once

#include "tests/support/scenes.h"

namespace tactus::test {

inline BodyIndex add_fixed(Scene& scene, const Shape& shape) {
  if (shape.kind == ShapeKind::half_space) return scene.add_floor();
  Body body;
  body.name = "fixed";
  body.mode = BodyMode::fixed;
  body.first_shape = static_cast<std::uint32_t>(scene.model->shapes.size());
  body.shape_count = 1;
  ShapeInstance instance;
  instance.shape = shape;
  instance.body = static_cast<BodyIndex>(scene.model->bodies.size());
  scene.model->shapes.push_back(instance);
  scene.model->bodies.push_back(body);
  scene.model->X_WB0.emplace_back();
  scene.model->V_WB0.emplace_back();
  return instance.body;
}

}  // namespace tactus::test
