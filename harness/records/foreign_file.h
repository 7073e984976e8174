// Recognizes a file that is not what its name says, by its first bytes: a pointer of Git LFS, a saved page, an archive, a
// picture of another format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace klab {

struct ForeignFile {
  std::string what;    // "a pointer of Git LFS, not the file itself"
  std::string remedy;  // what to do about it
};

/// Returns what a file is that begins with these bytes; nothing if they are not known.
std::optional<ForeignFile> foreign_file(std::string_view bytes);

}  // namespace klab
