// Distance fields, built once and kept on disk. core/shape builds a cell; this file owns threads, files and progress.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape/mesh/distance_field.h"

namespace tactus {

// Where fields are kept: $TACTUS_CACHE; else $XDG_CACHE_HOME/tactus; else $HOME/.cache/tactus. Empty: nowhere (no such
// variable, or TACTUS_CACHE set to nothing).
std::string cache_directory();

struct FieldCacheOptions {
  std::string directory;      // empty: nothing is kept
  unsigned threads = 0;       // 0: as many as the machine has cores; the bytes do not depend on it
  bool show_progress = true;  // on stderr, when it is a terminal and the build takes longer than a second
};

// Of everything that the field depends on: vertices, triangles, options and the versions of both formats. 32
// hexadecimal digits: the file's name.
std::string field_key(const TriangleMesh& mesh, const FieldOptions& options);

// A cache file: magic, version, key, length, checksum, then field_bytes(). Reading a damaged, foreign or shortened one
// gives false and the reason.
std::vector<std::byte> cache_file_bytes(const std::string& key, const DistanceField& field);
bool field_from_cache_file(std::span<const std::byte> bytes, const std::string& key, const TriangleMesh& mesh,
                           DistanceField& out, std::string& error);

// From the cache if a good file is there, otherwise built and kept. What a user should know is added to notes: a file
// that was damaged, a directory that cannot be written, a build that took long. name: the mesh's, for notes. Throws
// InputError when the field cannot be built (more than options.max_bytes).
std::shared_ptr<const DistanceField> cached_field(const TriangleMesh& mesh, const FieldOptions& options,
                                                  const std::string& name, const FieldCacheOptions& cache,
                                                  std::vector<std::string>& notes);

}  // namespace tactus
