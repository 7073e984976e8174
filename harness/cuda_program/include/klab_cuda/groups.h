// cooperative_groups for the host: blocks, tiles of static and of run-time size, coalesced threads, the whole
// grid.
#pragma once

#include <type_traits>

#include <klab_cuda/copies.h>
#include <klab_cuda/device.h>

#include "harness/simt/cluster_api.h"

extern "C" {
void klab_cuda_grid_sync(const char* file, int line);
bool klab_cuda_grid_can_sync();
}

namespace cooperative_groups {

namespace details {
KLAB_SIMT_INLINE unsigned rank_in_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
KLAB_SIMT_INLINE unsigned lane() { return klab::simt::lane_index(); }
KLAB_SIMT_INLINE unsigned below(unsigned lane) { return (1u << lane) - 1; }
KLAB_SIMT_INLINE int nth_of(unsigned mask, unsigned n) {
  while (n-- > 0) mask &= mask - 1;
  return __builtin_ctz(mask);
}
}  // namespace details

class thread_block {
 public:
  static void sync(KLAB_SIMT_HERE) { klab::simt::barrier(klab::simt::Vote::sync, 0, file, line); }
  static void barrier_wait(KLAB_SIMT_HERE) { sync(file, line); }
  static unsigned thread_rank() { return details::rank_in_block(); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

/// Some lanes of a warp: the common base of tiles and coalesced groups.
class lanes {
 public:
  explicit lanes(unsigned mask) : mask_(mask) {}
  void sync(KLAB_SIMT_HERE) const { __syncwarp(mask_, file, line); }
  unsigned thread_rank() const {
    return unsigned(__builtin_popcount(mask_ & details::below(details::lane())));
  }
  unsigned size() const { return unsigned(__builtin_popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  template <class T>
  T shfl(T value, unsigned from, KLAB_SIMT_HERE) const {
    return __shfl_sync(mask_, value, details::nth_of(mask_, from % size()), 32, file, line);
  }
  template <class T>
  T shfl_up(T value, unsigned by, KLAB_SIMT_HERE) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, details::nth_of(mask_, rank >= by ? rank - by : rank), 32, file, line);
  }
  template <class T>
  T shfl_down(T value, unsigned by, KLAB_SIMT_HERE) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, details::nth_of(mask_, rank + by < size() ? rank + by : rank), 32, file,
                       line);
  }
  template <class T>
  T shfl_xor(T value, unsigned bits, KLAB_SIMT_HERE) const {
    const unsigned rank = thread_rank(), from = rank ^ bits;
    return __shfl_sync(mask_, value, details::nth_of(mask_, from < size() ? from : rank), 32, file, line);
  }
  bool any(int predicate, KLAB_SIMT_HERE) const { return __any_sync(mask_, predicate, file, line) != 0; }
  bool all(int predicate, KLAB_SIMT_HERE) const { return __all_sync(mask_, predicate, file, line) != 0; }
  unsigned ballot(int predicate, KLAB_SIMT_HERE) const {
    return packed(__ballot_sync(mask_, predicate, file, line));
  }
  template <class T>
  unsigned match_any(T value, KLAB_SIMT_HERE) const {
    return packed(__match_any_sync(mask_, value, file, line));
  }
  template <class T>
  unsigned match_all(T value, int& all_same, KLAB_SIMT_HERE) const {
    return packed(__match_all_sync(mask_, value, &all_same, file, line));
  }
  unsigned mask() const { return mask_; }

 protected:
  /// Maps bits of lanes to bits of ranks.
  unsigned packed(unsigned lanes_set) const {
    unsigned result = 0, rank = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank)
      result |= (lanes_set >> __builtin_ctz(rest) & 1) << rank;
    return result;
  }
  unsigned mask_;
};

class coalesced_group : public lanes {
 public:
  explicit coalesced_group(unsigned mask) : lanes(mask) {}
  unsigned meta_group_size() const { return 1; }
  unsigned meta_group_rank() const { return 0; }
};
inline coalesced_group coalesced_threads(KLAB_SIMT_HERE) { return coalesced_group(__activemask(file, line)); }

namespace details {
KLAB_SIMT_INLINE unsigned tile_mask(unsigned size, unsigned rank) {
  return size >= 32 ? ~0u : ((1u << size) - 1) << (rank % 32 / size * size);
}
/// Removes lanes beyond the block's size: its last warp may be partial.
KLAB_SIMT_INLINE unsigned existing(unsigned mask) {
  const unsigned first = rank_in_block() / 32 * 32, threads = thread_block::size();
  return threads - first >= 32 ? mask : mask & below(threads - first);
}
}  // namespace details

template <unsigned Size, class Parent = void>
class thread_block_tile : public lanes {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");

