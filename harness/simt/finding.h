// What the host executor finds wrong with a kernel.
#pragma once

#include <stdexcept>
#include <string>

namespace klab::simt {

enum class Kind {
  out_of_bounds,       // outside the allocation, or in none
  use_after_free,      //
  uninitialized,       // read of memory nobody has written
  shared_race,         // two threads of a block, one of them writing, and no barrier between
  global_race,         // the same in global memory, also between blocks
  barrier_divergence,  // a barrier that not all threads of the block reach
  inactive_lane,       // a warp function names, or reads from, a lane that does not take part
  misaligned,          // an access not aligned to its size
  missing_wait,        // a read of shared memory that an asynchronous copy has not filled yet
  deadlock,            // threads wait for each other
  never_ends,          // the limit of steps is reached
  trap,                // the kernel stopped itself
  write_to_constant,   // a write to __constant__ memory or to a parameter
  host_access,         // host code touches device memory
  not_synchronized,    // host code reads what the device may still be writing
  leak,                // device memory that a program has not freed when it ends
  program,             // what befalls the program as a whole
};
const char* name_of(Kind kind);

struct Finding {
  Kind kind = Kind::out_of_bounds;
  std::string kernel;  // "transpose"
  unsigned block[3] = {0, 0, 0};
  unsigned thread[3] = {0, 0, 0};
  std::string file;  // as the compiler was given it
  int line = 0;
  std::string text;  // what happened, one sentence
  int64_t times = 1;

  /// "shared-memory race in kernel transpose, block (0,0,0), thread (3,0,0), at .../02_shared_tile.cu:33: ..."
  std::string describe() const;
};

/// A launch that fails, by the name CUDA gives it.
class Error : public std::runtime_error {
 public:
  Error(const std::string& cuda_name, const std::string& text)
      : std::runtime_error(cuda_name + ": " + text), name_(cuda_name) {}
  const std::string& cuda_name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace klab::simt
