// Files that no reader ever sees half of: written beside the target under a temporary name, flushed to the disk, then
// renamed into place.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace klab {

/// what() names the file and says why it cannot be written.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One file on its way. Without commit() the target stays as it was and nothing is left behind. A link stays a link:
/// what it points to is replaced. Every member throws FileError: the constructor when the folder is missing or closed, or
/// when what is there is no regular file or is write-protected.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Where the bytes go until then, for libraries that open files by name.
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path file_, target_, temporary_;
  int descriptor_ = -1;  // negative: committed
};

void write_file(const std::filesystem::path& file, std::string_view text);

/// Throws FileError now, rather than after hours of work, when the file could not be written.
void require_writable_file(const std::filesystem::path& file);

}  // namespace klab
