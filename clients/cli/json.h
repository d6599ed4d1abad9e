// Writes one JSON value, piece by piece. Non-finite numbers become null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "clients/cli/commands.h"

namespace tactus::cli {

class Json {
 public:
  Json& open(char bracket, std::string_view key = {});  // '{' or '['
  Json& close(char bracket);                            // '}' or ']'
  Json& field(std::string_view key, double value);
  Json& field(std::string_view key, std::uint64_t value);
  Json& field(std::string_view key, std::uint32_t value) { return field(key, static_cast<std::uint64_t>(value)); }
  Json& field(std::string_view key, std::string_view value);
  Json& field(std::string_view key, const char* value) { return field(key, std::string_view(value)); }
  Json& field(std::string_view key, const std::string& value) { return field(key, std::string_view(value)); }
  Json& field(std::string_view key, bool value);
  Json& field(std::string_view key, const client::Vec3& value);
  Json& field(std::string_view key, const Spread& value);
  Json& field(std::string_view key, const v1::Histogram& value);
  const std::string& text() const { return text_; }

 private:
  void comma(std::string_view key);
  void quoted(std::string_view value);
  std::string text_;
};

}  // namespace tactus::cli
