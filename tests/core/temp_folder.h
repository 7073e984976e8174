// A folder of a test's own. Several tests run at once, in several builds and for several users, so a fixed name under /tmp may be
// in use.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace klab {

/// Makes an empty folder under the system's temporary one and removes it with its contents.
class TempFolder {
 public:
  TempFolder() {
    std::string form = (std::filesystem::temp_directory_path() / "klab_test_XXXXXX").string();
    if (mkdtemp(form.data()) == nullptr) throw std::runtime_error(form + ": cannot be made");
    path_ = form;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace klab
