// The launch functions that rewritten programs call (harness/cuda_compiler/rewrite.h).
#pragma once

#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <klab_cuda/api.h>
#include "harness/simt/language.h"

namespace klab::program {

/// Keeps the configuration of <<<>>> until the kernel's name is called.
void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr);

/// A kernel's __launch_bounds__ and __cluster_dims__; 0: none.
struct Bounds {
  int threads;
  unsigned cluster[3];
  Bounds(int most) : threads(most), cluster{0, 0, 0} {}  // NOLINT: a kernel without clusters
  Bounds(int most, unsigned x, unsigned y = 1, unsigned z = 1) : threads(most), cluster{x, y, z} {}
};

/// A call of a kernel by name.
struct Call {
  const void* body;                                 // function that runs one thread
  void (*run)(const void* body, void* parameters);  // calls it with the parameters at that address
  size_t bytes;                                     // size of the parameters
  // constructs a copy of the parameters in memory of that size
  void (*copy)(void* to, const void* from);
  void (*destroy)(void* p);
  int max_threads;  // __launch_bounds__; 0: none
  unsigned cluster[3];
};
/// Launches a kernel that was called by name with arguments. Copies `parameters`.
void launch(const Call& call, const void* parameters);
/// Returns true if the name was called only to find its function, or with pointers to arguments
/// (cudaLaunchKernel). The call has then been recorded. `fill` builds parameters from pointers.
bool asked(const Call& call, void (*fill)(void* to, void** from));

unsigned warp_index();
unsigned multiprocessor();
unsigned multiprocessors();
inline unsigned bit_field(unsigned x, unsigned from, unsigned bits) {
  return from > 31 || bits == 0 ? 0 : x >> from & (bits > 31 ? ~0u : (1u << bits) - 1);
}
inline unsigned insert_bits(unsigned x, unsigned into, unsigned from, unsigned bits) {
  if (from > 31 || bits == 0) return into;
  const unsigned mask = (bits > 31 ? ~0u : (1u << bits) - 1) << from;
  return (into & ~mask) | (x << from & mask);
}

/// How a parameter reaches a thread: by its bytes, as on a GPU, without calling the copy constructor, which
/// is host code. In the Itanium C++ ABI, types with a copy constructor are passed by address, so a reference
/// does the same.
template <class P>
inline constexpr bool by_value = std::is_reference_v<P> || (std::is_trivially_copy_constructible_v<P> &&
                                                            std::is_trivially_move_constructible_v<P> &&
                                                            std::is_trivially_destructible_v<P>);
template <class P>
using Passed = std::conditional_t<by_value<P>, P, P&>;
template <class P, bool value = by_value<P>>
struct Own {
  P p;
  explicit Own(std::remove_cv_t<P>& from) : p(from) {}
  operator P() { return p; }  // NOLINT
};
template <class P>
struct Own<P, false> {
  alignas(P) unsigned char bytes[sizeof(P)];
  explicit Own(const P& from) { __builtin_memcpy(bytes, &from, sizeof(P)); }
  operator P&() { return *reinterpret_cast<P*>(bytes); }  // NOLINT
};
template <class P>
KLAB_SIMT_INLINE decltype(auto) argument(void* from) {
  if constexpr (std::is_reference_v<P>)
    return **static_cast<std::remove_reference_t<P>**>(from);
  else
    return *static_cast<const std::remove_cv_t<P>*>(from);
}

template <class... P>
struct Parameters {
  using Tuple = std::tuple<std::remove_cv_t<P>...>;
  static void run(const void* body, void* values) {
    run_each(body, *static_cast<Tuple*>(values), std::index_sequence_for<P...>());
  }
  template <size_t... k>
  static void run_each(const void* body, Tuple& values, std::index_sequence<k...>) {
    (void)values;
    reinterpret_cast<void (*)(Passed<P>...)>(const_cast<void*>(body))(Own<P>(std::get<k>(values))...);
  }
  static void copy(void* to, const void* from) { new (to) Tuple(*static_cast<const Tuple*>(from)); }
  static void destroy(void* p) { static_cast<Tuple*>(p)->~Tuple(); }
  static void fill(void* to, void** from) { fill_each(to, from, std::index_sequence_for<P...>()); }
  template <size_t... k>
  static void fill_each(void* to, void** from, std::index_sequence<k...>) {
    (void)from;
    new (to) Tuple(argument<P>(from[k])...);
  }
};

/// Called by the function that keeps the kernel's own name: launches `body`.
template <class... P, class... A>
inline void launch(Bounds bounds, void (*body)(P...), A&... args) {
  using All = Parameters<P...>;
  const Call call{reinterpret_cast<const void*>(body),
                  All::run,
                  sizeof(typename All::Tuple),
                  All::copy,
                  All::destroy,
                  bounds.threads,
                  {bounds.cluster[0], bounds.cluster[1], bounds.cluster[2]}};
  if (asked(call, All::fill)) return;
  const typename All::Tuple values(args...);
  launch(call, &values);
}

}  // namespace klab::program
