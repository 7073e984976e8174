// namespace klab::cuda for a host compiler: launches, device memory, asynchronous copies.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/simt/language.h"

namespace klab::cuda {

/// Launches kernel<<<grid, block, shared_bytes>>>(args...). Throws the error that CUDA would return.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, A&&... args) {
  std::tuple<std::remove_cv_t<P>...> parameters(static_cast<P>(args)...);
  ::klab::simt::launch({.kernel = reinterpret_cast<const void*>(kernel),
                        .call =
                            [](const void* what, void* values) {
                              std::apply(reinterpret_cast<void (*)(P...)>(const_cast<void*>(what)),
                                         *static_cast<decltype(parameters)*>(values));
                            },
                        .parameters = &parameters,
                        .parameter_bytes = sizeof parameters,
                        .grid = {grid.x, grid.y, grid.z},
                        .block = {block.x, block.y, block.z},
                        .shared_bytes = shared_bytes});
}

template <class... P>
void allow_shared(void (*kernel)(P...), size_t bytes) {
  ::klab::simt::allow_shared(reinterpret_cast<const void*>(kernel), bytes);
}

inline void fill_zero(void* device, size_t bytes) { ::klab::simt::device_fill_zero(device, bytes); }
inline void copy_device(void* to, const void* from, size_t bytes) {
  ::klab::simt::device_copy(to, from, bytes);
}

/// Copy between host and device memory.
inline void upload(void* device, const void* host, size_t bytes) {
  ::klab::simt::host_copy(0, true, bytes);
  ::klab::simt::device_upload(device, host, bytes);
}
inline void download(void* host, const void* device, size_t bytes) {
  ::klab::simt::host_copy(0, false, bytes);
  ::klab::simt::device_download(host, device, bytes);
}

/// Concurrent streams. Here their work is deferred until they are joined, then runs one piece at a time in an
/// order that the seed chooses. A kernel that relies on an order no stream guarantees computes wrong results.
template <int count>
class Fork {
 public:
  void upload(int which, void* device, const void* host, size_t bytes) {
    ::klab::simt::host_copy(1 + which, true, bytes);
    add(which, [=] { ::klab::simt::device_upload(device, host, bytes); });
  }
  void download(int which, void* host, const void* device, size_t bytes) {
    ::klab::simt::host_copy(1 + which, false, bytes);
    add(which, [=] { ::klab::simt::device_download(host, device, bytes); });
  }
  template <class... P, class... A>
  void launch(int which, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, A&&... args) {
    add(which, [=, values = std::tuple<std::remove_cv_t<P>...>(static_cast<P>(args)...)] {
      std::apply(
          [&](const auto&... value) { ::klab::cuda::launch(kernel, grid, block, shared_bytes, value...); },
          values);
    });
  }
  void join() {
    for (size_t left = list_.size(); left > 0; --left) {
      int which = int(::klab::simt::random_turn(count));
      while (none_left(which)) which = (which + 1) % count;
      list_[next_[which]].work();
      ++next_[which];
    }
    ::klab::simt::host_copies_joined();
    list_.clear();
    for (size_t& n : next_) n = 0;
  }

 private:
  struct Piece {
    int stream;
    std::function<void()> work;
  };
  template <class F>
  void add(int which, F work) {
    list_.push_back({which, std::move(work)});
  }
  // Advances to the stream's next piece; returns whether there is none.
  bool none_left(int which) {
    size_t& n = next_[which];
    while (n < list_.size() && list_[n].stream != which) ++n;
    return n == list_.size();
  }
  std::vector<Piece> list_;
  size_t next_[count] = {};  // by stream: position in the list
};

/// Device memory for one run(). Its contents are undefined.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : p_(::klab::simt::scratch_take(bytes)) {}
  ~Scratch() { ::klab::simt::scratch_give(p_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  void* p_;
};

struct Device {
  int multiprocessors;
  size_t shared_per_block_optin;  // bytes
  int compute_capability;         // 90 for sm_90
};
inline Device device() {
  const auto& d = ::klab::simt::device_limits();
  return {d.multiprocessors, d.shared_per_block_optin, d.compute_capability};
}

template <int bytes>
KLAB_SIMT_INLINE void copy_async(void* shared, const void* global) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  ::klab::simt::copy_async(shared, global, bytes, bytes);
}
template <int bytes>
KLAB_SIMT_INLINE void copy_async_zfill(void* shared, const void* global, int filled) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  ::klab::simt::copy_async(shared, global, bytes, unsigned(filled));
}
KLAB_SIMT_INLINE void copy_async_commit() { ::klab::simt::copy_async_commit(); }
template <int groups_left>
KLAB_SIMT_INLINE void copy_async_wait() {
  ::klab::simt::copy_async_wait(groups_left);
}

}  // namespace klab::cuda
