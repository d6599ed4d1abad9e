#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

const char* to_string(SmoothKind kind) noexcept {
  switch (kind) {
    case SmoothKind::ellipsoid:
      return "ellipsoid";
    case SmoothKind::superellipsoid:
      return "superellipsoid";
    case SmoothKind::torus:
      return "torus";
    case SmoothKind::quadric:
      return "quadric";
    case SmoothKind::revolution:
      return "revolution";
    case SmoothKind::spline:
      return "spline";
  }
  return "unknown";
}

}  // namespace tactus
