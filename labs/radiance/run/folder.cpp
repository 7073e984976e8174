#include "labs/radiance/run/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = ".lock";
// All files that a run writes; of its pictures, one.
constexpr const char* kFiles[] = {
    "checkpoint.safetensors", "model.safetensors", "metrics.csv", "plan.json", "result.json", "test_0.png",
    "cameras.json",           "contact_sheet.png"};

constexpr const char* kElsewhere = "; name a folder that you may write to by --out DIR";

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw std::runtime_error(folder.string() + ": " + why);
}

/// Returns the lock's descriptor. A process that ends in order removes the file; one that is killed leaves it
/// unlocked.
int take_lock(const fs::path& folder) {
  const fs::path file = folder / kLockFile;
  for (int tries = 0; tries < 100; ++tries) {
    const int lock = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0)
      refuse(folder, std::string("cannot be written to; choose another folder: ") + std::strerror(errno));
    // File systems of clusters may have no locks: ENOSYS, ENOLCK, EPERM. Only EWOULDBLOCK means another owner.
    const int why = flock(lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (why != 0 && why != EWOULDBLOCK)
      std::fprintf(
          stderr,
          "note      %s: files cannot be locked here (%s): see to it that no other klab writes into this "
          "folder\n",
          folder.c_str(), std::strerror(why));
    if (why == EWOULDBLOCK) {
      char owner[24] = {};
      [[maybe_unused]] const ssize_t n = read(lock, owner, sizeof owner - 1);
      close(lock);
      refuse(folder,
             fmt::format("another klab (process {}) is writing into it; wait until it has ended, or take "
                         "another folder",
                         std::atol(owner)));
    }
    // If the owner removed the file between open and lock, the lock protects nothing: retry.
    struct stat mine {
    }, there{};
    if (fstat(lock, &mine) == 0 && stat(file.c_str(), &there) == 0 && mine.st_ino == there.st_ino) {
      const std::string owner = std::to_string(getpid()) + "\n";
      if (ftruncate(lock, 0) != 0 || pwrite(lock, owner.data(), owner.size(), 0) != ssize_t(owner.size())) {
        const int error = errno;
        close(lock);
        refuse(folder, std::string("cannot be written to: ") + std::strerror(error));
      }
      return lock;
    }
    close(lock);
  }
  refuse(folder, "cannot be locked");
}

}  // namespace

void require_unused(const fs::path& out) {
  std::error_code error;
  const auto status = fs::status(out, error);
  if (status.type() == fs::file_type::not_found) return;
  if (error)
    throw std::runtime_error(fmt::format("--out {}: cannot be read: {}", out.string(), error.message()));
  if (!fs::is_directory(status))
    throw std::runtime_error(fmt::format("--out {}: is a file; name a folder", out.string()));
  if (!fs::is_empty(out, error) || error)
    throw std::runtime_error(
        fmt::format("--out {0}: exists and is not empty; nothing was touched. Name another folder, or go on "
                    "with what is there by "
                    "--resume {0}",
                    out.string()));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    refuse(folder,
           "cannot be made: " + (error ? error.message() : std::string("it is no folder")) + kElsewhere);
}

RunFolder RunFolder::create(const fs::path& out, const std::string& scene) {
  if (!out.empty()) {
    make_folder(out);
    return RunFolder(out);
  }
  make_folder("runs");
  for (int i = 1;; ++i) {
    const fs::path candidate = fs::path("runs") / (i == 1 ? scene : fmt::format("{}-{}", scene, i));
    // The process that creates the folder owns it: two may look for a name at the same time.
    std::error_code error;
    if (fs::create_directory(candidate, error)) return RunFolder(candidate);
    if (error) refuse(candidate, "cannot be made: " + error.message() + kElsewhere);
  }
}

RunFolder RunFolder::reopen(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    refuse(folder, "is no folder of a run, with a checkpoint to go on from");
  require_regular_file(folder / "checkpoint.safetensors", int64_t(1)
                                                              << 62);  // before anything is written there
  RunFolder run(folder);
  run.sweep();
  return run;
}

RunFolder::RunFolder(fs::path path) : path_(std::move(path)), lock_(take_lock(path_)) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ < 0) return;
  unlink((path_ / kLockFile).c_str());
  close(lock_);
}

// The owner of the lock is the only writer, so temporary files here belong to dead processes. See
// atomic_file.h for the names.
void RunFolder::sweep() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') && name.ends_with(".tmp")) fs::remove(entry.path(), error);
  }
}

void RunFolder::require_writable(int64_t bytes, int64_t largest) const {
  for (const char* name : kFiles) require_writable_file(file(name));
  struct statvfs disk {};
  if (statvfs(path_.c_str(), &disk) == 0 && int64_t(disk.f_bavail) * int64_t(disk.f_frsize) < bytes)
    refuse(path_, fmt::format("{:.0f} MB are needed for checkpoint and model, {:.0f} MB are free",
                              double(bytes) * 1e-6, double(disk.f_bavail) * double(disk.f_frsize) * 1e-6));
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      int64_t(limit.rlim_cur) < largest)
    refuse(path_ / kFiles[0],
           fmt::format("will have {:.0f} MB, and this shell's limit for a file (ulimit -f) is {:.3g} MB",
                       double(largest) * 1e-6, double(limit.rlim_cur) * 1e-6));
}

bool RunFolder::in_use(const fs::path& folder) {
  // Checks the process number; trying the lock could keep a run from starting just then.
  std::ifstream in(folder / kLockFile);
  pid_t owner = 0;
  return in >> owner && owner > 0 && (kill(owner, 0) == 0 || errno == EPERM);
}

}  // namespace klab
