// The functions that GCC's thread sanitizer calls at each load and store of a traced file. No sanitizer
// library is linked.
#include <algorithm>
#include <cstddef>

#include "harness/simt/entered.h"
#include "harness/simt/executor.h"
#include "harness/simt/host_threads.h"
#include "harness/simt/memory.h"
#include "harness/simt/trace.h"
#include "harness/simt/unwatched.h"

namespace {

using klab::simt::running;

bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}
bool acquires(int order) {
  return order == __ATOMIC_CONSUME || order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL ||
         order == __ATOMIC_SEQ_CST;
}

/// `order`: of an atomic access, as the compiler numbers them.
inline void seen(const void* p, size_t bytes, uint8_t how, const void* pc, int order = __ATOMIC_RELAXED) {
  using namespace klab::simt;
  if (running == nullptr || running->lane == nullptr) {
    if (HostThreads* const threads = listening())
      return threads->access(p, bytes, (how & kWrite) != 0, (how & (kAtomic | kStrong)) != 0, pc);
    const auto* c = static_cast<const char*>(p);
    if (host_touch != nullptr && (is_device(p) || (c >= watched_begin && c < watched_end) ||
                                  (c >= unwritten_begin.load(std::memory_order_relaxed) &&
                                   c < unwritten_end.load(std::memory_order_relaxed)))) {
      const bool write = (how & kWrite) != 0;
      const bool atomic = (how & (kAtomic | kStrong | kVolatile)) != 0;  // a flag is volatile
      host_touch(p, bytes, atomic ? HostAccess::atomic : write ? HostAccess::write : HostAccess::read, pc);
    }
    return;
  }
  const bool flag = (how & (kAtomic | kVolatile)) != 0;
  if (flag) running->in_turn(p);
  Trace* const trace = running->trace;
  if (trace == nullptr) {
    if ((how & kWrite) != 0) written_unwatched(p, bytes);
    return;
  }
  order &= 0xFF;  // above lie flags of the compiler
  if (flag && (how & kWrite) != 0 && releases(order)) trace->fence(true);
  trace->access(p, bytes, how, pc);
  if (flag && size_t(static_cast<const char*>(p) - running->lane->stack) >= kStackOfThread)
    trace->atomic_at(p, how, acquires(order));
}

/// Handles the common case of a plain access.
template <unsigned bytes, bool write>
inline void seen_plainly(const void* p, const void* pc) {
  using namespace klab::simt;
  Executor* const ex = running;
  if (ex == nullptr || ex->lane == nullptr || ex->trace == nullptr)
    return seen(p, bytes, write ? kWrite : kRead, pc);
  if constexpr (bytes >= 4)
    ex->trace->plain_access<bytes, write>(*ex, *ex->lane, p, pc);
  else
    ex->trace->access(p, bytes, write ? kWrite : kRead, pc);
}

/// Reports the copy of an aggregate that is not aligned as a vector. A GPU's compiler moves it in pieces of
/// the aggregate's alignment, which the hook does not know. It assumes 4 bytes, the usual size of members.
inline void seen_in_pieces(void* p, size_t bytes, uint8_t how, const void* pc) {
  using klab::simt::running;
  if (running == nullptr || running->lane == nullptr) return seen(p, bytes, how, pc);
  const size_t piece = bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
  for (size_t at = 0; at < bytes; at += piece) {
    running->aggregate = {static_cast<char*>(p), bytes};  // another thread may have run in between
    seen(static_cast<char*>(p) + at, piece, how, pc);
  }
  running->aggregate.bytes = 0;
}

/// An atomic operation with its memory order, for threads of the host: from its begin to its end.
class Ordered {
 public:
  Ordered(const volatile void* p, bool reads, bool writes, int order)
      : threads_(klab::simt::running == nullptr ? klab::simt::listening() : nullptr),
        p_(const_cast<const void*>(p)),
        reads_(reads),
        order_(order) {
    if (threads_ != nullptr) threads_->before_atomic(p_, writes, order);
  }
  ~Ordered() {
    if (threads_ != nullptr) threads_->after_atomic(p_, reads_, order_);
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;

 private:
  klab::simt::HostThreads* threads_;
  const void* p_;
  bool reads_;
  int order_;
};

}  // namespace

