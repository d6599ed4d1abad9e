#include "server/net/desk/request_table.h"

#include <algorithm>

namespace tactus::net {
namespace {

bool changes_by_content(const v1::Request& request) {
  if (request.has_take_snapshot()) return !request.take_snapshot().name().empty();  // a name is kept by the server
  if (request.has_set_playback()) return request.set_playback().has_position_s() || request.set_playback().speed() != 0;
  return !request.has_command();  // its verdict says so
}

}  // namespace

bool changes_something(const v1::Request& request) {
  const auto row = std::find_if(kRequestTable.begin(), kRequestTable.end(),
                                [&request](const RequestRow& r) { return r.body == request.body_case(); });
  if (row == kRequestTable.end()) return true;
  return row->changes == Changes::by_content ? changes_by_content(request) : row->changes == Changes::something;
}

}  // namespace tactus::net
