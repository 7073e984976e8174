#include "harness/cuda_compiler/compile_commands.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace klab::cuda_compiler {
namespace {
namespace fs = std::filesystem;

/// Locks a folder, so that compilers of a parallel build write one after the other.
class LockedFolder {
 public:
  explicit LockedFolder(const fs::path& folder)
      : file_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error(folder.string() + ": " + std::strerror(errno));
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~LockedFolder() { close(file_); }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;

 private:
  int file_;
};

}  // namespace

void record_command(const fs::path& file, const std::vector<std::string>& command, const std::string& source,
                    const std::string& output) {
  using Json = nlohmann::ordered_json;
  const fs::path whole = fs::absolute(file);
  const LockedFolder lock(whole.parent_path());
  Json list = Json::array();
  if (fs::exists(whole)) {
    std::ifstream in(whole);
    list = Json::parse(in, nullptr, false);
    if (!list.is_array())
      throw std::runtime_error(file.string() + ": no list of commands; remove it, or name another file");
  }
  const std::string folder = fs::current_path().string();
  const Json entry = {{"directory", folder}, {"arguments", command}, {"file", source}, {"output", output}};
  bool known = false;
  for (Json& one : list) {
    if (one.value("directory", "") != folder || one.value("file", "") != source ||
        one.value("output", "") != output)
      continue;
    one = entry;
    known = true;
  }
  if (!known) list.push_back(entry);
  const fs::path part = whole.string() + ".part";
  std::ofstream(part) << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  std::error_code error;
  fs::rename(part, whole, error);
  if (error) throw std::runtime_error(file.string() + ": " + error.message());
}

}  // namespace klab::cuda_compiler
