// libklab_mpi.so: the MPI calls of labs/radiance/ranks, a module that is loaded only if there are several
// processes.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "labs/radiance/ranks/mpi_calls.h"

namespace {

/// MPI counts in int.
constexpr int64_t kMostAtOnce = 1 << 28;

int init(int* rank, int* size) {
  int provided = 0;
  // A rank computes with threads; only one of them calls MPI.
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided); code != MPI_SUCCESS)
    return code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

void finalize() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Finalize();
}

/// Splits a call into pieces whose counts fit MPI's int.
template <class Call>
int in_pieces(int64_t count, const Call& call) {
  for (int64_t at = 0; at < count; at += kMostAtOnce)
    if (const int code = call(at, int(std::min(count - at, kMostAtOnce))); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

int sum_floats(float* values, int64_t count) {
  return in_pieces(count, [&](int64_t at, int n) {
    return MPI_Allreduce(MPI_IN_PLACE, values + at, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
}

int sum_doubles(double* values, int64_t count) {
  return in_pieces(count, [&](int64_t at, int n) {
    return MPI_Allreduce(MPI_IN_PLACE, values + at, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  });
}

int broadcast(void* bytes, int64_t count) {
  return in_pieces(count, [&](int64_t at, int n) {
    return MPI_Bcast(static_cast<char*>(bytes) + at, n, MPI_BYTE, 0, MPI_COMM_WORLD);
  });
}

int gather(const void* mine, int64_t count, void* all) {
  return MPI_Allgather(mine, int(count), MPI_BYTE, all, int(count), MPI_BYTE, MPI_COMM_WORLD);
}

/// Skips the rank itself: its data does not move. Counts of MPI_Alltoallv are int, so larger arrays go in
/// pieces, each a message of its own.
int all_to_all(const char* send, const int64_t* send_at, const int64_t* send_bytes, char* receive,
               const int64_t* receive_at, const int64_t* receive_bytes) {
  constexpr int64_t kMost = int64_t(1) << 30;
  constexpr int kTag = 18;
  int rank = 0, size = 0, code = MPI_SUCCESS;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<MPI_Request> requests;
  const auto begin = [&](int64_t bytes, const auto& call) {
    for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += kMost) {
      requests.push_back(MPI_REQUEST_NULL);
      code = call(at, int(std::min(kMost, bytes - at)), &requests.back());
    }
  };
  // Each rank begins with its neighbor, so that not all send to the first.
  for (int step = 1; step < size; ++step) {
    const int from = (rank - step + size) % size, to = (rank + step) % size;
    begin(receive_bytes[from], [&](int64_t at, int n, MPI_Request* request) {
      return MPI_Irecv(receive + receive_at[from] + at, n, MPI_BYTE, from, kTag, MPI_COMM_WORLD, request);
    });
    begin(send_bytes[to], [&](int64_t at, int n, MPI_Request* request) {
      return MPI_Isend(send + send_at[to] + at, n, MPI_BYTE, to, kTag, MPI_COMM_WORLD, request);
    });
  }
  if (send_bytes[rank] > 0)
    std::memcpy(receive + receive_at[rank], send + send_at[rank], size_t(send_bytes[rank]));
  if (code != MPI_SUCCESS) return code;
  return MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; code == MPI_SUCCESS && done == 0; usleep(2000))
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return code;
}

void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void text(int code, char* out, int room) {
  char all[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, all, &length);
  std::snprintf(out, size_t(room), "%s", all);
}

}  // namespace

extern "C" const klab::MpiCalls* klab_mpi_calls() {
  static const klab::MpiCalls calls{init,   finalize,   sum_floats,   sum_doubles, broadcast,
                                    gather, all_to_all, wait_for_all, abort_all,   text};
  return &calls;
}
