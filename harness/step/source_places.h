// Places in a learner's file: the line of a machine address, and declarations of variables without a value.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab {

struct SourceLine {
  int line = 0;      // from 1; 0: unknown
  std::string text;  // the line without indentation
};

/// Returns the line of `source` that an address of a module belongs to, found by addr2line: the innermost call in the file
/// itself. `offset` is hexadecimal.
SourceLine crash_line(const std::filesystem::path& module, const std::string& offset,
                      const std::filesystem::path& source);

/// Returns the declarations of automatic numbers and arrays that have no value: "float sum;", "float part[4];".
std::vector<SourceLine> unset_variables(const std::string& source);

}  // namespace klab