constinit std::atomic<klab::simt::HostThreads*> klab::simt::host_threads{nullptr};

#define KLAB_HOOKS(bytes)                                                                              \
  void __tsan_read##bytes(void* p) { seen_plainly<bytes, false>(p, __builtin_return_address(0)); }     \
  void __tsan_write##bytes(void* p) { seen_plainly<bytes, true>(p, __builtin_return_address(0)); }     \
  void __tsan_unaligned_read##bytes(void* p) {                                                         \
    seen_in_pieces(p, bytes, klab::simt::kRead, __builtin_return_address(0));                          \
  }                                                                                                    \
  void __tsan_unaligned_write##bytes(void* p) {                                                        \
    seen_in_pieces(p, bytes, klab::simt::kWrite, __builtin_return_address(0));                         \
  }                                                                                                    \
  void __tsan_volatile_read##bytes(void* p) {                                                          \
    seen(p, bytes, klab::simt::kRead | klab::simt::kVolatile, __builtin_return_address(0));            \
  }                                                                                                    \
  void __tsan_volatile_write##bytes(void* p) {                                                         \
    seen(p, bytes, klab::simt::kWrite | klab::simt::kVolatile, __builtin_return_address(0));           \
  }                                                                                                    \
  void __tsan_unaligned_volatile_read##bytes(void* p) {                                                \
    seen_in_pieces(p, bytes, klab::simt::kRead | klab::simt::kVolatile, __builtin_return_address(0));  \
  }                                                                                                    \
  void __tsan_unaligned_volatile_write##bytes(void* p) {                                               \
    seen_in_pieces(p, bytes, klab::simt::kWrite | klab::simt::kVolatile, __builtin_return_address(0)); \
  }

// Atomic operations in the source itself (guards of static variables use them).
// NOLINTBEGIN(bugprone-macro-parentheses): a type in parentheses is not a type.
#define KLAB_ATOMIC_UPDATE(bits, T, name)                                        \
  T __tsan_atomic##bits##_##name(volatile T* p, T v, int order) {                \
    seen(const_cast<T*>(p), sizeof(T), klab::simt::kWrite | klab::simt::kAtomic, \
         __builtin_return_address(0), order);                                    \
    const Ordered ordered(p, true, true, order);                                 \
    return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                              \
  }
