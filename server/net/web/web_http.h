// What the web server answers to HTTP: the viewer's files, from memory, and short texts that say what is wrong.
#pragma once

#include <libwebsockets.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/web/web_policy.h"

namespace tactus::net {

// An answer under way.
struct WebReply {
  std::shared_ptr<const WebFiles> files;  // holds the file while it is sent
  std::string own;                        // a page that is no file
  std::string_view body;
};

class WebHttp {
 public:
  WebHttp(std::string directory, WebPages pages) : directory_(std::move(directory)), pages_(std::move(pages)) {}

  // Begins the answer to a request; lws' return code.
  // is_refused: the method or the path is none of ours.
  int answer(lws* wsi, std::string_view path, WebReply** reply, bool* is_refused);
  // Sends the next piece of the body; lws' return code.
  static int write(lws* wsi, WebReply** reply);

  // Begins to send a text.
  static int answer_page(lws* wsi, WebPage&& page, WebReply** reply);

 private:
  void refresh();
  bool is_being_built() const;
  const WebFile* find(lws* wsi, std::string_view path) const;

  std::string directory_;
  WebPages pages_;
  std::shared_ptr<const WebFiles> files_ = std::make_shared<WebFiles>();
  std::string stamp_;  // of index.html as loaded
  std::uint64_t looked_ns_ = 0;
};

}  // namespace tactus::net
