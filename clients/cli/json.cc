#include "clients/cli/json.h"

#include <cmath>
#include <cstdio>

namespace tactus::cli {

void Json::comma(std::string_view key) {
  if (!text_.empty() && text_.back() != '{' && text_.back() != '[') text_ += ',';
  if (key.empty()) return;
  quoted(key);
  text_ += ':';
}

void Json::quoted(std::string_view value) {
  text_ += '"';
  for (const char c : value) {
    char escape[8];
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      text_ += escape;
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

Json& Json::open(char bracket, std::string_view key) {
  comma(key);
  text_ += bracket;
  return *this;
}

Json& Json::close(char bracket) {
  text_ += bracket;
  return *this;
}

Json& Json::field(std::string_view key, double value) {
  comma(key);
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", value);
  text_ += std::isfinite(value) ? number : "null";
  return *this;
}

Json& Json::field(std::string_view key, std::uint64_t value) {
  comma(key);
  text_ += std::to_string(value);
  return *this;
}

Json& Json::field(std::string_view key, std::string_view value) {
  comma(key);
  quoted(value);
  return *this;
}

Json& Json::field(std::string_view key, bool value) {
  comma(key);
  text_ += value ? "true" : "false";
  return *this;
}

Json& Json::field(std::string_view key, const client::Vec3& value) {
  open('[', key);
  for (const double x : value) field({}, x);
  return close(']');
}

Json& Json::field(std::string_view key, const Spread& value) {
  open('{', key);
  field("p50", value.p50).field("p99", value.p99).field("p999", value.p999).field("max", value.max);
  return field("count", static_cast<std::uint64_t>(value.count)).close('}');
}

Json& Json::field(std::string_view key, const v1::Histogram& value) {
  return field(key, Spread{value.p50(), value.p99(), value.p999(), value.max(), value.count()});
}

}  // namespace tactus::cli
