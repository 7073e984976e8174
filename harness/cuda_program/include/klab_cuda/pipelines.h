// cuda::pipeline (CUDA C++ Programming Guide, "Asynchronous Data Copies using cuda::pipeline"). A pipeline of
// a block consists of stages that threads fill and use in turn, with two barriers each. A pipeline of one
// thread consists of its copies in the order of its commits.
#pragma once

#include <klab_cuda/barriers.h>

KLAB_CUDA_NAMESPACE

enum class pipeline_role { producer, consumer };

namespace klab_details {
template <thread_scope scope>
struct Stage {
  barrier<scope> filled, used;
};
}  // namespace klab_details

template <thread_scope scope, unsigned char stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;

  klab_details::Stage<scope> klab_stages[stages];
  unsigned klab_producers;
};

template <thread_scope scope>
class pipeline {
 public:
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;
  pipeline(klab_details::Stage<scope>* all, unsigned count) : stages_(all), count_(count) {}

  KLAB_SIMT_INLINE void producer_acquire(KLAB_SIMT_HERE) {
    stages_[head_].used.wait_parity(!head_parity_, file, line);
  }
  KLAB_SIMT_INLINE void producer_commit(KLAB_SIMT_HERE) {
    (void)stages_[head_].filled.arrive(1, file, line);
    advance(head_, head_parity_);
  }
  KLAB_SIMT_INLINE void consumer_wait(KLAB_SIMT_HERE) {
    stages_[tail_].filled.wait_parity(tail_parity_, file, line);
  }
  template <class Duration>
  KLAB_SIMT_INLINE bool consumer_wait_for(const Duration&, KLAB_SIMT_HERE) {
    return stages_[tail_].filled.try_wait_parity_for(tail_parity_, 0, file, line);
  }
  template <class Time>
  KLAB_SIMT_INLINE bool consumer_wait_until(const Time&, KLAB_SIMT_HERE) {
    return stages_[tail_].filled.try_wait_parity_for(tail_parity_, 0, file, line);
  }
  KLAB_SIMT_INLINE void consumer_release(KLAB_SIMT_HERE) {
    (void)stages_[tail_].used.arrive(1, file, line);
    advance(tail_, tail_parity_);
  }
  /// Called when the thread no longer uses the pipeline.
  bool quit() { return true; }
  /// Returns the barrier of the stage that is being filled.
  KLAB_SIMT_INLINE uint64_t* klab_word() { return stages_[head_].filled.klab_word(); }

 private:
  KLAB_SIMT_INLINE void advance(unsigned& stage, bool& parity) const {
    if (++stage < count_) return;
    stage = 0;
    parity = !parity;
  }
  klab_details::Stage<scope>* stages_;
  unsigned count_;
  unsigned head_ = 0, tail_ = 0;
  bool head_parity_ = false, tail_parity_ = false;  // parity of the phase for the next use of a stage
};

template <>
class pipeline<thread_scope_thread> {
 public:
  pipeline() = default;
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  KLAB_SIMT_INLINE void producer_acquire() {}
  KLAB_SIMT_INLINE void producer_commit() {
    klab::simt::copy_async_commit();
    ++head_;
  }
  KLAB_SIMT_INLINE void consumer_wait() {
    if (head_ == tail_) return;
    klab::simt::copy_async_wait(int(head_ - ++tail_));
  }
  template <class Duration>
  KLAB_SIMT_INLINE bool consumer_wait_for(const Duration&) {
    consumer_wait();
    return true;
  }
  template <class Time>
  KLAB_SIMT_INLINE bool consumer_wait_until(const Time&) {
    consumer_wait();
    return true;
  }
  KLAB_SIMT_INLINE void consumer_release() {}
  bool quit() { return true; }
  KLAB_SIMT_INLINE void klab_wait_prior(unsigned left) {
    klab::simt::copy_async_wait(int(left));
    tail_ = head_ > left ? head_ - left : 0;
  }

 private:
  unsigned head_ = 0, tail_ = 0;
};
inline pipeline<thread_scope_thread> make_pipeline() { return {}; }

namespace klab_details {
template <thread_scope scope, unsigned char stages>
KLAB_SIMT_INLINE void begin_stages(pipeline_shared_state<scope, stages>* state, unsigned producers,
                                   unsigned consumers, const char* file, int line) {
  for (unsigned k = 0; k < stages; ++k) {
    init(&state->klab_stages[k].used, consumers, file, line);
    init(&state->klab_stages[k].filled, producers, file, line);
  }
}
}  // namespace klab_details

