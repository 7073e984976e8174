// Table of the MPI functions that training with several processes needs. The functions are in a module of
// their own, libklab_mpi.so next to the program, which is loaded only if a launcher has started several
// processes. An MPI library starts threads, opens devices and writes to the terminal as soon as it is loaded,
// and none of that is wanted in other runs.
#pragma once

#include <cstdint>

namespace klab {

/// Each function returns 0, or a code for `text`.
struct MpiCalls {
  int (*init)(int* rank, int* size);
  void (*finalize)();  // does nothing before init() and after a finalize
  int (*sum_floats)(float* values, int64_t count);
  int (*sum_doubles)(double* values, int64_t count);
  int (*broadcast)(void* bytes, int64_t count);  // from rank 0 to all
  int (*gather)(const void* mine, int64_t count,
                void* all);  // the same number of bytes from each rank, by rank, on every rank
  // Sends bytes from `send` + send_at[r] to rank r, and receives those of rank r at `receive` +
  // receive_at[r].
  int (*all_to_all)(const char* send, const int64_t* send_at, const int64_t* send_bytes, char* receive,
                    const int64_t* receive_at, const int64_t* receive_bytes);
  int (*wait_for_all)();  // sleeps instead of spinning
  void (*abort)(int code);
  void (*text)(int code, char* out, int room);
};

/// The module's one symbol, "klab_mpi_calls".
using MpiCallsOf = const MpiCalls*();

}  // namespace klab
