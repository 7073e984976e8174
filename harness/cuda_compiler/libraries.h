// Libraries that programs include. Those that need a GPU are rejected by name. Template libraries that work
// on any processor (Thrust, libcu++) are taken from NVIDIA's toolkit, if installed, in their host
// configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// Returns a message if the program includes a device library's header from an installed toolkit, else
/// nothing. `own` is the folder of klab's headers, which replace some.
std::string library_in(const std::string& preprocessed, bool (*is_foreign)(const std::string& file),
                       const std::string& own);

/// Returns the preprocessor's messages, shortened to one line if they are about a header.
std::string about_headers(const std::string& words);

/// Returns whether the preprocessor reports a missing header of Thrust or of cuda/std.
bool misses_header_library(const std::string& words);

/// Returns whether a file belongs to CUB, whose device code is rewritten like the program.
bool is_device_library(const std::string& file);

/// Returns whether a file belongs to such a library, or is a wrapper of one.
bool is_header_library(const std::string& file);

/// Returns options with which the preprocessor finds them, and writes the wrappers into `folder`. Returns
/// nothing if there is no toolkit. `given` are the program's own options, whose folders are searched first.
/// `klab` is the folder of klab's headers.
std::vector<std::string> header_library_options(const std::vector<std::string>& given,
                                                const std::filesystem::path& folder,
                                                const std::filesystem::path& klab);

/// Removes the folders of another CUDA toolkit's headers, which klab's own replace.
std::vector<std::string> without_toolkits(const std::vector<std::string>& options);

}  // namespace klab::cuda_compiler
