// Functions that translated inline PTX calls (harness/cuda_compiler/ptx.cpp). Operands have the type that the
// instruction names; addresses of shared memory are 32-bit numbers.
#pragma once

#include <math.h>

#include <type_traits>

#include <klab_cuda/device.h>
#include <klab_cuda/matrix_shape.h>

#include "harness/simt/async_api.h"
#include "harness/simt/cluster_api.h"
#include "harness/simt/exit_thread.h"

extern "C" {
unsigned klab_shared_address(const void* p);
void* klab_shared_pointer(unsigned address);
}
KLAB_SIMT_INLINE size_t __cvta_generic_to_shared(const void* p) { return klab_shared_address(p); }
KLAB_SIMT_INLINE void* __cvta_shared_to_generic(size_t address) {
  return klab_shared_pointer(unsigned(address));
}
KLAB_SIMT_INLINE void* __cluster_map_shared_rank(const void* p, unsigned rank, KLAB_SIMT_HERE) {
  return klab::simt::map_shared(p, rank, file, line);
}
KLAB_SIMT_INLINE unsigned __cluster_query_shared_rank(const void* p) { return klab::simt::rank_of_shared(p); }
KLAB_SIMT_INLINE unsigned __clusterRelativeBlockRank() { return klab::simt::cluster_rank(); }
KLAB_SIMT_INLINE unsigned __clusterSizeInBlocks() { return klab::simt::cluster_blocks(); }
KLAB_SIMT_INLINE void __cluster_barrier_arrive(KLAB_SIMT_HERE) {
  klab::simt::cluster_arrive(true, file, line);
}
KLAB_SIMT_INLINE void __cluster_barrier_arrive_relaxed(KLAB_SIMT_HERE) {
  klab::simt::cluster_arrive(false, file, line);
}
KLAB_SIMT_INLINE void __cluster_barrier_wait(KLAB_SIMT_HERE) { klab::simt::cluster_wait(file, line); }
/// Programmatic dependent launch.
KLAB_SIMT_INLINE void cudaGridDependencySynchronize() { klab::simt::wait_for_launch_before(); }
KLAB_SIMT_INLINE void cudaTriggerProgrammaticLaunchCompletion() { klab::simt::trigger_next_launch(); }
KLAB_SIMT_INLINE void __barrier_sync(unsigned id, KLAB_SIMT_HERE) {
  klab::simt::named_barrier(id, 0, true, file, line);
}
KLAB_SIMT_INLINE void __barrier_sync_count(unsigned id, unsigned threads, KLAB_SIMT_HERE) {
  klab::simt::named_barrier(id, threads, true, file, line);
}
#define KLAB_CLUSTER_DIMENSIONS(name, of) \
  KLAB_SIMT_INLINE dim3 name() { return dim3(klab::simt::of(0), klab::simt::of(1), klab::simt::of(2)); }
KLAB_CLUSTER_DIMENSIONS(__clusterDim, cluster_size)
KLAB_CLUSTER_DIMENSIONS(__clusterRelativeBlockIdx, block_in_cluster)
KLAB_CLUSTER_DIMENSIONS(__clusterIdx, cluster_of_grid)
KLAB_CLUSTER_DIMENSIONS(__clusterGridDimInClusters, clusters_of_grid)
#undef KLAB_CLUSTER_DIMENSIONS
KLAB_SIMT_INLINE unsigned __clusterDimIsSpecified() { return klab::simt::is_in_cluster(); }
KLAB_SIMT_INLINE size_t __cvta_generic_to_global(const void* p) { return size_t(p); }
KLAB_SIMT_INLINE void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
#define KLAB_SAME_ADDRESS(space)                                                         \
  KLAB_SIMT_INLINE size_t __cvta_generic_to_##space(const void* p) { return size_t(p); } \
  KLAB_SIMT_INLINE void* __cvta_##space##_to_generic(size_t address) {                   \
    return reinterpret_cast<void*>(address);                                             \
  }
KLAB_SAME_ADDRESS(constant)
KLAB_SAME_ADDRESS(local)
KLAB_SAME_ADDRESS(grid_constant)
#undef KLAB_SAME_ADDRESS

