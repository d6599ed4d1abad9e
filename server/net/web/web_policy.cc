#include "server/net/web/web_policy.h"

#include <algorithm>
#include <array>
#include <asio/ip/address.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tactus::net {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kFilesMax = 64, kFileBytesMax = 16u << 20;

// Of "host:port" or "[v6]:port".
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') == std::string_view::npos ? 0 : host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool is_own_name(std::string_view host) {
  const std::string name(host_name(host));
  if (name == "localhost") return true;
  asio::error_code error;
  asio::ip::make_address(name, error);
  return !error;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

// http(s)://host[:port] and nothing else: safe to repeat.
bool is_plain_origin(std::string_view origin) {
  const std::size_t begin = origin.find("://");
  if (origin.size() > 200 || (!origin.starts_with("http://") && !origin.starts_with("https://"))) return false;
  const std::string_view rest = origin.substr(begin + 3);
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == ':' || c == '[' || c == ']';
  });
}

std::string_view type_of(const std::string& path) {
  static constexpr std::array<std::array<std::string_view, 2>, 8> kTypes{{{".html", "text/html; charset=utf-8"},
                                                                          {".js", "text/javascript; charset=utf-8"},
                                                                          {".css", "text/css; charset=utf-8"},
                                                                          {".svg", "image/svg+xml"},
                                                                          {".png", "image/png"},
                                                                          {".json", "application/json"},
                                                                          {".map", "application/json"},
                                                                          {".ico", "image/x-icon"}}};
  for (const auto& [extension, type] : kTypes) {
    if (path.ends_with(extension)) return type;
  }
  return "application/octet-stream";
}

// FNV-1a: tells versions of a file apart, nothing more.
std::string etag_of(const std::string& bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "\"%016llx\"", static_cast<unsigned long long>(hash));
  return text.data();
}

}  // namespace

bool is_origin_allowed(std::string_view origin, std::string_view host, std::string_view allowed) {
  if (origin.empty()) return true;
  const std::string from = lower(origin), to = lower(host);
  for (std::size_t begin = 0; begin < allowed.size();) {
    const std::size_t end = std::min(allowed.find(' ', begin), allowed.size());
    const std::string entry = lower(allowed.substr(begin, end - begin));
    if (entry == "*" || (!entry.empty() && entry == from)) return true;
    begin = end + 1;
  }
  if (to.empty() || !is_own_name(to)) return false;
  return from == "http://" + to || from == "https://" + to;
}

std::string refusal_of_origin(std::string_view origin, std::string_view host, std::string_view allowed,
                              std::string_view own_url) {
  if (is_origin_allowed(origin, host, allowed)) return {};
  const std::string url(own_url);
  if (!is_plain_origin(origin))
    return "A page of another site, or of a file, may not talk to this server. Open " + url +
           "/ instead. ([web] allowed_origins)";
  const std::string from(origin);
  const bool is_named = lower(origin) == "http://" + lower(host) || lower(origin) == "https://" + lower(host);
  // What to do first: the answer to a WebSocket has room for some 400 bytes.
  return "Open " + url + "/ instead, or let this page in: [web] allowed_origins = \"" + from +
         "\" in the server's config (tactusd --config FILE), and restart it. Why: " +
         (is_named ? "pages are let in that were opened by an address or as localhost; a name can be pointed at this "
                     "machine by whoever owns it."
                   : "this page is not this server's.");
}

bool is_host_allowed(std::string_view host, std::string_view allowed) {
  if (host.empty() || is_own_name(lower(host))) return true;
  const std::string name = lower(host_name(host));
  for (std::size_t begin = 0; begin < allowed.size();) {
    const std::size_t end = std::min(allowed.find(' ', begin), allowed.size());
    if (end > begin && lower(allowed.substr(begin, end - begin)) == name) return true;
    begin = end + 1;
  }
  return false;
}

std::string refusal_of_host(std::string_view own_url) {
  return "/metrics is not given by this name, which others could point at this machine. Ask " + std::string(own_url) +
         "/metrics, or name it: [web] allowed_hosts in the server's config.\n";
}

bool is_loopback(std::string_view address) {
  if (address.starts_with("::ffff:")) address.remove_prefix(7);
  return address.starts_with("127.") || address == "::1";
}

bool WebFiles::load(const std::string& folder) {
  std::map<std::string, WebFile, std::less<>> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored) || it->file_size(ignored) > kFileBytesMax || found.size() >= kFilesMax) continue;
    std::ifstream in(it->path(), std::ios::binary);
    WebFile file;
    file.bytes.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    std::string path(1, '/');
    path += it->path().lexically_relative(folder).generic_string();
    file.is_gzip = path.ends_with(".gz");
    file.type = type_of(file.is_gzip ? path.substr(0, path.size() - 3) : path);
    file.etag = etag_of(file.bytes);
    file.is_immutable = path.find("/hashed-") != std::string::npos;
    found.emplace(std::move(path), std::move(file));
  }
  if (error || found.find("/index.html") == found.end()) return false;
  files_ = std::move(found);
  return true;
}

const WebFile* WebFiles::find(std::string_view path, bool accepts_gzip) const {
  const std::string name(path == "/" ? std::string_view("/index.html") : path);
  if (name.ends_with(".gz")) return nullptr;
  if (accepts_gzip) {
    if (const auto it = files_.find(name + ".gz"); it != files_.end()) return &it->second;
  }
  const auto it = files_.find(name);
  return it == files_.end() ? nullptr : &it->second;
}

std::string missing_viewer_page(bool is_being_built) {
  const std::string head =
      "<!doctype html><html lang=en><meta charset=utf-8><title>Tactus</title>"
      "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:4em auto;padding:0 1em;"
      "color:#222;background:#fafafa}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181a1f}}"
      "pre{padding:.8em;border:1px solid #8886;border-radius:6px}</style>";
  const std::string meanwhile =
      "<p>Without it: <code>tactus status</code>, <code>tactus watch</code>, <code>tactus push</code>.</p></html>";
  if (is_being_built)
    return head +
           "<meta http-equiv=refresh content=2><h1>The server runs. Its viewer is being built.</h1>"
           "<p>This page shows it as soon as it is there. What the build says: <code>build/viewer.log</code></p>" +
           meanwhile;
  return head +
         "<h1>The server runs. Its viewer is not built.</h1>"
         "<p>The viewer needs Node.js 18 or newer, npm, and once the network, for the libraries that its lock file "
         "names:"
         "</p><pre>clients/web/build</pre>"
         "<p>Then reload this page; the server need not be restarted. <code>server/run</code> does it by itself where "
         "it can; <code>build/viewer.log</code> says why it could not.</p>" +
         meanwhile;
}

}  // namespace tactus::net
