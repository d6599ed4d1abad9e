#include "server/session/expiry_news.h"

namespace tactus {

std::vector<ExpiryNews::News> ExpiryNews::take(std::uint64_t now_ns) {
  for (const auto& [robot, r] : robots_) {
    if (r.expired.size() >= r.channels) {
      ++fresh_["joint/" + robot + "/*"];
      continue;
    }
    for (const std::string& channel : r.expired) ++fresh_[channel];
  }
  robots_.clear();
  for (const auto& [text, count] : fresh_) {
    const bool has_room = told_.contains(text) || told_.size() + 1 < kTexts;
    told_[has_room ? text : kMany].waiting += count;
  }
  fresh_.clear();
  std::vector<News> out;
  for (auto at = told_.begin(); at != told_.end();) {
    Told& told = at->second;
    if (told.at_ns != 0 && now_ns - told.at_ns < kEveryNs) {
      ++at;
      continue;
    }
    if (told.waiting == 0) {
      at = told_.erase(at);  // quiet for a second: news again when it comes
      continue;
    }
    out.push_back({at->first, told.waiting});
    told = {now_ns, 0};
    ++at;
  }
  return out;
}

}  // namespace tactus
