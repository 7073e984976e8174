#include "harness/cuda_program/library_calls.h"

#include "harness/simt/memory.h"

namespace klab::program {

const simt::Allocation* LibraryCall::memory_of(const void* p, size_t bytes) const {
  const simt::Allocation* a = memory_at(p);
  const auto* c = static_cast<const char*>(p);
  const std::string what = std::string(name_) + " uses " + std::to_string(bytes) + " bytes ";
  if (a == nullptr) {
    add_host_finding(simt::Kind::host_access,
                     what + (p == nullptr ? "at a null pointer" : "of the host") + ", which no device can");
    throw Failed{cudaErrorInvalidDevicePointer};
  }
  if (!a->live || c < a->begin || c + bytes > a->begin + a->bytes) {
    add_host_finding(a->live ? simt::Kind::out_of_bounds : simt::Kind::use_after_free,
                     what + "in " + a->name + " (" + std::to_string(a->bytes) + " bytes), " +
                         (a->live ? "byte " + std::to_string(c - a->begin) + " on, which do not fit"
                                  : "which has been freed"));
    throw Failed{cudaErrorIllegalAddress};
  }
  return a;
}

void LibraryCall::reads(const void* p, size_t bytes) {
  if (bytes == 0) return;
  const simt::Allocation* a = memory_of(p, bytes);
  bytes_ += bytes;
  touches_in_stream(p, bytes, false);
  if (told_ || !simt::is_device(p) || a->home != simt::Home::device || state().session->options().share < 1)
    return;
  simt::each_undefined(*a, size_t(static_cast<const char*>(p) - a->begin), bytes, [&](size_t begin, size_t) {
    if (std::exchange(told_, true)) return;
    add_host_finding(simt::Kind::uninitialized, std::string(name_) + " reads byte " + std::to_string(begin) +
                                                    " of " + a->name + ", which was never written");
  });
}

void LibraryCall::writes(void* p, size_t bytes) {
  if (bytes == 0) return;
  memory_of(p, bytes);
  bytes_ += bytes;
  touches_in_stream(p, bytes, true);
  simt::mark_defined(p, bytes, true);
}

void LibraryCall::reads_columns(const void* p, size_t bytes, size_t columns, size_t step) {
  if (step == bytes && columns > 0) return reads(p, bytes * columns);
  for (size_t k = 0; k < columns; ++k) reads(static_cast<const char*>(p) + k * step, bytes);
}

void LibraryCall::writes_columns(void* p, size_t bytes, size_t columns, size_t step) {
  if (step == bytes && columns > 0) return writes(p, bytes * columns);
  for (size_t k = 0; k < columns; ++k) writes(static_cast<char*>(p) + k * step, bytes);
}

LibraryCall::~LibraryCall() {
  State::LibraryCalls& calls = state().library_calls[name_];
  ++calls.count;
  calls.bytes += bytes_;
}

cudaError_t library_call(const char* name, cudaStream_t stream, std::function<void(LibraryCall&)> work) {
  return api([&] {
    enqueue(stream, [name, work = std::move(work)] {
      LibraryCall call(name);
      work(call);
    });
  });
}

}  // namespace klab::program
