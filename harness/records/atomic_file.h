// Files that readers never see half-written: written under a temporary name in the target's folder, flushed
// to disk, then renamed into place.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace klab {

/// what() names the file and the reason why it cannot be written.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file being written. Without commit() the target is unchanged and nothing is left behind. A link stays a
/// link; the file it points to is replaced. Every member throws FileError. The constructor throws it if the
/// folder is missing or closed, or if the existing file is not regular or is write-protected.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Returns the temporary file, for libraries that open files by name.
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path file_, target_, temporary_;
  int descriptor_ = -1;  // negative: committed
};

void write_file(const std::filesystem::path& file, std::string_view text);

/// Throws FileError now, rather than after hours of work, if the file could not be written.
void require_writable_file(const std::filesystem::path& file);

}  // namespace klab
