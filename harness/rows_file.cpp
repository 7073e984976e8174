// Writes a run so that no reader ever sees half of it.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/rows.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw RowsError(fmt::format("{}: {}", path, why));
}

/// The file that a rename must replace: a link's target, not the link.
fs::path target_of(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : target;
}

fs::path temporary_beside(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), getpid());
}

/// Creates the temporary file; its descriptor. Throws with the reason why not.
int create(const std::string& path, const fs::path& temporary) {
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) refuse(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  return file;
}

}  // namespace

void require_writable(const std::string& path) {
  const fs::path target = target_of(path);
  const std::string extension = target.extension().string();
  if (extension != ".csv" && extension != ".json")
    refuse(path, "the name must end in .csv or .json, which says the format");
  struct stat info {};
  if (stat(target.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) refuse(path, "is there already and is not a regular file");
    if (access(target.c_str(), W_OK) != 0) refuse(path, "is there already and is write-protected");
  }
  const fs::path temporary = temporary_beside(target);
  close(create(path, temporary));
  unlink(temporary.c_str());
}

void write_run(const std::string& path, const Recording& run, const Machine& machine,
               const Ceilings& ceilings) {
  require_writable(path);
  const fs::path target = target_of(path), temporary = temporary_beside(target);
  const std::string text =
      target.extension() == ".csv" ? to_csv(run) : to_json(run, machine, ceilings).dump(1) + "\n";
  const int file = create(path, temporary);
  size_t written = 0;
  int error = 0;
  while (written < text.size() && error == 0) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) error = errno;
    if (n > 0) written += size_t(n);
  }
  if (error == 0 && fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.c_str());
  refuse(path, fmt::format("could not be written: {}", std::strerror(error)));
}

}  // namespace klab
