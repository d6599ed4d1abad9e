// No request is forgotten when it comes to who may change something: the table has a row for each field of the wire's
// Request, and what its text says needs a lease changes something.
#include "server/net/desk/request_table.h"

#include <doctest/doctest.h>

#include <fstream>
#include <regex>
#include <string>

using namespace tactus;
using net::Changes;
using net::changes_something;
using net::kRequestTable;

namespace {

const google::protobuf::OneofDescriptor* requests() {
  return v1::Request::descriptor()->FindOneofByName("body");
}

Changes row_of(int field) {
  for (const net::RequestRow& row : kRequestTable) {
    if (row.body == field) return row.changes;
  }
  FAIL("no row");
  return Changes::something;
}

}  // namespace

TEST_CASE("request table: one row for each request of the wire") {
  REQUIRE(requests() != nullptr);
  CHECK(static_cast<int>(kRequestTable.size()) == requests()->field_count());
  for (int i = 0; i < requests()->field_count(); ++i) {
    const int field = requests()->field(i)->number();
    int rows = 0;
    for (const net::RequestRow& row : kRequestTable) rows += row.body == field ? 1 : 0;
    CAPTURE(requests()->field(i)->name());
    CHECK(rows == 1);
  }
}

TEST_CASE("request table: a request that needs a lease is one that changes something") {
  std::ifstream file(std::string(TACTUS_SOURCE_DIR) + "/proto/control.proto");
  const std::regex line(R"(    (\w+) (\w+) = (\d+);\s+//.*needs (the )?(lease|leases|"world").*)");
  std::string text;
  int found = 0;
  while (std::getline(file, text) && text.find("// server -> client") == std::string::npos) {
    std::smatch m;
    if (!std::regex_match(text, m, line)) continue;
    CAPTURE(text);
    CHECK(row_of(std::stoi(m[3])) != Changes::nothing);
    ++found;
  }
  CHECK(found >= 10);
}

TEST_CASE("request table: what depends on the content") {
  v1::Request request;
  request.mutable_take_snapshot();
  CHECK_FALSE(changes_something(request));
  request.mutable_take_snapshot()->set_name("kept");
  CHECK(changes_something(request));
  request.mutable_set_playback();
  CHECK_FALSE(changes_something(request));
  request.mutable_set_playback()->set_position_s(0);
  CHECK(changes_something(request));
  request.mutable_set_playback()->set_speed(2);
  CHECK(changes_something(request));
  request.set_command("");  // its verdict says so
  CHECK_FALSE(changes_something(request));
  CHECK(changes_something(v1::Request()));  // of a newer version
}
