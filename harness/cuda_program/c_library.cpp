// The C library functions that kernels call. Copies and fills are watched, the heap is the device's, blocks
// print in their order, and a failed assertion ends the kernel rather than the program.
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "harness/cuda_program/state.h"
#include "harness/simt/executor.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/trace.h"
#include "harness/simt/unwatched.h"

namespace {

bool in_kernel() { return klab::simt::running != nullptr && klab::simt::running->lane != nullptr; }

/// Reports accesses as a thread would copy: in the widest pieces to which both ends are aligned, at most 8
/// bytes.
void touch(const void* p, size_t bytes, bool write, const void* pc, uintptr_t alignment) {
  if (in_kernel()) {
    klab::simt::Trace* trace = klab::simt::running->trace;
    if (trace == nullptr) {
      if (write) klab::simt::written_unwatched(p, bytes);
      return;
    }
    size_t piece = 8;
    while (piece > 1 && alignment % piece != 0) piece /= 2;
    for (size_t at = 0; at < bytes; at += piece) {
      klab::simt::running->aggregate = {static_cast<const char*>(p), bytes};
      trace->access(static_cast<const char*>(p) + at, std::min(piece, bytes - at),
                    write ? klab::simt::kWrite : klab::simt::kRead, pc);
    }
    klab::simt::running->aggregate.bytes = 0;
  } else if (klab::simt::host_touch != nullptr && klab::simt::is_device(p) && bytes > 0) {
    klab::simt::host_touch(p, bytes, write ? klab::simt::HostAccess::write : klab::simt::HostAccess::read,
                           pc);
  }
}

}  // namespace

extern "C" {
void* klab_memcpy(void* to, const void* from, size_t bytes) {
  const void* pc = __builtin_return_address(0);
  const uintptr_t alignment = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  touch(from, bytes, false, pc, alignment);
  touch(to, bytes, true, pc, alignment);
  if (!in_kernel()) klab::program::unwritten_moved(to, from, bytes);
  return std::memcpy(to, from, bytes);
}
void* klab_memmove(void* to, const void* from, size_t bytes) {
  const void* pc = __builtin_return_address(0);
  const uintptr_t alignment = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  touch(from, bytes, false, pc, alignment);
  touch(to, bytes, true, pc, alignment);
  if (!in_kernel()) klab::program::unwritten_moved(to, from, bytes);
  return std::memmove(to, from, bytes);
}
void* klab_memset(void* p, int value, size_t bytes) {
  touch(p, bytes, true, __builtin_return_address(0), reinterpret_cast<uintptr_t>(p) | bytes);
  if (!in_kernel()) klab::program::written_by_host(p, bytes);
  return std::memset(p, value, bytes);
}
void* klab_malloc(size_t bytes) {
  if (!in_kernel()) return std::malloc(bytes);
  klab::simt::running->in_turn();
  size_t limit = 0;
  if (cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize) != cudaSuccess || bytes > limit) return nullptr;
  return klab::simt::device_alloc(bytes, "malloc in a kernel");
}
void klab_free(void* p) {
  if (!klab::simt::is_device(p)) {
    if (p != nullptr) klab::program::written_by_host(p, malloc_usable_size(p));
    return std::free(p);
  }
  if (in_kernel()) klab::simt::running->in_turn();
  try {
    klab::simt::device_free(p);
  } catch (const klab::simt::Error& e) {
    if (in_kernel())
      klab::simt::running->abandon({.kind = klab::simt::Kind::use_after_free, .text = e.what()});
    klab::program::add_host_finding(klab::simt::Kind::host_access, "free() of device memory",
                                    __builtin_return_address(0));
  }
}

// Kernels print in the order of their blocks.
int printf(const char* format, ...) {
  if (in_kernel()) klab::simt::running->in_turn();
  va_list values;
  va_start(values, format);
  const int written = std::vfprintf(stdout, format, values);
  va_end(values);
  return written;
}
int puts(const char* text) {
  if (in_kernel()) klab::simt::running->in_turn();
  return std::fputs(text, stdout) < 0 || std::fputc('\n', stdout) == EOF ? EOF : 1;
}
int putchar(int character) {
  if (in_kernel()) klab::simt::running->in_turn();
  return std::fputc(character, stdout);
}

/// Called by assert().
[[noreturn]] void __assert_fail(const char* expression, const char* file, unsigned line,
                                const char* function) noexcept {
  if (in_kernel()) {
    klab::simt::Executor& e = *klab::simt::running;
    e.in_turn();
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
                 line, function, e.block[0], e.block[1], e.block[2], e.lane->x, e.lane->y, e.lane->z,
                 expression);
    klab::simt::running->abandon({.kind = klab::simt::Kind::trap,
                                  .file = file,
                                  .line = int(line),
                                  .text = std::string("assertion ") + expression + " failed"});
  }
  using Fail = void (*)(const char*, const char*, unsigned, const char*);
  if (auto* next = reinterpret_cast<Fail>(dlsym(RTLD_NEXT, "__assert_fail")); next != nullptr)
    next(expression, file, line, function);
  std::abort();
}
}

// new and delete replace those of the C++ library. In a kernel's own code they use the device's heap; the
// executor, which runs in between, uses the host's.
namespace {
void* new_bytes(size_t bytes, const void* pc) {
  if (in_kernel() && klab::simt::module_at(pc) != nullptr) return klab_malloc(bytes);
  if (void* p = std::malloc(std::max<size_t>(bytes, 1)); p != nullptr) return p;
  throw std::bad_alloc();
}
}  // namespace
void* operator new(size_t bytes) { return new_bytes(bytes, __builtin_return_address(0)); }
void* operator new[](size_t bytes) { return new_bytes(bytes, __builtin_return_address(0)); }
void operator delete(void* p) noexcept { klab_free(p); }
void operator delete[](void* p) noexcept { klab_free(p); }
void operator delete(void* p, size_t) noexcept { klab_free(p); }
void operator delete[](void* p, size_t) noexcept { klab_free(p); }
