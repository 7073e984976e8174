// libklab_nccl.so: the NCCL calls of labs/radiance/ranks, a module that is loaded only if several processes
// train on GPUs.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>

#include "labs/radiance/ranks/device_calls.h"

namespace {

ncclComm_t all = nullptr;
cudaStream_t stream = nullptr;
int ranks = 0;

static_assert(sizeof(ncclUniqueId) <= klab::DeviceCalls::kIdBytes);

const char* text(ncclResult_t r) { return r == ncclSuccess ? nullptr : ncclGetErrorString(r); }
const char* text(cudaError_t e) { return e == cudaSuccess ? nullptr : cudaGetErrorString(e); }

/// Waits for the stream after a call.
const char* through(ncclResult_t r) {
  const char* const wrong = text(r);
  return wrong != nullptr ? wrong : text(cudaStreamSynchronize(stream));
}

const char* new_id(void* id) {
  ncclUniqueId made;
  const char* const wrong = text(ncclGetUniqueId(&made));
  std::memcpy(id, &made, sizeof made);
  return wrong;
}

const char* join(const void* id, int rank, int size) {
  ncclUniqueId given;
  std::memcpy(&given, id, sizeof given);
  ranks = size;
  if (const char* wrong = text(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))) return wrong;
  return text(ncclCommInitRank(&all, size, given, rank));
}

void leave() {
  if (all != nullptr) ncclCommDestroy(all);
  if (stream != nullptr) cudaStreamDestroy(stream);
  all = nullptr;
  stream = nullptr;
}

const char* mean(float* values, int64_t count) {
  return through(ncclAllReduce(values, values, size_t(count), ncclFloat, ncclAvg, all, stream));
}

/// Makes one call for each rank's part; NCCL runs them concurrently. Parts may differ in length.
template <class Call>
const char* for_parts(const Call& call) {
  ncclResult_t result = ncclGroupStart();
  for (int r = 0; r < ranks && result == ncclSuccess; ++r) result = call(r);
  const ncclResult_t end = ncclGroupEnd();
  return through(result == ncclSuccess ? end : result);
}

const char* mean_of_parts(float* values, const int64_t* begin, const int64_t* count) {
  return for_parts([&](int r) {
    float* const part = values + begin[r];
    return ncclReduce(part, part, size_t(count[r]), ncclFloat, ncclAvg, r, all, stream);
  });
}

const char* gather_parts(float* values, const int64_t* begin, const int64_t* count) {
  return for_parts([&](int r) {
    float* const part = values + begin[r];
    return ncclBroadcast(part, part, size_t(count[r]), ncclFloat, r, all, stream);
  });
}

}  // namespace

extern "C" const klab::DeviceCalls* klab_device_calls() {
  static const klab::DeviceCalls calls{new_id, join, leave, mean, mean_of_parts, gather_parts};
  return &calls;
}