#define KLAB_ATOMICS(bits, T)                                                                            \
  T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                         \
    seen(const_cast<T*>(p), sizeof(T), klab::simt::kRead | klab::simt::kVolatile | klab::simt::kStrong,  \
         __builtin_return_address(0), order);                                                            \
    const Ordered ordered(p, true, false, order);                                                        \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                         \
  }                                                                                                      \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int order) {                                      \
    seen(const_cast<T*>(p), sizeof(T), klab::simt::kWrite | klab::simt::kVolatile | klab::simt::kStrong, \
         __builtin_return_address(0), order);                                                            \
    const Ordered ordered(p, false, true, order);                                                        \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                      \
  T __tsan_atomic##bits##_exchange(volatile T* p, T v, int order) {                                      \
    seen(const_cast<T*>(p), sizeof(T), klab::simt::kWrite | klab::simt::kAtomic,                         \
         __builtin_return_address(0), order);                                                            \
    const Ordered ordered(p, true, true, order);                                                         \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                      \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int order, int) {   \
    seen(const_cast<T*>(p), sizeof(T), klab::simt::kWrite | klab::simt::kAtomic,                         \
         __builtin_return_address(0), order);                                                            \
    const Ordered ordered(p, true, true, order);                                                         \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                      \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int order, int) {     \
    seen(const_cast<T*>(p), sizeof(T), klab::simt::kWrite | klab::simt::kAtomic,                         \
         __builtin_return_address(0), order);                                                            \
    const Ordered ordered(p, true, true, order);                                                         \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                      \
  KLAB_ATOMIC_UPDATE(bits, T, fetch_add)                                                                 \
  KLAB_ATOMIC_UPDATE(bits, T, fetch_sub)                                                                 \
  KLAB_ATOMIC_UPDATE(bits, T, fetch_and)                                                                 \
  KLAB_ATOMIC_UPDATE(bits, T, fetch_or)                                                                  \
  KLAB_ATOMIC_UPDATE(bits, T, fetch_xor)                                                                 \
  KLAB_ATOMIC_UPDATE(bits, T, fetch_nand)
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {
void __tsan_atomic_thread_fence(int order) {
  if (running != nullptr && running->lane != nullptr) {
    if ((order & 0xFF) != __ATOMIC_RELAXED) klab::simt::fence(true);
  } else if (klab::simt::HostThreads* const threads = klab::simt::listening()) {
    threads->fence();
  }
  __atomic_thread_fence(order);
}
void __tsan_atomic_signal_fence(int) {}
KLAB_ATOMICS(8, uint8_t)
KLAB_ATOMICS(16, uint16_t)
KLAB_ATOMICS(32, uint32_t)
KLAB_ATOMICS(64, uint64_t)
void __tsan_init() {}
void __tsan_func_entry(void*) {
  if (running == nullptr || running->lane == nullptr || running->trace == nullptr) return;
  running->trace->function_entered();
}
void __tsan_func_exit() {
  if (running == nullptr || running->lane == nullptr || running->trace == nullptr) return;
  running->trace->function_left();
}
/// Called when a constructor stores the address of its class's table of virtual functions.
void __tsan_vptr_update(void* p, void*) {
  seen(p, sizeof(void*), klab::simt::kWrite, __builtin_return_address(0));
}
void __tsan_vptr_read(void*) {}
KLAB_HOOKS(1)
KLAB_HOOKS(2)
KLAB_HOOKS(4)
KLAB_HOOKS(8)
KLAB_HOOKS(16)
void __tsan_read_range(void* p, size_t bytes) {
  seen_in_pieces(p, bytes, klab::simt::kRead, __builtin_return_address(0));
}
void __tsan_write_range(void* p, size_t bytes) {
  seen_in_pieces(p, bytes, klab::simt::kWrite, __builtin_return_address(0));
}
/// Arguments of the compiler's check of indexes into arrays of known length. Their layout is defined by
/// -fsanitize=bounds (compiler-rt, ubsan_handlers.h).
struct IndexType {
  uint16_t kind, info;  // for an integer: the sign in bit 0, the logarithm of the width above
  char name[1];
};
struct BadIndex {
  const char* file;
  uint32_t line, column;
  const IndexType *array, *index;
};
void __ubsan_handle_out_of_bounds(const BadIndex* what, uintptr_t index) {
  if (running == nullptr || running->lane == nullptr || running->trace == nullptr) return;
  const unsigned unused = 64 - std::min(64u, 1u << (what->index->info >> 1));
  const auto value = int64_t(uint64_t(index) << unused);
  running->trace->bad_index(what->index->info & 1 ? value >> unused : int64_t(uint64_t(value) >> unused),
                            what->array->name, what->file, int(what->line), __builtin_return_address(0));
}
/// Arguments of the compiler's check of pointers to types with an alignment of their own (-fsanitize=alignment).
struct BadPointer {
  const char* file;
  uint32_t line, column;
  const IndexType* type;
  uint8_t log_alignment, kind;  // 0: load, 1: store; others make no access of the whole type
};
void __ubsan_handle_type_mismatch_v1(const BadPointer* what, void* pointer) {
  if (running == nullptr || running->lane == nullptr || running->trace == nullptr || what->kind > 1) return;
  running->trace->bad_alignment(pointer, size_t(1) << what->log_alignment, what->kind == 1, what->type->name,
                                what->file, int(what->line), __builtin_return_address(0));
}
/// Called at every branch, so that loops without accesses are noticed too.
void __sanitizer_cov_trace_pc() {
  if (running == nullptr || running->lane == nullptr) return;
  if (running->trace == nullptr) return running->step(__builtin_return_address(0));
  klab::simt::mark_entered(__builtin_return_address(0));
  running->trace->block_entered(__builtin_return_address(0));
}
}
