// cuda::barrier of a block (CUDA C++ Programming Guide, "Asynchronous Barrier"), and copies that a barrier
// waits for.
#pragma once

#include <klab_cuda/copies.h>

#include "harness/simt/async_api.h"

// If a program also includes a toolkit's libcu++, both must share the scope enumeration.
#if __has_include(<cuda/std/__atomic/scopes.h>)
#include <cuda/atomic>
#define KLAB_CUDA_NAMESPACE _LIBCUDACXX_BEGIN_NAMESPACE_CUDA
#define KLAB_CUDA_NAMESPACE_END _LIBCUDACXX_END_NAMESPACE_CUDA
#else
#define KLAB_CUDA_NAMESPACE namespace cuda {
#define KLAB_CUDA_NAMESPACE_END }
namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
}
#endif

KLAB_CUDA_NAMESPACE

template <size_t alignment>
using aligned_size_t = klab::program::AlignedSize<alignment>;

namespace klab_details {
struct NoCompletion {
  void operator()() noexcept {}
};
}  // namespace klab_details

template <thread_scope scope, class Completion = klab_details::NoCompletion>
class barrier;

/// A barrier without a completion function is a word of 8 bytes, as on a GPU.
template <thread_scope scope>
class alignas(8) barrier<scope, klab_details::NoCompletion> {
 public:
  class arrival_token {
   public:
    arrival_token() = default;

   private:
    explicit arrival_token(unsigned phase) : phase_(phase) {}
    unsigned phase_ = 0;
    template <thread_scope, class>
    friend class barrier;
  };

  barrier() = default;
  explicit barrier(ptrdiff_t expected, KLAB_SIMT_HERE) {
    klab::program::phases_begin(&word_, unsigned(expected), file, line);
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  friend KLAB_SIMT_INLINE void init(barrier* b, ptrdiff_t expected, KLAB_SIMT_HERE) {
    klab::program::phases_begin(&b->word_, unsigned(expected), file, line);
  }
  static constexpr ptrdiff_t max() { return klab::program::kMostArrivals; }

  [[nodiscard]] KLAB_SIMT_INLINE arrival_token arrive(ptrdiff_t count = 1, KLAB_SIMT_HERE) {
    return arrival_token(
        klab::program::phase_arrive(&word_, unsigned(count), 0, nullptr, nullptr, file, line));
  }
  KLAB_SIMT_INLINE void arrive_and_drop(KLAB_SIMT_HERE) {
    klab::program::phase_arrive(&word_, 1, 1, nullptr, nullptr, file, line);
  }
  KLAB_SIMT_INLINE void wait(arrival_token&& token, KLAB_SIMT_HERE) const {
    klab::program::phase_wait(&word_, token.phase_, file, line);
  }
  KLAB_SIMT_INLINE void wait_parity(bool parity, KLAB_SIMT_HERE) const {
    klab::program::phase_wait_parity(&word_, parity, file, line);
  }
  KLAB_SIMT_INLINE void arrive_and_wait(KLAB_SIMT_HERE) {
    const unsigned phase = klab::program::phase_arrive(&word_, 1, 0, nullptr, nullptr, file, line);
    klab::program::phase_wait(&word_, phase, file, line);
  }
  /// Time does not pass here, so these try once.
  template <class Duration>
  KLAB_SIMT_INLINE bool try_wait_for(arrival_token&& token, const Duration&, KLAB_SIMT_HERE) const {
    return klab::program::phase_try_wait(&word_, token.phase_, file, line);
  }
  template <class Time>
  KLAB_SIMT_INLINE bool try_wait_until(arrival_token&& token, const Time&, KLAB_SIMT_HERE) const {
    return klab::program::phase_try_wait(&word_, token.phase_, file, line);
  }
  template <class Duration>
  KLAB_SIMT_INLINE bool try_wait_parity_for(bool parity, const Duration&, KLAB_SIMT_HERE) const {
    return klab::program::phase_try_wait_parity(&word_, parity, file, line);
  }
  template <class Time>
  KLAB_SIMT_INLINE bool try_wait_parity_until(bool parity, const Time&, KLAB_SIMT_HERE) const {
    return klab::program::phase_try_wait_parity(&word_, parity, file, line);
  }
  /// Returns the address of the barrier's state.
  KLAB_SIMT_INLINE uint64_t* klab_word() { return &word_; }
  /// Arrives `count` times, at a phase that also waits for `bytes` of copies.
  KLAB_SIMT_INLINE arrival_token klab_arrive_tx(ptrdiff_t count, ptrdiff_t bytes, const char* file,
                                                int line) {
    return arrival_token(klab::program::phase_arrive_tx(&word_, unsigned(count), bytes, file, line));
  }

 private:
  uint64_t word_;
};

/// A barrier that runs a function when a phase ends, in the thread that arrives last.
template <thread_scope scope, class Completion>
class barrier {
  using Plain = barrier<scope>;

 public:
  using arrival_token = typename Plain::arrival_token;

