// What a loaded object calls that it does not bring itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace klab {

/// Names of a shared object's undefined symbols. Throws std::runtime_error when it is none.
std::vector<std::string> imports_of(const std::filesystem::path& object);

/// Something a kernel has no business with.
struct ForbiddenCall {
  std::string name;  // "cblas_sgemm"
  std::string what;  // "calls a vendor library that it is compared with"
};

/// The first such import. Of an untrusted file more is refused: files, processes, other code.
std::optional<ForbiddenCall> forbidden_call(const std::vector<std::string>& imports, bool untrusted);

}  // namespace klab
