// What a variant is told of the machine it runs on.
#include <omp.h>

#include "harness/check/check.h"
#include "harness/gpu/gpu.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"

namespace klab {

Host this_host() {
  const Gpu* device = gpu();
  return {.threads = omp_get_max_threads(),
          .gpu = device != nullptr,
          .compute_capability = device != nullptr ? device->compute_capability : 0};
}

Host host_of(const Variant& variant) {
  Host host = this_host();
  if (variant.backend == "cuda" && !on_gpu()) {
    host.gpu = false;
    host.compute_capability = simt::device_limits().compute_capability;
  }
  return host;
}

}  // namespace klab
