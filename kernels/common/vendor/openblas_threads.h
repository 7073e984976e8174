// OpenBLAS with the harness's number of threads, and without threads that spin after their work is done.
//
// Its own thread pool waits for the next call by spinning, 2^26 clock ticks long by default. On a machine
// whose cores are all in use, the next timing would share a core with a thread that does nothing.
#pragma once

#include <cblas.h>
#include <omp.h>

#include <cstdlib>

// Not in cblas.h, and absent from builds that use OpenMP's threads or none: those have nothing to shorten.
extern "C" {
__attribute__((weak)) void openblas_read_env(void);
__attribute__((weak)) int blas_thread_shutdown_(void);
}

namespace klab {

/// Call it before each call of OpenBLAS. The first ends its pool, which it starts again with the shorter
/// wait.
inline void openblas_use_harness_threads() {
  static const bool shortened = [] {
    if (openblas_read_env == nullptr || blas_thread_shutdown_ == nullptr) return false;
    const bool set = getenv("OPENBLAS_THREAD_TIMEOUT") != nullptr;  // the user's setting stays
    setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);                     // log2 of ticks
    openblas_read_env();
    blas_thread_shutdown_();
    if (!set) unsetenv("OPENBLAS_THREAD_TIMEOUT");  // the environment is shared by the whole process
    return true;
  }();
  (void)shortened;
  if (openblas_get_num_threads() != omp_get_max_threads()) openblas_set_num_threads(omp_get_max_threads());
}

}  // namespace klab
