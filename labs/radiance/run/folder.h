// The folder of a run: chosen, made, locked, swept, and tried before the work begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace klab {

/// Throws std::runtime_error when a new run cannot go there: what exists is a file, or not empty. Empty is no folder yet.
void require_unused(const std::filesystem::path& out);

/// Makes a folder with those above it. Throws std::runtime_error naming it and why not.
void make_folder(const std::filesystem::path& folder);

/// A run's folder while this process writes into it. Another process that opens it is refused, naming this one.
class RunFolder {
 public:
  /// The folder `out`, or where that is empty runs/<scene> with a number where that is taken. It is made.
  static RunFolder create(const std::filesystem::path& out, const std::string& scene);
  /// One that is there. Temporary files of processes that were killed are removed.
  static RunFolder reopen(const std::filesystem::path& folder);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

  /// Whether a process writes into a run's folder.
  static bool in_use(const std::filesystem::path& folder);

  /// Says before the work begins that its result could not be kept: tries every file that a run writes, and the room for
  /// `bytes` on the disk and under the process's limit; `largest` of them in one file.
  void require_writable(int64_t bytes, int64_t largest) const;

 private:
  explicit RunFolder(std::filesystem::path path);
  void sweep() const;

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace klab