/// Creates a pipeline in which every thread of the group fills and uses stages.
template <class G, thread_scope scope, unsigned char stages>
KLAB_SIMT_INLINE pipeline<scope> make_pipeline(const G& group, pipeline_shared_state<scope, stages>* state,
                                               KLAB_SIMT_HERE) {
  const auto threads = unsigned(group.size());
  if (group.thread_rank() == 0) klab_details::begin_stages(state, threads, threads, file, line);
  group.sync(file, line);
  return pipeline<scope>(state->klab_stages, stages);
}
/// Creates a pipeline in which the group's first threads fill stages and the others use them.
template <class G, thread_scope scope, unsigned char stages>
KLAB_SIMT_INLINE pipeline<scope> make_pipeline(const G& group, pipeline_shared_state<scope, stages>* state,
                                               size_t producers, KLAB_SIMT_HERE) {
  if (group.thread_rank() == 0)
    klab_details::begin_stages(state, unsigned(producers), unsigned(group.size() - producers), file, line);
  group.sync(file, line);
  return pipeline<scope>(state->klab_stages, stages);
}
/// Creates a pipeline in which each thread declares its role.
template <class G, thread_scope scope, unsigned char stages>
KLAB_SIMT_INLINE pipeline<scope> make_pipeline(const G& group, pipeline_shared_state<scope, stages>* state,
                                               pipeline_role role, KLAB_SIMT_HERE) {
  if (group.thread_rank() == 0) state->klab_producers = 0;
  group.sync(file, line);
  if (role == pipeline_role::producer) atomicAdd(&state->klab_producers, 1u);
  group.sync(file, line);
  if (group.thread_rank() == 0) {
    const unsigned producers = state->klab_producers;
    klab_details::begin_stages(state, producers, unsigned(group.size()) - producers, file, line);
  }
  group.sync(file, line);
  return pipeline<scope>(state->klab_stages, stages);
}

/// Waits for all but the last `left` commits of the thread.
template <unsigned char left>
KLAB_SIMT_INLINE void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& p) {
  p.klab_wait_prior(left);
}
/// Makes the barrier's phase wait for the copies that the thread has issued.
template <thread_scope scope, class Completion>
KLAB_SIMT_INLINE void pipeline_producer_commit(pipeline<thread_scope_thread>&, barrier<scope, Completion>& b,
                                               KLAB_SIMT_HERE) {
  klab::program::phase_take_copies(b.klab_word(), file, line);
}

namespace klab_details {
template <class G, class T, class Size, thread_scope scope>
KLAB_SIMT_INLINE async_contract_fulfillment copy_for_stage(const G& group, T* to, const T* from, Size bytes,
                                                           pipeline<scope>& p, const char* file, int line) {
  if constexpr (scope == thread_scope_thread) {
    constexpr size_t alignment = klab::program::known_alignment<T, Size>();
    klab::program::copy_of_known_alignment<alignment>(
        group, to, from, size_t(bytes),
        [](char* t, const char* f, unsigned n)
            __attribute__((always_inline)) { klab::simt::copy_async(t, f, n, n); });
    return async_contract_fulfillment::async;
  } else {
    return copy_for_phase(group, to, from, bytes, p.klab_word(), file, line);
  }
}
}  // namespace klab_details

template <class G, class T, class Size, thread_scope scope>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(const G& group, T* to, const T* from, Size bytes,
                                                         pipeline<scope>& p, KLAB_SIMT_HERE) {
  return klab_details::copy_for_stage(group, to, from, bytes, p, file, line);
}
template <class G, class Size, thread_scope scope>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(const G& group, void* to, const void* from,
                                                         Size bytes, pipeline<scope>& p, KLAB_SIMT_HERE) {
  return klab_details::copy_for_stage(group, to, from, bytes, p, file, line);
}
template <class T, class Size, thread_scope scope>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(T* to, const T* from, Size bytes, pipeline<scope>& p,
                                                         KLAB_SIMT_HERE) {
  return klab_details::copy_for_stage(klab::program::OneThread{}, to, from, bytes, p, file, line);
}
template <class Size, thread_scope scope>
KLAB_SIMT_INLINE async_contract_fulfillment memcpy_async(void* to, const void* from, Size bytes,
                                                         pipeline<scope>& p, KLAB_SIMT_HERE) {
  return klab_details::copy_for_stage(klab::program::OneThread{}, to, from, bytes, p, file, line);
}

KLAB_CUDA_NAMESPACE_END
