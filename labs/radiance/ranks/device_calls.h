// Table of functions that sum arrays in the memory of GPUs. NCCL's implementation is a module of its own,
// libklab_nccl.so next to the program. It is loaded only where several processes train on GPUs, because the
// library is large and starts threads. Tests bring their own table.
#pragma once

#include <cstdint>

namespace klab {

/// Each function returns null, or an error text that stays valid until the next call. Every rank makes the
/// same calls, and a call has finished when it returns. Pointers are those of the rank's own GPU.
struct DeviceCalls {
  static constexpr int64_t kIdBytes = 128;
  const char* (*new_id)(void* id);  // writes the kIdBytes that all ranks pass to join()
  const char* (*join)(const void* id, int rank, int size);
  void (*leave)();
  const char* (*mean)(float* values, int64_t count);  // in place, everywhere
  // Part r is the count[r] values from begin[r] on. It becomes the mean on rank r.
  const char* (*mean_of_parts)(float* values, const int64_t* begin, const int64_t* count);
  const char* (*gather_parts)(float* values, const int64_t* begin,
                              const int64_t* count);  // copies part r from rank r
};

/// The module's one symbol, "klab_device_calls".
using DeviceCallsOf = const DeviceCalls*();

}  // namespace klab
