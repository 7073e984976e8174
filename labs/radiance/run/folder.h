// The folder of a run: chosen, created, locked, cleaned, and tested for writing before the work begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace klab {

/// Throws std::runtime_error if a new run cannot use the path because it is a file or a folder that is not
/// empty. An empty path means no folder yet.
void require_unused(const std::filesystem::path& out);

/// Creates a folder with its parents. Throws std::runtime_error naming it and the reason.
void make_folder(const std::filesystem::path& folder);

/// A run's folder while this process writes into it. Another process that opens it is refused with a message
/// that names this one.
class RunFolder {
 public:
  /// Creates the folder `out`, or if it is empty runs/<scene>, with a number if that exists.
  static RunFolder create(const std::filesystem::path& out, const std::string& scene);
  /// Opens an existing folder and removes temporary files of processes that were killed.
  static RunFolder reopen(const std::filesystem::path& folder);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

  /// Returns whether a process writes into a run's folder.
  static bool in_use(const std::filesystem::path& folder);

  /// Throws before the work begins if its result could not be kept: tests every file that a run writes, and
  /// the room for `bytes` on the disk and under the process's limit; `largest` of them in one file.
  void require_writable(int64_t bytes, int64_t largest) const;

 private:
  explicit RunFolder(std::filesystem::path path);
  void sweep() const;

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace klab
