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

/// Returns the names of the functions and variables that a shared object defines for others. Throws as imports_of() does.
std::vector<std::string> definitions_of(const std::filesystem::path& object);

/// Returns the first function of time that an object defines: with it, a kernel would tell its timer how long it took.
std::optional<std::string> own_clock(const std::vector<std::string>& definitions);

/// A call that a kernel may not make.
struct ForbiddenCall {
  std::string name;  // "cblas_sgemm"
  std::string what;  // "calls a vendor library that it is compared with"
};

/// Returns the first such import. For an untrusted file more calls are forbidden: files, processes, other
/// code.
std::optional<ForbiddenCall> forbidden_call(const std::vector<std::string>& imports, bool untrusted);

}  // namespace klab
