// Errors: names, messages, and how a call ends.
#include <algorithm>
#include <exception>

#include "harness/cuda_program/state.h"
#include "harness/cuda_program/unfinished.h"
#include "harness/simt/executor.h"

namespace klab::program {
namespace {

struct Named {
  cudaError_t error;
  const char* name;
  const char* text;
};
#define KLAB_ERROR(name, text) \
  { cuda##name, "cuda" #name, text }
constexpr Named kErrors[] = {
    KLAB_ERROR(Success, "no error"),
    KLAB_ERROR(ErrorInvalidValue, "invalid argument"),
    KLAB_ERROR(ErrorMemoryAllocation, "out of memory"),
    KLAB_ERROR(ErrorInitializationError, "initialization error"),
    KLAB_ERROR(ErrorInvalidConfiguration, "invalid configuration argument"),
    KLAB_ERROR(ErrorInvalidClusterSize, "invalid cluster size"),
    KLAB_ERROR(ErrorInvalidPitchValue, "invalid pitch argument"),
    KLAB_ERROR(ErrorInvalidSymbol, "invalid device symbol"),
    KLAB_ERROR(ErrorInvalidHostPointer, "invalid host pointer"),
    KLAB_ERROR(ErrorInvalidDevicePointer, "invalid device pointer"),
    KLAB_ERROR(ErrorInvalidTexture, "invalid texture reference"),
    KLAB_ERROR(ErrorInvalidTextureBinding, "texture is not bound to a pointer"),
    KLAB_ERROR(ErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    KLAB_ERROR(ErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    KLAB_ERROR(ErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    KLAB_ERROR(ErrorMissingConfiguration, "__global__ function call is not configured"),
    KLAB_ERROR(ErrorInvalidDeviceFunction, "invalid device function"),
    KLAB_ERROR(ErrorNoDevice, "no CUDA-capable device is detected"),
    KLAB_ERROR(ErrorInvalidDevice, "invalid device ordinal"),
    KLAB_ERROR(ErrorInvalidKernelImage, "device kernel image is invalid"),
    KLAB_ERROR(ErrorInvalidResourceHandle, "invalid resource handle"),
    KLAB_ERROR(ErrorIllegalState, "the operation cannot be performed in the present state"),
    KLAB_ERROR(ErrorSymbolNotFound, "named symbol not found"),
    KLAB_ERROR(ErrorNotReady, "device not ready"),
    KLAB_ERROR(ErrorIllegalAddress, "an illegal memory access was encountered"),
    KLAB_ERROR(ErrorLaunchOutOfResources, "too many resources requested for launch"),
    KLAB_ERROR(ErrorLaunchTimeout, "the launch timed out and was terminated"),
    KLAB_ERROR(ErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    KLAB_ERROR(ErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    KLAB_ERROR(ErrorAssert, "device-side assert triggered"),
    KLAB_ERROR(ErrorHostMemoryAlreadyRegistered,
               "part or all of the requested memory range is already mapped"),
    KLAB_ERROR(ErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    KLAB_ERROR(ErrorMisalignedAddress, "misaligned address"),
    KLAB_ERROR(ErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    KLAB_ERROR(ErrorLaunchFailure, "unspecified launch failure"),
    KLAB_ERROR(ErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    KLAB_ERROR(ErrorNotPermitted, "operation not permitted"),
    KLAB_ERROR(ErrorNotSupported, "operation not supported"),
    KLAB_ERROR(ErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    KLAB_ERROR(ErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    KLAB_ERROR(ErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    KLAB_ERROR(ErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    KLAB_ERROR(ErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    KLAB_ERROR(ErrorStreamCaptureImplicit,
               "operation would make the legacy stream depend on a capturing blocking stream"),
    KLAB_ERROR(ErrorGraphExecUpdateFailure,
               "the graph update was not performed because it included changes which violated constraints"),
    KLAB_ERROR(ErrorUnknown, "unknown error"),
    // Errors that nothing here returns, but that programs name.
    KLAB_ERROR(ErrorCudartUnloading, "driver shutting down"),
    KLAB_ERROR(ErrorProfilerDisabled, "profiler disabled"),
    KLAB_ERROR(ErrorProfilerNotInitialized, "profiler not initialized"),
    KLAB_ERROR(ErrorProfilerAlreadyStarted, "profiler already started"),
    KLAB_ERROR(ErrorProfilerAlreadyStopped, "profiler already stopped"),
    KLAB_ERROR(ErrorAddressOfConstant, "address of constant"),
    KLAB_ERROR(ErrorTextureFetchFailed, "texture fetch failed"),
    KLAB_ERROR(ErrorTextureNotBound, "texture not bound"),
    KLAB_ERROR(ErrorSynchronizationError, "synchronization error"),
    KLAB_ERROR(ErrorInvalidFilterSetting, "invalid filter setting"),
    KLAB_ERROR(ErrorInvalidNormSetting, "invalid norm setting"),
    KLAB_ERROR(ErrorMixedDeviceExecution, "mixed device execution"),
    KLAB_ERROR(ErrorNotYetImplemented, "not yet implemented"),
    KLAB_ERROR(ErrorMemoryValueTooLarge, "memory value too large"),
    KLAB_ERROR(ErrorStubLibrary, "stub library"),
    KLAB_ERROR(ErrorCallRequiresNewerDriver, "call requires newer driver"),
    KLAB_ERROR(ErrorInvalidSurface, "invalid surface"),
    KLAB_ERROR(ErrorDuplicateVariableName, "duplicate variable name"),
    KLAB_ERROR(ErrorDuplicateTextureName, "duplicate texture name"),
    KLAB_ERROR(ErrorDuplicateSurfaceName, "duplicate surface name"),
    KLAB_ERROR(ErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    KLAB_ERROR(ErrorIncompatibleDriverContext, "incompatible driver context"),
    KLAB_ERROR(ErrorPriorLaunchFailure, "prior launch failure"),
    KLAB_ERROR(ErrorLaunchMaxDepthExceeded, "launch max depth exceeded"),
    KLAB_ERROR(ErrorLaunchFileScopedTex, "launch file scoped tex"),
    KLAB_ERROR(ErrorLaunchFileScopedSurf, "launch file scoped surf"),
    KLAB_ERROR(ErrorSyncDepthExceeded, "sync depth exceeded"),
    KLAB_ERROR(ErrorLaunchPendingCountExceeded, "launch pending count exceeded"),
    KLAB_ERROR(ErrorDeviceNotLicensed, "device not licensed"),
    KLAB_ERROR(ErrorSoftwareValidityNotEstablished, "software validity not established"),
    KLAB_ERROR(ErrorStartupFailure, "startup failure"),
    KLAB_ERROR(ErrorDeviceUninitialized, "invalid device context"),
    KLAB_ERROR(ErrorMapBufferObjectFailed, "map buffer object failed"),
    KLAB_ERROR(ErrorUnmapBufferObjectFailed, "unmap buffer object failed"),
    KLAB_ERROR(ErrorArrayIsMapped, "array is mapped"),
    KLAB_ERROR(ErrorAlreadyMapped, "already mapped"),
    KLAB_ERROR(ErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    KLAB_ERROR(ErrorAlreadyAcquired, "already acquired"),
    KLAB_ERROR(ErrorNotMapped, "not mapped"),
    KLAB_ERROR(ErrorNotMappedAsArray, "not mapped as array"),
    KLAB_ERROR(ErrorNotMappedAsPointer, "not mapped as pointer"),
    KLAB_ERROR(ErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    KLAB_ERROR(ErrorUnsupportedLimit, "limit is not supported on this architecture"),
    KLAB_ERROR(ErrorDeviceAlreadyInUse, "device already in use"),
    KLAB_ERROR(ErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    KLAB_ERROR(ErrorInvalidPtx, "a PTX JIT compilation failed"),
    KLAB_ERROR(ErrorInvalidGraphicsContext, "invalid graphics context"),
    KLAB_ERROR(ErrorNvlinkUncorrectable, "nvlink uncorrectable"),
    KLAB_ERROR(ErrorJitCompilerNotFound, "PTX JIT compiler library not found"),
    KLAB_ERROR(ErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain"),
    KLAB_ERROR(ErrorJitCompilationDisabled, "jit compilation disabled"),
    KLAB_ERROR(ErrorUnsupportedExecAffinity, "unsupported exec affinity"),
    KLAB_ERROR(ErrorUnsupportedDevSideSync, "unsupported dev side sync"),
    KLAB_ERROR(ErrorContained, "contained"),
    KLAB_ERROR(ErrorInvalidSource, "device kernel image is invalid"),
    KLAB_ERROR(ErrorFileNotFound, "file not found"),
    KLAB_ERROR(ErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    KLAB_ERROR(ErrorSharedObjectInitFailed, "shared object initialization failed"),
    KLAB_ERROR(ErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    KLAB_ERROR(ErrorLossyQuery, "lossy query"),
    KLAB_ERROR(ErrorLaunchIncompatibleTexturing, "launch incompatible texturing"),
    KLAB_ERROR(ErrorSetOnActiveProcess, "set on active process"),
    KLAB_ERROR(ErrorContextIsDestroyed, "context is destroyed"),
    KLAB_ERROR(ErrorTooManyPeers, "too many peers"),
    KLAB_ERROR(ErrorHardwareStackError, "hardware stack error"),
    KLAB_ERROR(ErrorIllegalInstruction, "an illegal instruction was encountered"),
    KLAB_ERROR(ErrorInvalidPc, "invalid program counter"),
    KLAB_ERROR(ErrorTensorMemoryLeak, "tensor memory leak"),
    KLAB_ERROR(ErrorSystemNotReady, "system not yet initialized"),
    KLAB_ERROR(ErrorSystemDriverMismatch, "system driver mismatch"),
    KLAB_ERROR(ErrorCompatNotSupportedOnDevice, "compat not supported on device"),
    KLAB_ERROR(ErrorMpsConnectionFailed, "mps connection failed"),
    KLAB_ERROR(ErrorMpsRpcFailure, "mps rpc failure"),
    KLAB_ERROR(ErrorMpsServerNotReady, "mps server not ready"),
    KLAB_ERROR(ErrorMpsMaxClientsReached, "mps max clients reached"),
    KLAB_ERROR(ErrorMpsMaxConnectionsReached, "mps max connections reached"),
    KLAB_ERROR(ErrorMpsClientTerminated, "mps client terminated"),
    KLAB_ERROR(ErrorCdpNotSupported, "cdp not supported"),
    KLAB_ERROR(ErrorCdpVersionMismatch, "cdp version mismatch"),
    KLAB_ERROR(ErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    KLAB_ERROR(ErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    KLAB_ERROR(ErrorStreamCaptureWrongThread,
               "attempt to terminate a thread-local capture sequence from another thread"),
    KLAB_ERROR(ErrorTimeout, "wait operation timed out"),
    KLAB_ERROR(ErrorExternalDevice, "operation failed due to an error on an external device"),
    KLAB_ERROR(ErrorInvalidClusterSize, "invalid cluster configuration"),
    KLAB_ERROR(ErrorFunctionNotLoaded, "function not loaded"),
    KLAB_ERROR(ErrorInvalidResourceType, "invalid resource type"),
    KLAB_ERROR(ErrorInvalidResourceConfiguration, "invalid resource configuration"),
    KLAB_ERROR(ErrorApiFailureBase, "api failure base"),
};
#undef KLAB_ERROR

/// Returns whether all later calls fail too, as on a device whose context is lost.
bool breaks(cudaError_t e) {
  return e == cudaErrorIllegalAddress || e == cudaErrorLaunchTimeout || e == cudaErrorMisalignedAddress ||
         e == cudaErrorLaunchFailure || e == cudaErrorAssert;
}

}  // namespace

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

std::string& last_reason() {
  thread_local std::string reason;
  return reason;
}

void unasked_failure(cudaError_t error, const std::string& what, const void* return_address) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  // After an aborted kernel every call fails. Answers that are no failures come as errors too.
  if (error == s.broken || error == cudaErrorNotReady || error == cudaErrorPeerAccessAlreadyEnabled ||
      error == cudaErrorCudartUnloading)
    return;
  const simt::SourceLine at = simt::source_of(return_address);
  std::string reason = last_reason();
  if (reason.empty()) reason = cudaGetErrorString(error);
  constexpr size_t kMost = 1000;
  if (s.unasked.size() < kMost)
    s.unasked.push_back(
        {std::this_thread::get_id(),
         {.kind = simt::Kind::failed_call,
          .file = at.file,
          .line = at.line,
          .text = what + " failed with " + cudaGetErrorName(error) + " (" + reason +
                  "), and the program did not ask for the error (" +
                  (what.starts_with("cuda") ? "the call returns it" : "cudaGetLastError") + ")"}});
}

void unasked(cudaError_t error, const char* call) {
  unasked_failure(error, call, __builtin_return_address(0));
}

void add_unasked() {
  State& s = state();
  std::vector<simt::Finding> failures;
  for (const State::Unasked& u : s.unasked) failures.push_back(u.finding);
  s.session->add_first(failures);
  s.unasked.clear();
}

cudaError_t error_named(const std::string& name) {
  const auto found = std::ranges::find_if(kErrors, [&](const Named& e) { return name == e.name; });
  return found == std::end(kErrors) ? cudaErrorUnknown : found->error;
}

namespace {

/// `waits`: for launches that host code has left.
cudaError_t called(const std::function<void()>& body, bool when_broken, bool waits) {
  State& s = state();
  std::unique_lock lock(s.mutex, std::defer_lock);
  cudaError_t error = cudaSuccess;
  last_reason().clear();
  try {
    if (simt::running != nullptr && simt::running->grid != nullptr) {
      simt::running->in_turn();  // called from a kernel: the thread that launched it holds the lock and waits
    } else {
      if (waits)
        finish_all(false);
      else
        look_after_unfinished();
      lock.lock();
    }
    for (;;) {
      if (s.broken != cudaSuccess && !when_broken) throw Failed{s.broken};
      try {
        body();
        break;
      } catch (const MustWait&) {
        lock.unlock();
        finish_all(true);
        lock.lock();
      }
    }
  } catch (const Failed& f) {
    error = f.error;
  } catch (const simt::Error& e) {
    error = error_named(e.cuda_name());
    const std::string text = e.what();
    last_reason() = text.substr(std::min(text.size(), e.cuda_name().size() + 2));
    if (breaks(error)) s.broken = error;
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  }
  if (error != cudaSuccess) last_error() = error;
  return error;
}

}  // namespace

cudaError_t api(const std::function<void()>& body, bool when_broken) {
  return called(body, when_broken, true);
}
cudaError_t api_without_wait(const std::function<void()>& body) { return called(body, false, false); }

}  // namespace klab::program

using klab::program::last_error;

namespace {
/// This thread's failed calls are known to the program now.
void asked() {
  if (klab::simt::running != nullptr) return;  // a kernel asks for its own errors; the lock is its launch's
  auto& s = klab::program::state();
  const std::lock_guard lock(s.mutex);
  std::erase_if(s.unasked, [](const auto& u) { return u.thread == std::this_thread::get_id(); });
}
}  // namespace

extern "C" {
cudaError_t cudaGetLastError() {
  asked();
  const cudaError_t error = last_error();
  last_error() = klab::program::state().broken;
  return error;
}
cudaError_t cudaPeekAtLastError() {
  asked();
  return last_error();
}
const char* cudaGetErrorString(cudaError_t error) {
  for (const auto& e : klab::program::kErrors)
    if (e.error == error) return e.text;
  return "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t error) {
  for (const auto& e : klab::program::kErrors)
    if (e.error == error) return e.name;
  return "unrecognized error code";
}
}
