// CUDA's language as C++ that the host compiler understands: what is not C++ is replaced, all else stays as it is, line by
// line. Works on preprocessed text, so macros, included files and template arguments need no care.
//
//   k<<<g, b>>>(x)         (::klab::program::configure(g, b), k(x))
//   __global__ void k(x)   a function that runs one thread, and behind it k itself, which launches it
//   __shared__ T a[8]      a variable of the thread of the host that runs the block
//   extern __shared__      the block's dynamic shared memory
//   __constant__ __device__ __managed__    variables, the first two in sections of their own
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace klab::cuda_compiler {

/// What cannot be had on the host. what(): "file:line: what, and what would be needed".
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Rewritten {
  std::string text;
  int kernels = 0, launches = 0;
};

/// `is_foreign`: files that are left as they are. Throws Unsupported.
Rewritten rewrite(std::string_view preprocessed, bool (*is_foreign)(const std::string& file));

}  // namespace klab::cuda_compiler
