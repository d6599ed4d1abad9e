// What the wire calls a string is UTF-8: the table of well-formed sequences (Unicode, 3-7) at its edges, and what is
// beside it.
#include "proto/cpp/utf8.h"

#include <doctest/doctest.h>

#include <string>

#include "control.pb.h"

using namespace tactus::wire;

TEST_CASE("utf8: what is well-formed stays as it is") {
  for (const std::string text : {"", "plain", "gl\xc3\xbch", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(as_utf8(text) == text);
  CHECK(as_utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("utf8: each byte that belongs to no character becomes one mark, and its neighbours stay") {
  const std::string mark = "\xef\xbf\xbd";
  CHECK(as_utf8("gl\xfch") == "gl" + mark + "h");
  CHECK(as_utf8("\x80") == mark);
  CHECK(as_utf8("\xc3") == mark);                                          // cut off
  CHECK(as_utf8("\xe2\x82") == mark + mark);                               // cut off
  CHECK(as_utf8("\xc0\xaf") == mark + mark);                               // overlong
  CHECK(as_utf8("\xe0\x9f\xbf") == mark + mark + mark);                    // overlong
  CHECK(as_utf8("\xed\xa0\x80") == mark + mark + mark);                    // a surrogate
  CHECK(as_utf8("\xf4\x90\x80\x80") == mark + mark + mark + mark);         // beyond U+10FFFF
  CHECK(as_utf8("\xf0\x8f\xbf\xbf!") == mark + mark + mark + mark + "!");  // overlong
}

TEST_CASE("utf8: every pair of bytes gives a message that the other side decodes") {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      tactus::v1::Error error, read;
      error.set_text(as_utf8(std::string{static_cast<char>(a), static_cast<char>(b)}));
      REQUIRE(read.ParseFromString(error.SerializeAsString()));
      REQUIRE(read.text() == error.text());
    }
}
