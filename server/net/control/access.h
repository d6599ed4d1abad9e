// Who may come in without a token: the users of this machine that config [access] and the server's own user give.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/net/control/peer_owner.h"
#include "server/net/options.h"
#include "server/session/authority.h"

namespace tactus::net {

// The uids that a list names, as the system knows them now; members of a group are those that it lists and those whose
// own group it is. Returns the first name that the system does not know, or nothing.
std::string add_users(const std::string& list, std::vector<std::uint32_t>& uids);
std::string add_groups(const std::string& list, std::vector<std::uint32_t>& uids);

class Access {
 public:
  // Reads the names of the machine's users: nothing is looked up later, where it would hold up the loop.
  explicit Access(const AccessOptions& options);

  struct Answer {
    bool may = false;
    Role role = Role::observe;
    std::string text;  // may not: why, and what can be done
  };
  // Of a client that shows no token, where the server has none.
  [[nodiscard]] Answer ask(const PeerUser& user) const;
  // Who comes in without a token, for the log.
  [[nodiscard]] const std::string& summary() const { return summary_; }

 private:
  [[nodiscard]] std::string name_of(std::uint32_t uid) const;

  bool is_open_, others_observe_;
  std::uint32_t own_;
  std::vector<std::uint32_t> uids_;  // ascending
  std::map<std::uint32_t, std::string> names_;
  std::string listed_, summary_;
};

}  // namespace tactus::net
