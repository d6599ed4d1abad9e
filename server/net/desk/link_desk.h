// Faults of clients' links: as the config, the scene or a client sets them, and what they did so far.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/scene/scene_links.h"
#include "server/net/control/events.h"
#include "server/net/control/journal.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/options.h"
#include "server/net/udp/link_port.h"

namespace tactus::net {

class LinkDesk {
 public:
  struct Uses {
    const NetOptions& options;
    SessionTable& sessions;
    const Leases& leases;
    Events& events;
    Journal& journal;
    LinkPort& links;
  };
  explicit LinkDesk(const Uses& uses) : uses_(uses) {}

  void set(const Exchange& x, const v1::SetLinkFaults& request);
  void get(const Exchange& x, const v1::GetLinkFaults& request);

  // What a client's link has when its session begins: by the scene, or else by the config.
  void welcome(Session& session);
  // A scene with these [[link]]s has come: clients that it speaks of get them, what the scene before had set is taken
  // back.
  void scene_changed(const std::vector<SceneLink>& links);
  // A client has left: what he set on others' links ends.
  void left(ClientSlot client, const std::string& whose);

 private:
  // The session meant (0: one's own), or null: the client has been told.
  [[nodiscard]] Session* find_session(const Exchange& x, std::uint32_t id) const;
  [[nodiscard]] const SceneLink* scene_link(const std::string& client) const;
  // Null, or without any fault: a sound link. why: of the record; nullptr: told there already.
  void set_faults(Session& session, std::unique_ptr<FaultyLinks> faults, const char* why = nullptr);

  const Uses uses_;
  std::vector<SceneLink> scene_links_;
};

}  // namespace tactus::net
