// The loops behind the ceilings: as little as possible around the one thing that is measured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace klab {

enum class CeilingLoop {
  fma_f32,
  fma_f64,
  exp_f32,          // a polynomial
  divide_f32,       // the instruction
  divide_estimate,  // an estimate of the reciprocal, and a step of Newton's
  root_f32,
  root_estimate,
  read,
  read_streams,  // from four places at once
  copy_plain,
  copy_stream,         // stores that pass the caches by
  copy_stream_single,  // the same, vector by vector in place of four at a time
  add_plain,           // c = a + b: two reads for each write
  add_stream,
  add_stream_single,
  update,  // read, changed and written back where it was
  update_streams,
  gather4_simd,
  gather4_scalar,
  gather4_prefetch,
  gather8_simd,
  gather8_scalar,
  gather8_prefetch,
};

/// Runs a loop `repeats` times over memory that belongs to the calling thread (copy and add split it into
/// their arrays) or over a table that threads share (gathers: `bytes` is then a power of two). Returns the
/// work done: FLOP, values, bytes read and written, or useful bytes gathered. Loops that make values read
/// floats from the first half of their memory and write into the second: exp(x), 1/x or the square root of x.
/// `state` carries the random sequence from call to call.
double run_ceiling_loop(CeilingLoop loop, std::byte* memory, int64_t bytes, int64_t repeats, uint32_t* state);

/// Arrays that a copy or an addition goes over, on 64-byte boundaries.
struct MoveOperands {
  const float* a;
  const float* b;  // of additions only
  float* c;
  int64_t n;  // floats; what is left over beyond whole vectors is left out
};

/// The same for copy_* and add_*, over arrays of somebody else.
double run_move_loop(CeilingLoop loop, const MoveOperands& on, int64_t repeats);

/// Bytes one repeat of a gather loop asks for, 1024 entries.
inline constexpr int64_t kGathersPerRepeat = 1024;

}  // namespace klab
