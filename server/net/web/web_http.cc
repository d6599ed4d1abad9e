#include "server/net/web/web_http.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "server/net/web/web_client.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr std::size_t kPiece = 32u << 10, kHeadMax = 2048;
// Scripts and styles from this server alone; no other page may frame the viewer.
constexpr const char* kPolicy =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' ws: wss:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

class Head {
 public:
  explicit Head(lws* wsi) : wsi_(wsi), at_(bytes_.data() + LWS_PRE), end_(bytes_.data() + bytes_.size()) {}
  void start(unsigned status, const std::string& type, std::size_t length) {
    good_ = good_ && lws_add_http_common_headers(wsi_, status, type.c_str(), static_cast<lws_filepos_t>(length), &at_,
                                                 end_) == 0;
  }
  void add(const char* name, const std::string& value) {
    good_ = good_ && lws_add_http_header_by_name(wsi_, reinterpret_cast<const unsigned char*>(name),
                                                 reinterpret_cast<const unsigned char*>(value.data()),
                                                 static_cast<int>(value.size()), &at_, end_) == 0;
  }
  [[nodiscard]] bool send() {
    return good_ && lws_finalize_write_http_header(wsi_, bytes_.data() + LWS_PRE, &at_, end_) == 0;
  }

 private:
  lws* wsi_;
  std::array<unsigned char, LWS_PRE + kHeadMax> bytes_{};
  unsigned char *at_, *end_;
  bool good_ = true;
};

bool is_head(lws* wsi) {
  return lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
}
bool is_get(lws* wsi) {
  return is_head(wsi) || lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0;
}

int finished(lws* wsi) {
  return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}

void add_safety(Head& head) {
  head.add("content-security-policy:", kPolicy);
  head.add("x-content-type-options:", "nosniff");
  head.add("referrer-policy:", "no-referrer");
}

}  // namespace

void WebHttp::refresh() {
  const std::uint64_t now = now_ns();
  if (looked_ns_ != 0 && now < looked_ns_ + 1'000'000'000u) return;
  looked_ns_ = now;
  std::error_code error;
  const auto time = std::filesystem::last_write_time(directory_ + "/index.html", error);
  const std::string stamp = error ? std::string() : std::to_string(time.time_since_epoch().count());
  if (stamp == stamp_ || stamp.empty()) return;
  auto files = std::make_shared<WebFiles>();
  if (!files->load(directory_)) return;
  files_ = std::move(files);
  stamp_ = stamp;
}

// clients/web/build leaves a mark beside the folder while it works; one that was killed leaves it for good.
bool WebHttp::is_being_built() const {
  std::error_code error;
  const auto since = std::filesystem::last_write_time(directory_ + ".building", error);
  return !error && std::filesystem::file_time_type::clock::now() - since < std::chrono::minutes(10);
}

const WebFile* WebHttp::find(lws* wsi, std::string_view path) const {
  const bool gzip = header_of(wsi, WSI_TOKEN_HTTP_ACCEPT_ENCODING).find("gzip") != std::string::npos;
  return files_->find(path, gzip);
}

int WebHttp::answer_page(lws* wsi, WebPage&& page, WebReply** reply) {
  auto next = std::make_unique<WebReply>();
  next->own = std::move(page.body);
  next->body = next->own;
  Head head(wsi);
  head.start(page.status, page.type, next->body.size());
  head.add("cache-control:", "no-store");
  add_safety(head);
  if (!head.send()) return -1;
  if (is_head(wsi)) return finished(wsi);
  delete std::exchange(*reply, next.release());
  lws_callback_on_writable(wsi);
  return 0;
}

int WebHttp::answer(lws* wsi, std::string_view path, WebReply** reply, bool* is_refused) {
  *is_refused = true;
  if (!is_get(wsi)) {
    lws_return_http_status(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "expected GET or HEAD");
    return -1;
  }
  if (std::optional<WebPage> page = pages_(path, is_loopback(peer_of(wsi)))) {
    *is_refused = page->status == HTTP_STATUS_FORBIDDEN;
    return answer_page(wsi, std::move(*page), reply);
  }
  refresh();
  const WebFile* file = find(wsi, path);
  if (file == nullptr && path != "/") {
    lws_return_http_status(wsi, HTTP_STATUS_NOT_FOUND, "no such file in the viewer; try /");
    return finished(wsi);
  }
  *is_refused = false;
  auto next = std::make_unique<WebReply>();
  next->files = files_;
  next->own = file == nullptr ? missing_viewer_page(is_being_built()) : std::string();
  next->body = file == nullptr ? std::string_view(next->own) : std::string_view(file->bytes);
  const bool is_same = file != nullptr && header_of(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH) == file->etag;
  Head head(wsi);
  head.start(is_same ? HTTP_STATUS_NOT_MODIFIED : HTTP_STATUS_OK,
             file == nullptr ? "text/html; charset=utf-8" : file->type, is_same ? 0 : next->body.size());
  head.add("cache-control:",
           file != nullptr && file->is_immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (file != nullptr) head.add("etag:", file->etag);
  if (file != nullptr && file->is_gzip) head.add("content-encoding:", "gzip");
  head.add("vary:", "accept-encoding");
  add_safety(head);
  if (!head.send()) return -1;
  if (is_same || is_head(wsi)) return finished(wsi);
  delete std::exchange(*reply, next.release());
  lws_callback_on_writable(wsi);
  return 0;
}

int WebHttp::write(lws* wsi, WebReply** reply) {
  if (reply == nullptr || *reply == nullptr) return 0;
  WebReply& r = **reply;
  std::array<unsigned char, LWS_PRE + kPiece> bytes;
  const std::size_t length = std::min(r.body.size(), kPiece);
  std::memcpy(bytes.data() + LWS_PRE, r.body.data(), length);
  r.body.remove_prefix(length);
  const bool is_last = r.body.empty();
  if (lws_write(wsi, bytes.data() + LWS_PRE, length, is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) !=
      static_cast<int>(length))
    return -1;
  if (!is_last) {
    lws_callback_on_writable(wsi);
    return 0;
  }
  delete std::exchange(*reply, nullptr);
  return finished(wsi);
}

}  // namespace tactus::net
