// What a program is told where it calls a library that is not on the host.
#include "klab_cuda/absent.h"

#include <cstdio>
#include <cstdlib>

#include "harness/cuda_program/state.h"
#include "harness/simt/executor.h"

namespace klab::program {

void absent(const char* function, const char* library) {
  const simt::SourceLine at = simt::source_of(__builtin_return_address(0));
  const std::string text = std::string(function) + " of " + library +
                           " is not on the host; the program needs a GPU, or kernels of its own in its place";
  if (simt::running != nullptr && simt::running->lane != nullptr)
    simt::running->abandon({.kind = simt::Kind::trap, .file = at.file, .line = at.line, .text = text});
  std::fflush(stdout);
  std::fprintf(stderr, "klab: %s:%d: %s\n", at.file.c_str(), at.line, text.c_str());
  std::exit(2);
}

}  // namespace klab::program
