// What the processes that train together need of MPI, as a table of functions. The functions are in a module of their own, libklab_mpi.so
// beside the program, which is loaded only where a launcher has started several processes: an MPI library starts threads, opens
// devices and writes to the terminal as soon as it is in a process, and none of that is wanted where nobody trains with it.
#pragma once

#include <cstdint>

namespace klab {

/// Each returns 0, or a code for `text`.
struct MpiCalls {
  int (*init)(int* rank, int* size);
  void (*finalize)();  // where it was begun and has not ended
  int (*sum_floats)(float* values, int64_t count);
  int (*sum_doubles)(double* values, int64_t count);
  int (*broadcast)(void* bytes, int64_t count);  // what rank 0 has
  int (*gather)(const void* mine, int64_t count,
                void* all);  // as many bytes of each rank, by rank, on every rank
  // From each rank to each: bytes from `send` + send_at[r] to rank r, those of rank r to `receive` + receive_at[r].
  int (*all_to_all)(const char* send, const int64_t* send_at, const int64_t* send_bytes, char* receive,
                    const int64_t* receive_at, const int64_t* receive_bytes);
  int (*wait_for_all)();  // without keeping a processor busy
  void (*abort)(int code);
  void (*text)(int code, char* out, int room);
};

/// The module's one symbol, "klab_mpi_calls".
using MpiCallsOf = const MpiCalls*();

}  // namespace klab
