// The parts of the web door that need no network: whose pages are let in, which paths there are, what is offered.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "server/net/web/web_policy.h"

using namespace tactus::net;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("tactus-web-" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }
  fs::path path;
};

}  // namespace

TEST_CASE("server_web: a page is let in when it came from this server under an address or as localhost") {
  CHECK(is_origin_allowed("", "127.0.0.1:8765", ""));  // no browser
  CHECK(is_origin_allowed("http://127.0.0.1:8765", "127.0.0.1:8765", ""));
  CHECK(is_origin_allowed("HTTP://LocalHost:8765", "localhost:8765", ""));
  CHECK(is_origin_allowed("http://[::1]:8765", "[::1]:8765", ""));
  CHECK(is_origin_allowed("http://192.168.7.2:8765", "192.168.7.2:8765", ""));
  CHECK(is_origin_allowed("https://10.0.0.1", "10.0.0.1", ""));  // behind a proxy that ends TLS
}

TEST_CASE("server_web: other pages are not, nor a name that was rebound to this machine") {
  for (const char* origin :
       {"http://evil.example", "http://127.0.0.1:8766", "http://127.0.0.1", "null", "file://",
        "http://127.0.0.1:8765.evil", "ws://127.0.0.1:8765", " http://127.0.0.1:8765", "http://127.0.0.1:8765/"}) {
    CAPTURE(origin);
    CHECK_FALSE(is_origin_allowed(origin, "127.0.0.1:8765", ""));
  }
  CHECK_FALSE(is_origin_allowed("http://evil.example:8765", "evil.example:8765", ""));
  CHECK_FALSE(is_origin_allowed("http://localhost.evil:8765", "localhost.evil:8765", ""));
  CHECK_FALSE(is_origin_allowed("http://", "", ""));
  CHECK_FALSE(is_origin_allowed("http://[::1", "[::1", ""));
}

TEST_CASE("server_web: origins of the config are whole, separated by blanks") {
  const char* allowed = "https://a.example http://b.example:9000";
  CHECK(is_origin_allowed("https://a.example", "127.0.0.1:8765", allowed));
  CHECK(is_origin_allowed("http://b.example:9000", "127.0.0.1:8765", allowed));
  CHECK_FALSE(is_origin_allowed("http://b.example", "127.0.0.1:8765", allowed));
  CHECK_FALSE(is_origin_allowed("https://a.example http://b.example:9000", "127.0.0.1:8765", allowed));
  CHECK(is_origin_allowed("https://c.example", "127.0.0.1:8765", "*"));
  CHECK_FALSE(is_origin_allowed("https://c.example", "127.0.0.1:8765", "  "));
}

TEST_CASE("server_web: who is not let in is told why, and what to open or to set instead") {
  const std::string url = "http://192.168.7.2:8765";
  CHECK(refusal_of_origin("http://192.168.7.2:8765", "192.168.7.2:8765", "", url).empty());
  CHECK(refusal_of_origin("http://robot:8765", "robot:8765", "http://robot:8765", url).empty());
  const std::string name = refusal_of_origin("http://robot:8765", "robot:8765", "", url);
  for (const char* part :
       {"a name", "http://192.168.7.2:8765/", "[web] allowed_origins = \"http://robot:8765\"", "config"}) {
    CAPTURE(part);
    CHECK(name.find(part) != std::string::npos);
  }
  CHECK(refusal_of_origin("https://evil.example", "robot:8765", "", url).find("not this server's") !=
        std::string::npos);
  for (const char* origin : {"null", "file://", "http://a\"b", "http://a/<script>", "http://a b"}) {  // not repeated
    CAPTURE(origin);
    const std::string said = refusal_of_origin(origin, "127.0.0.1:8765", "", url);
    CHECK(said.find("another site") != std::string::npos);
    CHECK(said.find(origin) == std::string::npos);
  }
}

TEST_CASE("server_web: files are found by their exact path only, compressed ones under the plain name") {
  const Folder folder;
  folder.write("index.html", "page");
  folder.write("hashed-1.js", "script");
  folder.write("hashed-1.js.gz", "compressed");
  folder.write("sub/style.css", "style");
  WebFiles files;
  CHECK(files.empty());
  REQUIRE(files.load(folder.path.string()));
  REQUIRE(files.find("/", false) != nullptr);
  CHECK(files.find("/", true)->bytes == "page");
  CHECK_FALSE(files.find("/", true)->is_immutable);
  CHECK(files.find("/hashed-1.js", false)->bytes == "script");
  CHECK(files.find("/hashed-1.js", false)->is_immutable);
  CHECK(files.find("/hashed-1.js", true)->bytes == "compressed");
  CHECK(files.find("/hashed-1.js", true)->type == "text/javascript; charset=utf-8");
  CHECK(files.find("/sub/style.css", true)->type == "text/css; charset=utf-8");
  CHECK(files.find("/hashed-1.js", true)->etag != files.find("/hashed-1.js", false)->etag);
  for (const char* path : {"", "//", "/.", "/..", "/../index.html", "/sub", "/sub/", "/sub/../index.html", "index.html",
                           "/INDEX.HTML", "/hashed-1.js.gz", "/index.html?", "/index.html/", "/%2e%2e/index.html"}) {
    CAPTURE(path);
    CHECK(files.find(path, true) == nullptr);
  }
}

TEST_CASE("server_web: no path at all leads out of the folder") {
  const Folder folder;
  folder.write("viewer/index.html", "page");
  folder.write("secret", "secret");
  WebFiles files;
  REQUIRE(files.load((folder.path / "viewer").string()));
  std::mt19937_64 random(3);
  const std::string pieces[] = {"/", "..", ".", "secret", "viewer", "index.html", "%2e", "\\", std::string(1, '\0'),
                                "a"};
  for (int i = 0; i < 20'000; ++i) {
    std::string path;
    for (std::uint64_t n = random() % 8; n > 0; --n) path += pieces[random() % 10];
    const WebFile* file = files.find(path, random() % 2 == 0);
    if (file != nullptr) REQUIRE(file->bytes == "page");
  }
}

TEST_CASE("server_web: a folder without a page is no viewer, and what was loaded stays") {
  const Folder folder;
  WebFiles files;
  CHECK_FALSE(files.load((folder.path / "absent").string()));
  folder.write("other.html", "x");
  CHECK_FALSE(files.load(folder.path.string()));
  folder.write("index.html", "page");
  REQUIRE(files.load(folder.path.string()));
  fs::remove(folder.path / "index.html");
  CHECK_FALSE(files.load(folder.path.string()));
  CHECK(files.find("/", false)->bytes == "page");
  CHECK(missing_viewer_page(false).find("clients/web/build") != std::string::npos);
  CHECK(missing_viewer_page(false).find("http-equiv=refresh") == std::string::npos);
  CHECK(missing_viewer_page(true).find("being built") != std::string::npos);
  CHECK(missing_viewer_page(true).find("http-equiv=refresh") != std::string::npos);
}
