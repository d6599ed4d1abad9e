#include "core/collide/narrow_table.h"
namespace tactus {
#define STUB(name) void name(const Shape&, const Frame&, const Shape&, const Frame&, Witness&, ContactBuffer&) noexcept {}
STUB(collide_capsule_capsule)
STUB(collide_box_capsule)
STUB(collide_capsule_cylinder)
STUB(collide_capsule_convex)
STUB(collide_box_convex)
STUB(collide_convex_convex)
STUB(collide_box_cylinder)
STUB(collide_cylinder_cylinder)
STUB(collide_cylinder_convex)
}
