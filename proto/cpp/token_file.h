// A token file: what stands in it is what both sides must prove to know, so nobody else may write it. Read alike by the
// server and its clients.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tactus::wire {

struct TokenFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Token {
  std::string text;
  std::vector<std::string> warnings;
};

// The server warns of a file of some other user, too. To a client it may well be the service's.
enum class Reader { server, client };

// The file's contents without trailing white space. Throws TokenFileError, its text led by `name` (file, line and key,
// or the flag), when the file is no file, is empty or too short, or when others than its owner may write or replace it;
// a file that others can read is warned of. Its group may read it: so a service hands its token to those it trusts.
Token read_token_file(const std::string& name, const std::string& path, Reader reader);

}  // namespace tactus::wire
