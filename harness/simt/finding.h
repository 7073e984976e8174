// Errors that the host executor finds in a kernel.
#pragma once

#include <stdexcept>
#include <string>

namespace klab::simt {

enum class Kind {
  out_of_bounds,       // outside the allocation, or in no allocation
  use_after_free,      //
  uninitialized,       // read of memory that was never written
  shared_race,         // two threads of a block access a word, at least one writes, and no barrier is between
  global_race,         // the same in global memory, also between blocks
  barrier_divergence,  // a barrier that some threads of the block do not reach
  inactive_lane,       // a warp function names, or reads from, a lane that does not participate
  misaligned,          // an access not aligned to its size
  missing_wait,        // a read of shared memory before the asynchronous copy to it has landed
  barrier_misuse,      // a wrong count of arrivals or bytes of a barrier in shared memory
  in_flight,           // registers or descriptors of a matrix product that is in flight, used wrongly
  deadlock,            // threads wait for each other
  never_ends,          // the step limit was reached
  trap,                // the kernel stopped itself
  write_to_constant,   // a write to __constant__ memory or to a parameter
  host_access,         // host code touches device memory
  not_synchronized,    // host code reads data that the device may still be writing
  leak,                // device memory that a program did not free before it ended
  failed_call,         // a launch or call of the runtime failed, and the program did not ask
  program,             // an error of the program as a whole
};
const char* name_of(Kind kind);

struct Finding {
  Kind kind = Kind::out_of_bounds;
  std::string kernel;  // "transpose"
  unsigned block[3] = {0, 0, 0};
  unsigned thread[3] = {0, 0, 0};
  std::string file;  // path that the compiler was given
  int line = 0;
  std::string text;  // what happened, one sentence
  int64_t times = 1;
  // Place of a plain read: the finding holds unless this read turns out to be a hint (Session::hint).
  const void* unless_hint = nullptr;

  /// "shared-memory race in kernel transpose, block (0,0,0), thread (3,0,0), at .../02_shared_tile.cu:33: ..."
  std::string describe() const;
};

/// A failed launch, with CUDA's name for the error.
class Error : public std::runtime_error {
 public:
  Error(const std::string& cuda_name, const std::string& text)
      : std::runtime_error(cuda_name + ": " + text), name_(cuda_name) {}
  const std::string& cuda_name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace klab::simt
