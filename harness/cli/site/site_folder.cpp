#include "harness/cli/site/site_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/records/input.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// Names the files of the site, so that a later call knows which files are its own.
constexpr const char* kList = "klab-site.json";

/// Returns the folder without links and a slash at its end, so that it has a name and a parent.
fs::path resolved(const fs::path& folder) {
  fs::path path = fs::weakly_canonical(fs::absolute(folder));
  if (!path.has_filename()) path = path.parent_path();
  return path;
}

/// Returns the files that a former call wrote. Throws if this is no such list.
std::set<std::string> listed_files(const fs::path& file) {
  const nlohmann::json j = read_json_file(file);
  if (!j.is_object() || !j.contains("made_by") || j["made_by"] != "klab site" || !j.contains("files") ||
      !j["files"].is_array())
    throw std::runtime_error(file.string() + ": is no list of klab site");
  std::set<std::string> files = {kList};
  for (const nlohmann::json& name : j["files"])
    if (name.is_string()) files.insert(name.get<std::string>());
  return files;
}

/// Creates a folder of a fresh name next to the target.
fs::path fresh_folder(const fs::path& target) {
  std::string name = target.string() + ".part-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error(fmt::format("{}: cannot be written: {}", target.string(), std::strerror(errno)));
  fs::permissions(name, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                            fs::perms::others_read | fs::perms::others_exec);
  return name;
}

/// A folder that is removed unless it was put into place.
class PartFolder {
 public:
  explicit PartFolder(const fs::path& target) : target_(target), path_(fresh_folder(target)) {}
  ~PartFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;

  void write(const std::string& name, const std::string& text) {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out)
      throw std::runtime_error(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
  }

  /// Replaces the target. If that fails, the former site is there again.
  void put_in_place() {
    fs::path former;
    if (fs::exists(target_)) {
      former = fresh_folder(target_);
      fs::rename(target_, former);  // onto an empty folder
    }
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error) {
      if (!former.empty()) fs::rename(former, target_);
      throw std::runtime_error(fmt::format("{}: cannot be written: {}", target_.string(), error.message()));
    }
    path_.clear();
    if (!former.empty()) fs::remove_all(former, error);
  }

 private:
  fs::path target_, path_;
};

}  // namespace

void require_site_folder(const fs::path& folder) {
  const fs::path target = resolved(folder);
  const std::string name = folder.string();
  if (!fs::exists(target)) {
    if (!fs::is_directory(target.parent_path()))
      throw std::runtime_error(
          fmt::format("{}: {} is no folder: make it first", name, target.parent_path().string()));
  } else {
    if (!fs::is_directory(target))
      throw std::runtime_error(name + ": is a file: name a folder that is empty or not there yet");
    if (fs::equivalent(target, fs::current_path()))
      throw std::runtime_error(name + ": is the folder you are in: name one below it");
    std::set<std::string> known;
    if (fs::exists(target / kList)) known = listed_files(target / kList);
    for (const auto& entry : fs::recursive_directory_iterator(target)) {
      const std::string file = entry.path().lexically_relative(target).string();
      if (entry.is_directory() && !entry.is_symlink()) continue;
      if (known.empty())
        throw std::runtime_error(fmt::format(
            "{}: is no site of klab, it holds {}: name a folder that is empty or not there yet", name, file));
      if (!known.contains(file))
        throw std::runtime_error(
            fmt::format("{}: holds {}, which klab site did not write: move it away first", name, file));
    }
  }
  std::error_code error;
  fs::remove(fresh_folder(target), error);
}

std::optional<WrittenSite> write_site(Site& site, const fs::path& folder,
                                      const std::function<void(const std::string&)>& progress,
                                      const std::function<bool()>& interrupted) {
  require_site_folder(folder);
  PartFolder part(resolved(folder));
  WrittenSite written;
  for (const std::string& path : site.paths()) {
    if (interrupted()) return std::nullopt;
    progress(path);
    const std::string text = site.file(path);
    part.write(path, text);
    ++written.files;
    written.bytes += int64_t(text.size());
  }
  const nlohmann::json list = {{"made_by", "klab site"}, {"files", site.paths()}};
  part.write(kList, list.dump(1) + "\n");
  part.put_in_place();
  return written;
}

}  // namespace klab
