// Who may open a WebSocket, and what the web server answers to a path: pure functions and a table of files, so that no
// path of a request ever reaches the file system.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tactus::net {

// A page may drive the server only when it came from the server itself: its Origin's host and port are those of the
// request's Host, which is an address or "localhost" (a name could be rebound to this machine by whoever owns it); or
// when it stands in `allowed` (separated by blanks, whole origins such as "https://example.org", or "*"). A program
// that is no browser sends no Origin (empty) and is let in: it must shake hands like any client.
bool is_origin_allowed(std::string_view origin, std::string_view host, std::string_view allowed);

// Why such a page may not open a WebSocket, and what to do about it, for people; empty: it may. `own_url` is an address
// of this server, such as "http://192.168.7.2:8765". Nothing of a text that is no origin is repeated.
std::string refusal_of_origin(std::string_view origin, std::string_view host, std::string_view allowed,
                              std::string_view own_url);

// A page that reads /metrics by a name may be anybody's who points that name at this machine: expected are an address,
// "localhost", a name in `allowed` (separated by blanks), or no Host at all.
bool is_host_allowed(std::string_view host, std::string_view allowed);
std::string refusal_of_host(std::string_view own_url);

// An address as text is of this machine.
bool is_loopback(std::string_view address);

// A text that is made when it is asked for.
struct WebPage {
  unsigned status = 200;
  std::string type, body;
};
// Of a path; nothing: the path is none of theirs. is_local: the request comes from this machine.
using WebPages = std::function<std::optional<WebPage>(std::string_view path, bool is_local)>;

struct WebFile {
  std::string bytes, type, etag;
  bool is_gzip = false;       // bytes are compressed; sent so to those who accept it
  bool is_immutable = false;  // its name carries a hash of its contents
};

// The viewer as built: all files of a folder, in memory.
class WebFiles {
 public:
  // Reads the folder anew. False: it is not there, or has no index.html. At most 64 files of at most 16 MiB each.
  bool load(const std::string& folder);
  // The file of a request path without its query ("/" is /index.html), or null. Only exact names match.
  [[nodiscard]] const WebFile* find(std::string_view path, bool accepts_gzip) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }

 private:
  std::map<std::string, WebFile, std::less<>> files_;  // by path; compressed ones under path + ".gz"
};

// Said by a server whose viewer is not built; while it is being built the page looks again by itself.
std::string missing_viewer_page(bool is_being_built);

}  // namespace tactus::net
