// A token file: what stands in it is what clients must prove to know, so nobody else may write it.
#pragma once

#include <string>
#include <vector>

namespace tactus {

struct Token {
  std::string text;
  std::vector<std::string> warnings;
};

// The file's contents without trailing white space. Throws InputError, its text led by `name` (file, line and key, or
// the flag), when the file is no file, is empty or too short, or when others than its owner may write or replace it; a
// file that others can read, or that belongs to somebody else, is warned of. Its group may read it: so a service hands
// its token to those it trusts.
Token read_token_file(const std::string& name, const std::string& path);

}  // namespace tactus