  barrier() = default;
  explicit barrier(ptrdiff_t expected, Completion completion = Completion(), KLAB_SIMT_HERE)
      : completion_(completion) {
    klab::program::phases_begin(word(), unsigned(expected), file, line, true);
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  friend KLAB_SIMT_INLINE void init(barrier* b, ptrdiff_t expected, Completion completion = Completion(),
                                    KLAB_SIMT_HERE) {
    new (&b->completion_) Completion(completion);
    klab::program::phases_begin(b->word(), unsigned(expected), file, line, true);
  }
  static constexpr ptrdiff_t max() { return klab::program::kMostArrivals; }

  [[nodiscard]] KLAB_SIMT_INLINE arrival_token arrive(ptrdiff_t count = 1, KLAB_SIMT_HERE) {
    return arrival_token(
        klab::program::phase_arrive(word(), unsigned(count), 0, complete, &completion_, file, line));
  }
  KLAB_SIMT_INLINE void arrive_and_drop(KLAB_SIMT_HERE) {
    klab::program::phase_arrive(word(), 1, 1, complete, &completion_, file, line);
  }
  KLAB_SIMT_INLINE void wait(arrival_token&& token, KLAB_SIMT_HERE) const {
    plain_.wait(static_cast<arrival_token&&>(token), file, line);
  }
  KLAB_SIMT_INLINE void arrive_and_wait(KLAB_SIMT_HERE) { wait(arrive(1, file, line), file, line); }
  KLAB_SIMT_INLINE uint64_t* klab_word() { return word(); }

 private:
  KLAB_SIMT_INLINE uint64_t* word() { return plain_.klab_word(); }
  static void complete(void* completion) { (*static_cast<Completion*>(completion))(); }
  Plain plain_;
  Completion completion_;
};

/// How a copy was carried out.
enum class async_contract_fulfillment { none, async };

namespace klab_details {
template <class G, class T, class Size>
KLAB_SIMT_INLINE async_contract_fulfillment copy_for_phase(const G& group, T* to, const T* from, Size bytes,
                                                           uint64_t* word, const char* file, int line) {
  constexpr size_t alignment = klab::program::known_alignment<T, Size>();
  klab::program::copy_of_known_alignment<alignment>(
      group, to, from, size_t(bytes), [=](char* t, const char* f, unsigned n) __attribute__((always_inline)) {
        klab::program::phase_copy(word, t, f, n, file, line);
      });
  return async_contract_fulfillment::async;
}
}  // namespace klab_details

template <class G, class T, class Size, thread_scope scope, class Completion>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(const G& group, T* to, const T* from, Size bytes,
                                                         barrier<scope, Completion>& b, KLAB_SIMT_HERE) {
  return klab_details::copy_for_phase(group, to, from, bytes, b.klab_word(), file, line);
}
template <class G, class Size, thread_scope scope, class Completion>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(const G& group, void* to, const void* from,
                                                         Size bytes, barrier<scope, Completion>& b,
                                                         KLAB_SIMT_HERE) {
  return klab_details::copy_for_phase(group, to, from, bytes, b.klab_word(), file, line);
}
template <class T, class Size, thread_scope scope, class Completion>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(T* to, const T* from, Size bytes,
                                                         barrier<scope, Completion>& b, KLAB_SIMT_HERE) {
  return klab_details::copy_for_phase(klab::program::OneThread{}, to, from, bytes, b.klab_word(), file, line);
}
template <class Size, thread_scope scope, class Completion>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(void* to, const void* from, Size bytes,
                                                         barrier<scope, Completion>& b, KLAB_SIMT_HERE) {
  return klab_details::copy_for_phase(klab::program::OneThread{}, to, from, bytes, b.klab_word(), file, line);
}

namespace klab_details {
/// `yes` exists in programs that use the functions below with a barrier of type T: as a part of a template it is made only there.
template <class T>
struct HandsOut {
  static const bool yes;
};
template <class T>
const bool HandsOut<T>::yes = klab::program::barriers_are_handed_out();
}  // namespace klab_details

namespace device {
template <thread_scope scope, class Completion>
KLAB_SIMT_INLINE uint64_t* barrier_native_handle(barrier<scope, Completion>& b) {
  static_cast<void>(&klab_details::HandsOut<barrier<scope, Completion>>::yes);
  return b.klab_word();
}
/// Arrives, and makes the phase wait for `bytes` of copies (libcu++, "cuda::device::barrier_arrive_tx").
template <thread_scope scope>
[[nodiscard]] KLAB_SIMT_INLINE typename barrier<scope>::arrival_token barrier_arrive_tx(barrier<scope>& b,
                                                                                        ptrdiff_t count,
                                                                                        ptrdiff_t bytes,
                                                                                        KLAB_SIMT_HERE) {
  (void)barrier_native_handle(b);
  return b.klab_arrive_tx(count, bytes, file, line);
}
template <thread_scope scope>
KLAB_SIMT_INLINE void barrier_expect_tx(barrier<scope>& b, ptrdiff_t bytes, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_transact(barrier_native_handle(b), bytes, file, line);
}
/// Copies in bulk from global to shared memory; the bytes are completed on the barrier.
template <class T, size_t alignment, thread_scope scope>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async_tx(T* to, const T* from,
                                                            aligned_size_t<alignment> bytes,
                                                            barrier<scope>& b, KLAB_SIMT_HERE) {
  static_assert(alignment >= 16, "memcpy_async_tx needs addresses and a size that are multiples of 16");
  klab::simt::bulk_load(to, from, uint32_t(size_t(bytes)), barrier_native_handle(b), file, line);
  return async_contract_fulfillment::async;
}
}  // namespace device

KLAB_CUDA_NAMESPACE_END
