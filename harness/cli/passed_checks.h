// Which checks have passed, remembered from run to run.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace klab {

/// passed.json in $XDG_CACHE_HOME/klab or ~/.cache/klab; empty where neither variable is set.
std::filesystem::path passed_checks_file();

/// Outcome of a passed check.
struct PassedCheck {
  int ok = 0, skipped = 0;  // variants
  friend bool operator==(const PassedCheck&, const PassedCheck&) = default;
};

/// Keeps checks by key. The file is replaced as a whole, and what another process wrote into it meanwhile stays. A file that
/// is no such list counts as empty. Without write access everything is kept for this process only.
class PassedChecks {
 public:
  explicit PassedChecks(std::filesystem::path file);

  std::optional<PassedCheck> find(const std::string& key) const;
  void add(const std::string& key, const PassedCheck& check);
  void forget(const std::string& key);

  /// Why the file could not be written, naming it; empty where it could.
  const std::string& problem() const { return problem_; }

 private:
  void change(const std::string& key, const std::optional<PassedCheck>& check);

  std::filesystem::path file_;
  std::map<std::string, PassedCheck> own_;  // with what the file held at the start
  std::string problem_;
};

}  // namespace klab
