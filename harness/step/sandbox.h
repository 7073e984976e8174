// Confinement of a process that runs somebody else's code: files by Landlock, processes and the network by seccomp. Both
// are of the Linux kernel and need no rights. Where the kernel has them not, nothing is run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab {

/// Empty where this kernel can confine; else what it lacks.
std::string why_no_sandbox();

struct Confinement {
  std::filesystem::path writable;               // the one folder that may be written to, and read
  std::vector<std::filesystem::path> readable;  // files and folders, to read and execute
};

/// What a compiler and a judge need of the system and of klab, klab's answers left out.
Confinement confinement_for(const std::filesystem::path& writable);

/// From now on this process, its threads to come and all that it starts see only these files, and no network. Throws
/// std::runtime_error where that cannot be had.
void confine(const Confinement& what);

/// From now on this process, its threads included, starts no other and reaches no other. Throws as confine().
void forbid_processes();

/// The command that runs another one confined to a folder: `klab` starts itself, confines itself, and becomes the other.
/// What it is to do is written into the folder.
std::vector<std::string> confined_command(const std::filesystem::path& klab,
                                          const std::filesystem::path& folder,
                                          const std::vector<std::string>& command);

/// The other end of it: confines this process and becomes what the file says. Throws where it cannot.
[[noreturn]] void become_confined(const std::filesystem::path& plan);

}  // namespace klab
