// The files of the source tree by folder and ending, for the tests that read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace klab::tree {

inline const std::filesystem::path root = KLAB_SOURCE_DIR;

/// Paths from the root, sorted; folders that are missing hold none.
inline std::vector<std::string> files_under(std::initializer_list<const char*> rooms,
                                            const std::set<std::string>& endings) {
  std::vector<std::string> found;
  for (const char* room : rooms) {
    if (!std::filesystem::exists(root / room)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room))
      if (entry.is_regular_file() && endings.count(entry.path().extension().string()) != 0)
        found.push_back(std::filesystem::relative(entry.path(), root).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

inline std::vector<std::string> code_files() {
  return files_under({"reference", "kernels", "harness", "labs", "tests", "reports"},
                     {".cpp", ".h", ".cu", ".cuh"});
}

}  // namespace klab::tree
