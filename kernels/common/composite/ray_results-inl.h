// Gradients of samples, written along the stream by vectors that share lines with other pieces and threads. Included by kernel
// files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_COMPOSITE_RAY_RESULTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_COMPOSITE_RAY_RESULTS_INL_H_
#undef KLAB_KERNELS_COMMON_COMPOSITE_RAY_RESULTS_INL_H_
#else
#define KLAB_KERNELS_COMMON_COMPOSITE_RAY_RESULTS_INL_H_
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/common/composite/ray_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Results of samples [first, ...) of a thread: red, green, blue, density.
template <bool kStream>
struct Results {
  float* row[4];
  int64_t first;
  HWY_ALIGN float open[4][16] = {};  // of the vector in which a piece ended
  HWY_ALIGN float line[4][16];       // the lanes so far of the line that is being streamed

  /// x: arguments of an op with samples, d_rgb [3,samples] and d_density_raw [samples].
  template <class Args>
  Results(const Args& x, int64_t begin)
      : row{x.d_rgb, x.d_rgb + x.shape.samples, x.d_rgb + 2 * x.shape.samples, x.d_density_raw},
        first(begin) {}
  /// Where vectors are shorter than lines, a line streamed in parts, with parts of other lines between them, would reach memory
  /// in parts, at half the speed or less: its parts are kept until it is whole.
  HWY_INLINE void put(V v, int c, int64_t i) {
    const D d;
    if constexpr (!kStream) {
      hn::StoreU(v, d, row[c] + i);
    } else if constexpr (kLanes == kLine) {
      hn::Stream(v, d, row[c] + i);
    } else {
      const int64_t at = i % kLine, begin = i - at;
      if (begin < first) return hn::StoreU(v, d, row[c] + i);  // a line that is another thread's, too
      hn::Store(v, d, line[c] + at);
      if (at + kLanes < kLine) return;
      for (int64_t k = 0; k < at; k += kLanes) hn::Stream(hn::Load(d, line[c] + k), d, row[c] + begin + k);
      hn::Stream(v, d, row[c] + i);
    }
  }
  /// Stores the part within [from, to) of a vector in which a piece of samples begins or ends.
  HWY_INLINE void put_part(V v, int c, int64_t i, int64_t from, int64_t to) {
    const D d;
    if (i < from) v = hn::IfThenElse(hn::FirstN(d, size_t(from - i)), hn::Load(d, open[c]), v);
    if (i >= first && i + kLanes <= to) return put(v, c, i);
    hn::Store(v, d, open[c]);
    if (i + kLanes <= to) close(c, i, i + kLanes);
  }
  /// Ends the thread's samples: writes the incomplete lines that were kept.
  void finish(int64_t end) {
    const int64_t vector = end / kLanes * kLanes, begin = end / kLine * kLine;
    for (int c = 0; c < 4 && first < end; ++c) {
      if (vector < end) close(c, vector, end);
      if (kStream && begin >= first) std::copy_n(line[c], vector - begin, row[c] + begin);
    }
  }

 private:
  /// Lanes that belong to this thread, up to sample `end`.
  void close(int c, int64_t i, int64_t end) const {
    const int64_t begin = std::max(i, first);
    std::copy(open[c] + (begin - i), open[c] + (end - i), row[c] + begin);
  }
};

/// Whether all rows of results begin with a line.
template <class Args>
bool whole_lines(const Args& x) {
  const Results<true> rows(x, 0);
  return std::all_of(rows.row, rows.row + 4,
                     [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; });
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