 public:
  explicit thread_block_tile(unsigned mask, unsigned group = 0, unsigned groups = 1)
      : lanes(mask), group_(group), groups_(groups) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& o)  // NOLINT: the parent may differ
      : lanes(o.mask()), group_(o.meta_group_rank()), groups_(o.meta_group_size()) {}
  unsigned thread_rank() const { return details::rank_in_block() % Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return group_; }
  unsigned meta_group_size() const { return groups_; }
  template <class T>
  T shfl(T value, unsigned from, KLAB_SIMT_HERE) const {
    return __shfl_sync(mask_, value, int(from), Size, file, line);
  }
  template <class T>
  T shfl_up(T value, unsigned by, KLAB_SIMT_HERE) const {
    return __shfl_up_sync(mask_, value, by, Size, file, line);
  }
  template <class T>
  T shfl_down(T value, unsigned by, KLAB_SIMT_HERE) const {
    return __shfl_down_sync(mask_, value, by, Size, file, line);
  }
  template <class T>
  T shfl_xor(T value, unsigned bits, KLAB_SIMT_HERE) const {
    return __shfl_xor_sync(mask_, value, int(bits), Size, file, line);
  }

 private:
  unsigned group_, groups_;
};

/// A tile whose size is known only at run time.
class thread_group : public lanes {
 public:
  explicit thread_group(unsigned mask) : lanes(mask), whole_block_(false) {}
  thread_group(const thread_block&) : lanes(0), whole_block_(true) {}  // NOLINT: converts, as in CUDA
  thread_group(const coalesced_group& g) : lanes(g.mask()), whole_block_(false) {}  // NOLINT
  template <unsigned Size, class P>
  thread_group(const thread_block_tile<Size, P>& g) : lanes(g.mask()), whole_block_(false) {}  // NOLINT
  void sync(KLAB_SIMT_HERE) const {
    if (whole_block_)
      thread_block::sync(file, line);
    else
      lanes::sync(file, line);
  }
  unsigned thread_rank() const { return whole_block_ ? thread_block::thread_rank() : lanes::thread_rank(); }
  unsigned size() const { return whole_block_ ? thread_block::size() : lanes::size(); }
  unsigned num_threads() const { return size(); }

 private:
  bool whole_block_;
};

template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  const unsigned rank = details::rank_in_block();
  unsigned of_parent = thread_block::size();
  unsigned in_parent = rank;
  if constexpr (!std::is_same_v<Parent, thread_block> && !std::is_same_v<Parent, thread_group>) {
    of_parent = 32;
    in_parent = rank % 32;
  }
  return thread_block_tile<Size, Parent>(details::existing(details::tile_mask(Size, rank)), in_parent / Size,
                                         (of_parent + Size - 1) / Size);
}
template <class Parent>
inline thread_group tiled_partition(const Parent&, unsigned size) {
  return thread_group(details::existing(details::tile_mask(size, details::rank_in_block())));
}
template <class G>
inline coalesced_group binary_partition(const G& group, bool predicate, KLAB_SIMT_HERE) {
  const unsigned yes = __ballot_sync(group.mask(), predicate, file, line);
  return coalesced_group(predicate ? yes : group.mask() & ~yes);
}
template <class T, class G>
inline coalesced_group labeled_partition(const G& group, T label, KLAB_SIMT_HERE) {
  return coalesced_group(__match_any_sync(group.mask(), label, file, line));
}

/// The blocks of a cluster (CUDA C++ Programming Guide, "Cluster Group").
class cluster_group {
 public:
  struct arrival_token {};
  static void sync(KLAB_SIMT_HERE) {
    klab::simt::cluster_arrive(true, file, line);
    klab::simt::cluster_wait(file, line);
  }
  static arrival_token barrier_arrive(KLAB_SIMT_HERE) {
    klab::simt::cluster_arrive(true, file, line);
    return {};
  }
  static void barrier_wait(KLAB_SIMT_HERE) { klab::simt::cluster_wait(file, line); }
  static void barrier_wait(arrival_token&&, KLAB_SIMT_HERE) { klab::simt::cluster_wait(file, line); }
  static unsigned block_rank() { return klab::simt::cluster_rank(); }
  static unsigned num_blocks() { return klab::simt::cluster_blocks(); }
  static unsigned num_threads() { return num_blocks() * thread_block::size(); }
  static unsigned size() { return num_threads(); }
  static unsigned thread_rank() { return block_rank() * thread_block::size() + details::rank_in_block(); }
  static dim3 dim_blocks() {
    return dim3(klab::simt::cluster_size(0), klab::simt::cluster_size(1), klab::simt::cluster_size(2));
  }
  static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
  }
  static dim3 block_index() {
    return dim3(klab::simt::block_in_cluster(0), klab::simt::block_in_cluster(1),
                klab::simt::block_in_cluster(2));
  }
  static dim3 thread_index() {
    const dim3 block = block_index();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                block.z * blockDim.z + threadIdx.z);
  }
  template <class T>
  static T* map_shared_rank(T* p, unsigned rank, KLAB_SIMT_HERE) {
    return static_cast<T*>(klab::simt::map_shared(
        const_cast<const void*>(static_cast<const volatile void*>(p)), rank, file, line));
  }
  static unsigned query_shared_rank(const void* p) { return klab::simt::rank_of_shared(p); }
};
inline cluster_group this_cluster() { return {}; }

