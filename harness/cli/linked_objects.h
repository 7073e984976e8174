// The object files of a build, and which of them decide what a part of its program does.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// Returns the nearest folder above a file that CMake builds in; empty where there is none.
std::filesystem::path build_folder_of(const std::filesystem::path& program);

/// When the file was written that an object of this path is linked into.
using LinkTime = std::function<std::filesystem::file_time_type(const std::string& path)>;

class LinkedObjects {
 public:
  /// Finds the objects below a build folder. Those of its folder tests/ are no part of the program.
  explicit LinkedObjects(std::filesystem::path build);

  /// Returns a digest of the objects whose paths contain one of these texts, and of those that define what they call. It
  /// covers what is loaded, code and data with relocations and symbols: a change of comments alone leaves it as it was.
  /// Returns "" where one of the texts is in no path, and where the program may hold other code: an object is newer than
  /// the file it was linked into, which `linked` tells the time of, or was replaced after it was read here.
  std::string digest(std::span<const std::string> parts, const LinkTime& linked);

 private:
  struct Object {
    std::filesystem::path file;
    std::string path;  // below the build folder
    std::string code;  // digest of what is loaded
    std::vector<std::string> defines, needs;
    std::filesystem::file_time_type time;  // when it was read
  };
  void read_all();

  std::filesystem::path build_;
  std::vector<Object> objects_;
  std::multimap<std::string, size_t, std::less<>> defined_;
};

/// Returns a digest of what an ELF object loads, of the whole content for another kind of file, and fills in the names of
/// its global symbols.
std::string digest_of_object(std::string_view content, std::vector<std::string>& defines,
                             std::vector<std::string>& needs);

}  // namespace klab
