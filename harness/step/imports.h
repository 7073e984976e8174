// Functions that a loaded object calls but does not define.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace klab {

/// Returns the names of a shared object's undefined symbols. Throws std::runtime_error if the file is not a
/// shared object.
std::vector<std::string> imports_of(const std::filesystem::path& object);

/// A call that a kernel may not make.
struct ForbiddenCall {
  std::string name;  // "cblas_sgemm"
  std::string what;  // "calls a vendor library that it is compared with"
};

/// Returns the first such import. For an untrusted file more calls are forbidden: files, processes, other
/// code.
std::optional<ForbiddenCall> forbidden_call(const std::vector<std::string>& imports, bool untrusted);

}  // namespace klab
