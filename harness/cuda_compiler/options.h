// nvcc's command line, as far as it decides what to build.
#pragma once

#include <string>
#include <vector>

namespace klab::cuda_compiler {

struct Input {
  std::string file;
  bool cuda = false;
};

struct Options {
  std::vector<Input> inputs;
  std::string output;
  enum class Stop { link, object, preprocessed } stop = Stop::link;
  bool shared = false, archive = false, device_link = false, plain = false, verbose = false, dry = false;
  bool version = false;                 // --version: print it and exit
  std::vector<std::string> preprocess;  // -I, -D and the like
  std::vector<std::string> depends;     // -MD and the like
  // passed to the host compiler, from -Xcompiler and options that nvcc does not know
  std::vector<std::string> host;
  std::vector<std::string> link;      // libraries and linker options, in order
  int architecture = 900;             // __CUDA_ARCH__
  bool all_features = true;           // sm_90a: also instructions that later architectures lack
  std::string standard = "gnu++17";   // nvcc's default
  bool help = false, manual = false;  // --help, --man: print it and exit
  // -rdc: device variables of all files are one program's; else each file has its own
  bool relocatable = false;
  std::string compile_commands;  // file that gets each file's command; empty: none
};

/// Throws std::invalid_argument that names the option and the remedy.
Options parse_options(const std::vector<std::string>& arguments);

/// Returns the options of nvcc that are accepted and have no effect.
std::vector<std::string> ignored_options();

}  // namespace klab::cuda_compiler
