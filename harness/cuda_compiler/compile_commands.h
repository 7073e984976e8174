// Writes compile_commands.json, by which editors and linters learn how a file is compiled.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// Sets the command of one source file and its output in the list `file`; others are kept. Several compilers may do
/// that at once. Throws std::runtime_error that names the file.
void record_command(const std::filesystem::path& file, const std::vector<std::string>& command,
                    const std::string& source, const std::string& output);

}  // namespace klab::cuda_compiler
