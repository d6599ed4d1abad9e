// Pairs of which one is a smooth surface that is not convex: like meshes they may touch in several places, each with a
// normal of its own (a box on its corners in a bowl).
#pragma once

#include "core/collide/mesh/collide_mesh.h"
#include "core/collide/places/extremal_places.h"

namespace tactus {

// Contacts of each place, as collide() fills a buffer; count 0: nothing there.
struct PlaceContacts {
  ContactBuffer place[kMaxMeshPatches];  // the caller gives them their points
  std::uint32_t dropped = 0;             // places that found no room
};

// Of a pair's records: places that hold a body by themselves, wherever along a level curve they are.
bool several_places(const PairRecord* records, std::uint32_t place_count) noexcept;

// All contacts of a at X_WA against b at X_WB; has_places(a, b). records: place_count (at most kMaxMeshPatches)
// consecutive records of this pair, of which the first is the pair's nearest place while it has only one; a place keeps
// its record from tick to tick. reach: points up to this far apart are found, with depth = -gap; margin: so are those
// of places that touched last tick. Cost: beside the nearest place what other_places() takes while the two touch,
// unless that is proved to be the only one.
void collide_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, double margin,
                    PairRecord* records, std::uint32_t place_count, PlaceContacts& out) noexcept;

}  // namespace tactus
