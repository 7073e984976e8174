// Lab 00: the counters of a profiler, on five small CUDA programs. It has no op of its own: `klab trace` runs
// its programs.
#include "harness/core/lab.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "A profiler without a GPU: requests, sectors, wavefronts",
    .question = "What does a line of a kernel cost, before anybody has timed it?",
    .commands = {"trace"},
});

}  // namespace
}  // namespace klab
