// The ways in which a check finds mistakes, each of which a test can switch off: a wrong kernel that passes then shows what the
// detector is for.
#pragma once

#include <cstdint>

namespace klab {

enum class Detector {
  // What is seen of a call.
  fences,             // around tensors
  guard_pages,        // tensors that end at pages which cannot be touched
  inputs_kept,        // inputs are compared after the call
  thread_count,       // at once, against what was asked for
  caller_of_threads,  // the calling thread counts where it works while its threads do
  threads_that_stay,
  host_threads,  // those of a CUDA variant's host code that stay
  thread_races,  // in the form that is watched
  process_state,
  workers_arithmetic,  // rounding and flushing in OpenMP's threads
  kept_blocks,         // what malloc() keeps for a thread holds garbage
  fresh_memory,        // what malloc() gets from elsewhere holds garbage
  stack,               // below the call holds garbage
  // What is called.
  changed_element,  // inputs that differ in one element
  results_found,    // outputs that hold an earlier result
  repetition,
  numbers_of_threads,   // 1, 2, 3 and 5 in turn, at a size that is divided among threads
  pairs_of_conditions,  // shapes that join two residues, in a covering array
  hard_inputs,          // constant, cancelling, denormal, huge, wide
  watched_kinds,        // CUDA on the host: every kind of inputs is watched, not only random ones
  beyond_usual,         // sizes above 2^16 and 2^31
  many_blocks,          // CUDA on the host: more blocks than threads join their results
  far_offsets,          // inputs beyond 2^31 bytes, of the same few pages
  long_sums,            // there, inputs in which one missing term of a long sum shows
  misalignment,
  // What is made of the values.
  whole_outputs,  // relative L2 error and gain
  sixteen_bits,   // inputs rounded to 16 bits
  relations,      // between outputs
  kCount
};

/// Whether a check uses it: all do, unless a test says otherwise.
bool uses(Detector detector);

/// Checks of this process do without the detector while one lives. For tests.
class Without {
 public:
  explicit Without(Detector detector);
  ~Without();
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;

 private:
  uint64_t before_;
};

}  // namespace klab
