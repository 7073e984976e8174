// A file next to a result, for what is measured before the result stands.
#pragma once

#include <filesystem>

namespace klab {

/// RESULT.trial, removed with this object.
class TrialFile {
 public:
  explicit TrialFile(const std::filesystem::path& result) : path_(result.string() + ".trial") {}
  ~TrialFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace klab
