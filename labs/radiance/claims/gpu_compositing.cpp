// Claims about CUDA kernels of the sum along rays that only a GPU's times decide: pairs of rungs of lab 14. Rungs of the trunk change
// more than a claim names; those named only_ change that one thing.
#include "labs/learning/experiments/experiment.h"

namespace klab::learning::gpu_compositing_claim {
namespace {

Claim pair(const std::string& name, const std::string& said, double least, const std::string& faster,
           const std::string& slower) {
  return {.id = "gpu_compositing." + name,
          .said = said,
          .source = "post",
          .metric = "time of " + slower + " over that of " + faster.substr(faster.rfind('.') + 1),
          .rule = at_least(least),
          .kind = ClaimKind::gpu,
          .on = "the size",
          .faster = faster,
          .slower = slower};
}

const GpuClaimRegistrar registrar(
    {pair("alpha_first",
          "transparencies computed beforehand, in parallel, make the sum 1.5 to 2 times as fast", 1.5,
          "composite_fwd.cuda.02_alpha_first", "composite_fwd.cuda.01_serial"),
     pair("shared_memory",
          "accumulating from shared memory makes the sum 1.3 to 1.8 times as fast, with nothing else changed",
          1.3, "composite_fwd.cuda.09_staged_samples", "composite_fwd.cuda.01_serial"),
     pair("scan", "a scan (wavefront) along the ray makes the sum 2 to 3 times as fast", 2,
          "composite_fwd.cuda.04_warp_scan", "composite_fwd.cuda.02_alpha_first"),
     pair("exponentials", "fast exponentials or sums of logarithms make it 1.2 to 1.5 times as fast", 1.2,
          "composite_fwd.cuda.05_log_space", "composite_fwd.cuda.04_warp_scan"),
     pair("only_alpha_first",
          "transparencies computed beforehand make the sum 1.5 to 2 times as fast, with nothing else changed",
          1.5, "composite_fwd.cuda.08_alpha_ahead", "composite_fwd.cuda.01_serial"),
     pair("only_exponential",
          "a fast exponential makes the sum 1.2 to 1.5 times as fast, with nothing else changed", 1.2,
          "composite_fwd.cuda.07_fast_exponential", "composite_fwd.cuda.01_serial"),
     pair("only_log_space",
          "sums of logarithms make the sum 1.2 to 1.5 times as fast, with nothing else changed", 1.2,
          "composite_fwd.cuda.11_log_sum", "composite_fwd.cuda.01_serial"),
     pair("only_scan", "a scan makes the sum 2 to 3 times as fast, with nothing else changed", 2,
          "composite_fwd.cuda.03_shared_scan", "composite_fwd.cuda.02_alpha_first"),
     pair("only_unrolled", "unrolling by four helps, with nothing else changed", 1.03,
          "composite_fwd.cuda.10_unrolled", "composite_fwd.cuda.01_serial")});

}  // namespace
}  // namespace klab::learning::gpu_compositing_claim
