#include "server/net/control/access.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace tactus::net {
namespace {

constexpr std::size_t kNamesMax = 10'000;  // of users that error texts may name

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(" \t", begin), list.size());
    if (end > begin) out.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// The machine's users, one after another.
template <typename Visit>
void for_each_user(Visit visit) {
  setpwent();
  while (const passwd* user = getpwent()) visit(*user);
  endpwent();
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

// Who called sudo, where the server was started by it.
std::optional<std::uint32_t> caller_by_sudo() {
  const char* text = std::getenv("SUDO_UID");
  return text == nullptr ? std::nullopt : number_of(text);
}

}  // namespace

std::string add_users(const std::string& list, std::vector<std::uint32_t>& uids) {
  for (const std::string& word : words_of(list)) {
    const passwd* user = getpwnam(word.c_str());
    const std::optional<std::uint32_t> number = user != nullptr ? user->pw_uid : number_of(word);
    if (!number) return word;
    uids.push_back(*number);
  }
  return {};
}

std::string add_groups(const std::string& list, std::vector<std::uint32_t>& uids) {
  for (const std::string& word : words_of(list)) {
    const std::optional<std::uint32_t> number = number_of(word);
    const group* found = getgrnam(word.c_str());
    if (found == nullptr && number) found = getgrgid(*number);
    if (found == nullptr) return word;
    std::vector<std::string> members;
    for (char** name = found->gr_mem; name != nullptr && *name != nullptr; ++name) members.emplace_back(*name);
    const gid_t gid = found->gr_gid;
    for_each_user([&](const passwd& user) {
      if (user.pw_gid == gid) uids.push_back(user.pw_uid);
    });
    for (const std::string& name : members) {
      if (const passwd* user = getpwnam(name.c_str())) uids.push_back(user->pw_uid);
    }
  }
  return {};
}

Access::Access(const AccessOptions& options)
    : is_open_(options.open), others_observe_(options.others == "observe"), own_(geteuid()), uids_(options.named) {
  uids_.insert(uids_.end(), {0, own_});
  if (const auto caller = caller_by_sudo()) uids_.push_back(*caller);
  std::sort(uids_.begin(), uids_.end());
  uids_.erase(std::unique(uids_.begin(), uids_.end()), uids_.end());
  for_each_user([this](const passwd& user) {
    if (names_.size() < kNamesMax) names_.emplace(user.pw_uid, user.pw_name);
  });
  std::vector<std::string> listed;
  for (const std::uint32_t uid : uids_) listed.push_back(name_of(uid));
  listed_ = joined(listed);
  summary_ = is_open_ ? "every user of this machine may drive this simulation: --open, or [access] open"
                      : "without a token, on this machine only: " + listed_ + " may drive this simulation" +
                            (others_observe_ ? ", others may look on" : "");
}

std::string Access::name_of(std::uint32_t uid) const {
  const auto it = names_.find(uid);
  return it == names_.end() ? "the user " + std::to_string(uid) : it->second;
}

Access::Answer Access::ask(const PeerUser& user) const {
  if (is_open_ || (user.is_known && std::binary_search(uids_.begin(), uids_.end(), user.uid)))
    return {true, Role::control, {}};
  if (others_observe_) return {true, Role::observe, {}};
  const std::string begin =
      "this server is run by " + name_of(own_) + " and has no token. Of this machine's users it lets in " + listed_;
  const std::string ways =
      "--token-file FILE for the server and for the client, or tactusd --open for every user of this machine";
  if (!user.is_known)
    return {false, Role::observe,
            begin + ", and it cannot tell who you are: " + why_unknown(user) + ". To come in: " + ways};
  const std::string you = names_.contains(user.uid) ? name_of(user.uid) : std::to_string(user.uid);
  return {false, Role::observe,
          begin + "; you are " + name_of(user.uid) + ". To come in: [access] users = \"" + you +
              "\" in the server's config (tactusd --config FILE), " + ways};
}

}  // namespace tactus::net