namespace klab::program {

/// Called when a library's code reaches an instruction that is not supported.
void not_known_ptx(const char* text, const char* file, int line);

namespace ptx {

template <class To, class From>
KLAB_SIMT_INLINE To get(From x) {
  if constexpr (std::is_pointer_v<From>) {
    return static_cast<To>(reinterpret_cast<size_t>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_class_v<From> ||
                       std::is_floating_point_v<To> != std::is_floating_point_v<From>) {
    static_assert(sizeof(To) == sizeof(From),
                  "an operand of inline PTX is not as wide as its instruction says");
    return __builtin_bit_cast(To, x);
  } else {
    return static_cast<To>(x);
  }
}
/// A constant as a statement's result is the register that holds it, as ptxas takes it.
template <class Of, class From>
KLAB_SIMT_INLINE void put(Of& of, From x) {
  using To = std::remove_const_t<Of>;
  To& to = const_cast<To&>(of);
  if constexpr (std::is_pointer_v<To>)
    to = reinterpret_cast<To>(size_t(x));
  else if constexpr (std::is_class_v<To>)
    to = __builtin_bit_cast(To, x);
  else
    to = get<To>(x);
}
/// Receives unused results.
struct Sink {
  template <class T>
  KLAB_SIMT_INLINE void operator=(T) {}
};

template <class T>
KLAB_SIMT_INLINE T shifted_left(T x, unsigned by) {
  return by >= 8 * sizeof(T) ? T(0) : T(x << by);
}
template <class T>
KLAB_SIMT_INLINE T shifted_right(T x, unsigned by) {
  if (by >= 8 * sizeof(T)) return std::is_signed_v<T> && x < 0 ? T(-1) : T(0);
  return T(x >> by);
}
template <class T>
KLAB_SIMT_INLINE T high_of_product(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    __extension__ typedef std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128> Wide;
    return T(Wide(a) * b >> 64);
  } else {
    return T((std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>)(a)*b >>
             (8 * sizeof(T)));
  }
}
template <class T>
KLAB_SIMT_INLINE T lesser(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return b < a || a != a ? b : a;
  else
    return b < a ? b : a;
}
template <class T>
KLAB_SIMT_INLINE T greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || a != a ? b : a;
  else
    return a < b ? b : a;
}
template <class T>
KLAB_SIMT_INLINE T added(T a, T b) {
  return T(a + b);
}
/// Implements lop3: looks up the table's bit for each triple of bits.
KLAB_SIMT_INLINE unsigned by_table(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned r = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}
/// Add and subtract with a carry between instructions of the same asm statement.
template <class T>
KLAB_SIMT_INLINE T sum_with_carry(T a, T b, bool in, bool& out) {
  T sum, all;
  const bool first = __builtin_add_overflow(a, b, &sum), second = __builtin_add_overflow(sum, T(in), &all);
  out = first || second;
  return all;
}
template <class T>
KLAB_SIMT_INLINE T difference_with_borrow(T a, T b, bool in, bool& out) {
  T rest, all;
  const bool first = __builtin_sub_overflow(a, b, &rest), second = __builtin_sub_overflow(rest, T(in), &all);
  out = first || second;
  return all;
}

/// Adjacent elements that one instruction moves.
template <class T, int n>
struct Neighbors {
  T x[n];
};
template <class T, int n>
KLAB_SIMT_INLINE Neighbors<T, n> load(const void* p) {
  Neighbors<T, n> r;
  typename klab::simt::Piece<sizeof(r)>::type piece;
  piece = *static_cast<const decltype(piece)*>(p);
  __builtin_memcpy(static_cast<void*>(&r), &piece, sizeof r);
  return r;
}
template <class T, int n>
KLAB_SIMT_INLINE void store(void* p, Neighbors<T, n> x) {
  typename klab::simt::Piece<sizeof(x)>::type piece;
  __builtin_memcpy(&piece, &x, sizeof piece);
  *static_cast<decltype(piece)*>(p) = piece;
}
/// The same for memory that other threads access at the same time: ld.relaxed and so on. Fences are written next to them.
template <class T, int n>
KLAB_SIMT_INLINE Neighbors<T, n> load_flag(const void* p) {
  Neighbors<T, n> r;
  typename klab::simt::Piece<sizeof(r)>::type piece;
  piece = *static_cast<const volatile decltype(piece)*>(p);
  __builtin_memcpy(static_cast<void*>(&r), &piece, sizeof r);
  return r;
}
template <class T, int n>
KLAB_SIMT_INLINE void store_flag(void* p, Neighbors<T, n> x) {
  typename klab::simt::Piece<sizeof(x)>::type piece;
  __builtin_memcpy(&piece, &x, sizeof piece);
  *static_cast<volatile decltype(piece)*>(p) = piece;
}
template <class T>
KLAB_SIMT_INLINE T load_strong(void* p) {
  T x;
  __atomic_load(static_cast<T*>(p), &x, __ATOMIC_RELAXED);
  return x;
}
template <class T>
KLAB_SIMT_INLINE void store_strong(void* p, T x) {
  __atomic_store(static_cast<T*>(p), &x, __ATOMIC_RELAXED);
}

/// Implements st.async.
template <class T, int n>
KLAB_SIMT_INLINE void store_async(void* to, Neighbors<T, n> x, void* barrier, KLAB_SIMT_HERE) {
  klab::simt::store_async(to, &x, sizeof x, barrier, file, line);
}

/// Implements shfl.sync. c holds the last lane that may be read and, in bits 8 to 12, the bits of a lane that
/// select its segment (PTX manual).
KLAB_SIMT_INLINE unsigned shuffled(klab::simt::Shuffle how, unsigned value, unsigned b, unsigned c,
                                   unsigned mask, bool& in_range, KLAB_SIMT_HERE) {
  using klab::simt::Shuffle;
  const unsigned lane = klab::simt::lane_index(), segment = c >> 8 & 31, first = lane & segment;
  const unsigned last = first | (c & 31 & ~segment);
  b &= 31;
  const int from = how == Shuffle::up             ? int(lane) - int(b)
                   : how == Shuffle::down         ? int(lane + b)
                   : how == Shuffle::exclusive_or ? int(lane ^ b)
                                                  : int(first | (b & ~segment));
  in_range = how == Shuffle::up ? from >= int(last) : from <= int(last);
  return unsigned(klab::simt::shuffle(Shuffle::index, mask, value, in_range ? from : int(lane), 32,
                                      "shfl.sync", file, line));
}
}  // namespace ptx
}  // namespace klab::program
