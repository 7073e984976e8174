// Backends for a training step other than the processor.
#pragma once

#include <functional>
#include <string>

#include "harness/program/backend.h"
#include "labs/radiance/train/ray_step.h"

namespace klab {

/// Runs CUDA rungs on the host executor (harness/simt), in its device memory; accesses are watched and
/// counted if the session of this thread asks for it.
Backend simt_backend();

/// Bytes of page-locked memory in each of the two halves that loads to a GPU go through; a picture of 1920 x 1080 fits.
constexpr size_t kLoadHalf = size_t(8) << 20;

/// Runs CUDA rungs on the first GPU. Throws std::runtime_error with the reason if none can be used.
Backend cuda_backend();

struct BackendChoice {
  Backend backend;
  StepSizes sizes;     // how a step is cut on this backend
  std::string ladder;  // of the rungs: "cpu" or "cuda"
  /// Visible samples that a stretch of a picture has room for: enough work for each launch, but not too much
  /// for the host executor, which computes the padding, too.
  int64_t picture_samples = 1 << 18;
};

/// Throws std::runtime_error, "--backend cuda: the run needs 3.1 GB of the GPU's memory and 1.2 GB are free:
/// <remedy>", if the backend reports less free memory than `bytes`.
void require_room(const Backend& backend, int64_t bytes, const std::string& what, const std::string& remedy);

/// Returns the backend named "cpu", "simt" or "cuda". Throws std::runtime_error for another name, and like
/// cuda_backend().
BackendChoice backend_named(const std::string& name);

/// Sets a hook for tests. It is called before every call that can fail of a backend other than the processor,
/// with the kind of call ("alloc", "upload", "download", "fill", "load", "loaded", "launch", "mark", "wait").
/// What it throws is thrown by the call, as if the GPU were lost. Applies to backends made afterwards. Empty:
/// no hook.
void set_backend_hook(std::function<void(const char* call)> hook);

}  // namespace klab
