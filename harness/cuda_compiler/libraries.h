// Libraries that programs include: those that need a GPU are named and refused; headers of templates that work on any processor
// (Thrust, libcu++) are taken from NVIDIA's toolkit, where it is installed, as their own C++ build has them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// A device library's header that the program includes, where a toolkit is installed: a line that says so, or nothing. `own`: the
/// folder of klab's headers, which stand for some.
std::string library_in(const std::string& preprocessed, bool (*is_foreign)(const std::string& file),
                       const std::string& own);

/// What the preprocessor says, in one line where it is about a header.
std::string about_headers(const std::string& words);

/// Whether a preprocessor's complaint is that a header of Thrust or of cuda/std is missing.
bool misses_header_library(const std::string& words);

/// Whether a file is of a library that is device code, CUB, and is rewritten as the program is.
bool is_device_library(const std::string& file);

/// Whether a file is of such a library, or stands before one.
bool is_header_library(const std::string& file);

/// Options with which the preprocessor finds them; makes what it needs for that in `folder`. Empty where there is no toolkit.
/// `given`: the program's own options, whose folders are looked into first. `klab`: the headers of klab's toolkit.
std::vector<std::string> header_library_options(const std::vector<std::string>& given,
                                                const std::filesystem::path& folder,
                                                const std::filesystem::path& klab);

/// Without the folders of another CUDA toolkit's headers, which klab's own stand for.
std::vector<std::string> without_toolkits(const std::vector<std::string>& options);

}  // namespace klab::cuda_compiler
