// Sums of arrays that lie in the memory of GPUs, as a table of functions. Those of NCCL are in a module of their own,
// libklab_nccl.so beside the program, which is loaded only where several processes train on GPUs: the library is large, and starts
// threads. Tests bring their own.
#pragma once

#include <cstdint>

namespace klab {

/// Each returns null, or what went wrong: a text that stays until the next call. Every rank makes the same calls, and each is over
/// when it returns. Pointers are those of the rank's own GPU.
struct DeviceCalls {
  static constexpr int64_t kIdBytes = 128;
  const char* (*new_id)(void* id);  // kIdBytes that all ranks are to join by
  const char* (*join)(const void* id, int rank, int size);
  void (*leave)();
  const char* (*mean)(float* values, int64_t count);  // in place, everywhere
  // Part r, count[r] values from begin[r] on, becomes the mean on rank r.
  const char* (*mean_of_parts)(float* values, const int64_t* begin, const int64_t* count);
  const char* (*gather_parts)(float* values, const int64_t* begin,
                              const int64_t* count);  // part r from rank r
};

/// The module's one symbol, "klab_device_calls".
using DeviceCallsOf = const DeviceCalls*();

}  // namespace klab
