// Claims about GPUs against processors, decided by the recorded times of both: each on a machine of its own, at the same size. Data lie
// where the rung wants them, but for the claims that say otherwise.
#include "labs/learning/experiments/experiment.h"

namespace klab::learning::gpu_and_processor_claim {
namespace {

Claim against(const std::string& name, const std::string& said, double least, const std::string& faster,
              const std::string& slower, const std::string& on) {
  return {.id = "gpu_and_processor." + name,
          .said = said,
          .source = "course",
          .metric = "time of " + slower + " over that of " + faster,
          .rule = at_least(least),
          .kind = ClaimKind::gpu,
          .on = on,
          .faster = faster,
          .slower = slower};
}

Claim ten_times(const std::string& name, const std::string& what, const std::string& faster,
                const std::string& slower) {
  return against(name, "a GPU " + what + " at least ten times as fast as two cores of a processor", 10,
                 faster, slower, "the processor and the size");
}

const GpuClaimRegistrar registrar(
    {ten_times("vector_add", "adds vectors", "vector_add.cuda.03_sixteen_bytes",
               "vector_add.cpu.04_streaming_stores"),
     ten_times("vector_add_copied", "adds vectors of the host, copies included,",
               "host_vector_add.cuda.03_two_streams", "vector_add.cpu.04_streaming_stores"),
     ten_times("softmax", "takes a softmax", "softmax_xent_fwd.cuda.03_warp_shuffle",
               "softmax_xent_fwd.cpu.05_threads"),
     ten_times("layernorm", "normalizes rows", "layernorm_fwd.cuda.04_kept",
               "layernorm_fwd.cpu.05_streaming"),
     ten_times("compositing", "sums light along rays", "composite_fwd.cuda.04_warp_scan",
               "composite_fwd.cpu.08_threads"),
     ten_times("adam", "takes a step of Adam", "adam.cuda.02_fused", "adam.cpu.05_threads"),
     against("transfer", "copies between host and GPU are the bottleneck of vector addition", 2,
             "vector_add.cuda.03_sixteen_bytes", "host_vector_add.cuda.03_two_streams", "the size")});

}  // namespace
}  // namespace klab::learning::gpu_and_processor_claim
