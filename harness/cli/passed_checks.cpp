#include "harness/cli/passed_checks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/records/atomic_file.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// The oldest go first: a few builds of everything fit.
constexpr size_t kMostPassedChecks = 4000;

using PassedList = std::vector<std::pair<std::string, PassedCheck>>;  // the newest last

PassedList read_passed(const fs::path& file) {
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in, nullptr, false);
  PassedList list;
  if (!json.is_array()) return list;
  for (const auto& entry : json) {
    if (!entry.is_array() || entry.size() != 3 || !entry[0].is_string() || !entry[1].is_number_integer() ||
        !entry[2].is_number_integer())
      return {};
    list.push_back({entry[0].get<std::string>(), {entry[1].get<int>(), entry[2].get<int>()}});
  }
  return list;
}

void write_passed(const fs::path& file, const PassedList& list) {
  std::string text = "[";
  for (const auto& [key, check] : list)
    text += (text.size() > 1 ? ",\n" : "\n") + nlohmann::json{key, check.ok, check.skipped}.dump();
  write_file(file, text + "\n]\n");
}

/// Holds a lock file for as long as it lives, so that two processes change a list one after the other.
class FileLock {
 public:
  explicit FileLock(const fs::path& file)
      : descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) throw FileError(file.string() + ": cannot be written: " + std::strerror(errno));
    while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace

fs::path passed_checks_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "klab" / "passed.json";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "klab" / "passed.json";
  return {};
}

PassedChecks::PassedChecks(fs::path file) : file_(std::move(file)) {
  for (auto& [key, check] : read_passed(file_)) own_[key] = check;
}

std::optional<PassedCheck> PassedChecks::find(const std::string& key) const {
  const auto at = own_.find(key);
  return at == own_.end() ? std::nullopt : std::optional(at->second);
}

void PassedChecks::add(const std::string& key, const PassedCheck& check) {
  own_[key] = check;
  change(key, check);
}

void PassedChecks::forget(const std::string& key) {
  own_.erase(key);
  change(key, std::nullopt);
}

void PassedChecks::change(const std::string& key, const std::optional<PassedCheck>& check) {
  if (file_.empty()) {
    problem_ = "neither XDG_CACHE_HOME nor HOME is set";
    return;
  }
  try {
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    const FileLock lock(file_.string() + ".lock");
    PassedList list = read_passed(file_);
    const size_t before = list.size();
    std::erase_if(list, [&](const auto& entry) { return entry.first == key; });
    if (!check && list.size() == before) return;
    if (check) list.push_back({key, *check});
    if (list.size() > kMostPassedChecks)
      list.erase(list.begin(), list.end() - std::ptrdiff_t(kMostPassedChecks));
    write_passed(file_, list);
  } catch (const FileError& e) {
    problem_ = e.what();
  }
}

}  // namespace klab
