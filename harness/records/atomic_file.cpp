#include "harness/records/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace klab {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw FileError(file.string() + ": " + why);
}

std::string cannot(int error) { return std::string("cannot be written: ") + std::strerror(error); }

/// Returns the file that a rename must replace: a link's target, not the link.
fs::path target_of(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(file, error);
  return error ? file : target;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& file) : file_(file), target_(target_of(file)) {
  struct stat info {};
  if (stat(target_.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) refuse(file_, "is there already and is not a regular file");
    if (access(target_.c_str(), W_OK) != 0) refuse(file_, "is there already and is write-protected");
  }
  // In the target's folder, since a rename does not cross file systems. Named by process, so that two
  // processes do not share it.
  temporary_ =
      target_.parent_path() / ("." + target_.filename().string() + "." + std::to_string(getpid()) + ".tmp");
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) refuse(file_, cannot(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor_, p, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse(file_, cannot(errno));
    p += done;
    bytes -= size_t(done);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) refuse(file_, cannot(errno));
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(file_, cannot(errno));
  close(descriptor_);
  descriptor_ = -1;
}

void write_file(const fs::path& file, std::string_view text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

void require_writable_file(const fs::path& file) { const AtomicFile probe(file); }

}  // namespace klab
