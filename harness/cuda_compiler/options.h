// nvcc's command line, as far as it says what to make.
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
  bool version = false;                 // --version: say it and end
  std::vector<std::string> preprocess;  // -I, -D and the like
  std::vector<std::string> depends;     // -MD and the like
  std::vector<std::string> host;        // to the host compiler, from -Xcompiler and what nvcc does not know
  std::vector<std::string> link;        // libraries and what the linker is told, in their order
  int architecture = 900;               // __CUDA_ARCH__
};

/// Throws std::invalid_argument, saying which option is meant, and what would help.
Options parse_options(const std::vector<std::string>& arguments);

}  // namespace klab::cuda_compiler