class grid_group {
 public:
  static bool is_valid() { return klab_cuda_grid_can_sync(); }
  static void sync(KLAB_SIMT_HERE) { klab_cuda_grid_sync(file, line); }
  static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + details::rank_in_block();
  }
  static unsigned long long block_rank() {
    return blockIdx.x +
           (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static unsigned long long num_clusters() { return num_blocks() / klab::simt::cluster_blocks(); }
  static unsigned long long cluster_rank() {
    const dim3 all = dim_clusters(), mine = cluster_index();
    return mine.x + (unsigned long long)all.x * (mine.y + (unsigned long long)all.y * mine.z);
  }
  static dim3 cluster_index() {
    return dim3(klab::simt::cluster_of_grid(0), klab::simt::cluster_of_grid(1),
                klab::simt::cluster_of_grid(2));
  }
  static dim3 dim_clusters() {
    return dim3(klab::simt::clusters_of_grid(0), klab::simt::clusters_of_grid(1),
                klab::simt::clusters_of_grid(2));
  }
};
inline grid_group this_grid() { return {}; }

template <class G>
inline void sync(const G& group, KLAB_SIMT_HERE) {
  group.sync(file, line);
}
template <class G>
inline unsigned thread_rank(const G& group) {
  return unsigned(group.thread_rank());
}
template <class G>
inline unsigned group_size(const G& group) {
  return unsigned(group.size());
}

template <class T = void>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T = void>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T = void>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T = void>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <class G, class T, class Op>
inline T reduce(const G& group, T value, Op op, KLAB_SIMT_HERE) {
  const unsigned mask = group.mask();
  T result = value;
  bool first = true;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const T other = __shfl_sync(mask, value, __builtin_ctz(rest), 32, file, line);
    result = first ? other : op(result, other);
    first = false;
  }
  return result;
}
template <class G, class T, class Op>
inline T inclusive_scan(const G& group, T value, Op op, KLAB_SIMT_HERE) {
  const unsigned mask = group.mask(), me = details::lane();
  T result = value;
  bool first = true;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = unsigned(__builtin_ctz(rest));
    const T other = __shfl_sync(mask, value, int(lane), 32, file, line);
    if (lane > me) continue;
    result = first ? other : op(result, other);
    first = false;
  }
  return result;
}
template <class G, class T>
inline T inclusive_scan(const G& group, T value, KLAB_SIMT_HERE) {
  return inclusive_scan(group, value, plus<T>(), file, line);
}
template <class G, class T>
inline T exclusive_scan(const G& group, T value, KLAB_SIMT_HERE) {
  return inclusive_scan(group, value, plus<T>(), file, line) - value;
}
template <class G, class F>
inline void invoke_one(const G& group, F f) {
  if (group.thread_rank() == 0) f();
}
/// Copies asynchronously; the data land at the wait. `bytes` is a number or a cuda::aligned_size_t.
template <class G, class T, class Size>
KLAB_SIMT_INLINE void memcpy_async(const G& group, T* to, const T* from, const Size& bytes) {
  klab::program::copy_of_any_alignment<klab::program::known_alignment<T, Size>()>(
      group, to, from, size_t(bytes), [](char* t, const char* f, unsigned n) __attribute__((always_inline)) {
        klab::simt::copy_async(t, f, n, n);
      });
  klab::simt::copy_async_commit();
}
/// Copies elements: as many as both sides have.
template <class G, class T, class To, class From>
KLAB_SIMT_INLINE void memcpy_async(const G& group, T* to, const To& to_elements, const T* from,
                                   const From& from_elements) {
  const size_t n = size_t(to_elements) < size_t(from_elements) ? size_t(to_elements) : size_t(from_elements);
  memcpy_async(group, to, from, n * sizeof(T));
}
template <class G>
KLAB_SIMT_INLINE void wait(const G& group, KLAB_SIMT_HERE) {
  klab::simt::copy_async_wait(0);
  group.sync(file, line);
}
template <unsigned left, class G>
KLAB_SIMT_INLINE void wait_prior(const G& group, KLAB_SIMT_HERE) {
  klab::simt::copy_async_wait(int(left));
  group.sync(file, line);
}

}  // namespace cooperative_groups
