// What a check can find wrong with a variant.
#pragma once

namespace klab {

/// What went wrong, by the check that saw it.
enum class Fault {
  wrong_value,       // |out - ref| above its bound
  whole_output,      // each element within its bound, but not all together: gain, relative L2, 16 bits inside
  non_finite,        // NaN or infinity where the reference is finite: wrong arithmetic, or never written
  not_written,       // an output element is what it was before the call
  out_of_bounds,     // a fence around a tensor was written, or memory beyond one touched
  input_changed,     // an input was written to
  stale,             // right at first, wrong when the same buffers hold other inputs
  nondeterministic,  // two runs differ though the variant declares that they do not, or by more than its
                     // bound
  reference_gradient,  // the double backward disagrees with differences of the double forward
  gradient,            // relative L2, cosine or signed bias against the double backward
  own_forward,         // the backward disagrees with differences of the variant's own forward
  threads,             // more threads than it was given
  late,                // it works on after it has returned
  state,     // something of the process is another one after the call: rounding mode, signal handlers
  crashed,   // a signal ended it
  threw,     // an exception left the variant
  ended,     // it ended the process: exit(), _exit()
  endless,   // it did not come back within the time that one call may take
  race,      // two threads touch the same bytes, one of them writes, and nothing orders them
  relation,  // outputs that contradict each other, each within its own bound
  finding,   // the host executor of CUDA saw something illegal (harness/simt/finding.h)
};
const char* name_of(Fault fault);

}  // namespace klab
