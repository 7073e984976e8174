// Confines a process that runs untrusted code: files by Landlock, processes and network by seccomp. Both are
// features of the Linux kernel and need no privileges. If the kernel lacks them, nothing is run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab {

/// Returns an empty string if this kernel can confine, else the missing feature.
std::string why_no_sandbox();

struct Confinement {
  std::filesystem::path writable;               // the only folder that is writable; also readable
  std::vector<std::filesystem::path> readable;  // readable and executable files and folders
};

/// Returns the files of the system and of klab that a compiler and a judge need, without klab's answers.
Confinement confinement_for(const std::filesystem::path& writable);

/// Restricts this process, its future threads and its children to these files, without network. Throws
/// std::runtime_error if that is impossible.
void confine(const Confinement& what);

/// Prevents this process and all its threads from starting or signaling other processes. Throws as confine()
/// does.
void forbid_processes();

/// Returns a command that runs another one confined to a folder: `klab` starts itself, confines itself, and
/// executes the other command, which is written to a file in the folder.
std::vector<std::string> confined_command(const std::filesystem::path& klab,
                                          const std::filesystem::path& folder,
                                          const std::vector<std::string>& command);

/// The receiving side: confines this process and executes the command in the file. Throws if it cannot.
[[noreturn]] void become_confined(const std::filesystem::path& plan);

}  // namespace klab
