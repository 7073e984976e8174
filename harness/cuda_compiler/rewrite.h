// Rewrites CUDA's language as C++ for the host compiler. Only constructs that are not C++ are replaced; lines
// keep their numbers. Works on preprocessed text, so macros, included files and template arguments need no
// special treatment.
//
//   k<<<g, b>>>(x)         (::klab::program::configure(g, b), k(x))
//   __global__ void k(x)   a function that runs one thread, followed by k itself, which launches it
//   __shared__ T a[8]      a variable of the host thread that runs the block
//   extern __shared__      the block's dynamic shared memory
//   T v;                   in device code: T v; ::klab::program::unset(v);
//   v += x;                if nothing sets v: (::klab::program::used(v, "v"), v) += x;
//   __constant__ __device__ __managed__    variables, the first two in sections of their own; between those of the
//                          second kind lies memory that nothing may access
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace klab::cuda_compiler {

/// Thrown for code that the host cannot run. what(): "file:line: the construct, and what it would need".
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What __forceinline__ becomes. GCC refuses it for a function that is also called by address.
inline constexpr const char* kAlwaysInline = "__attribute__((__always_inline__))";

struct Rewritten {
  std::string text;
  int kernels = 0, launches = 0;
  std::vector<std::string> warnings;
  bool aligned_types = false;  // a type has an alignment of its own
};

struct Rewriting {
  bool unset = true;  // mark local variables without a value
  // Device variables of all files are one program's (-rdc=true); else each file has its own.
  bool relocatable = false;
};

/// Rewrites the text. `is_foreign` selects files that are left unchanged. Throws Unsupported.
Rewritten rewrite(std::string_view preprocessed, bool (*is_foreign)(const std::string& file),
                  const Rewriting& how = {});

}  // namespace klab::cuda_compiler
