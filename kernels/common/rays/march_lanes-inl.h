// Shared by marches with candidates in lanes: the cell of each, its bit, and the frame around the rays.
// Included by kernel files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_RAYS_MARCH_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_RAYS_MARCH_LANES_INL_H_
#undef KLAB_KERNELS_COMMON_RAYS_MARCH_LANES_INL_H_
#else
#define KLAB_KERNELS_COMMON_RAYS_MARCH_LANES_INL_H_
#endif

#include <omp.h>

#include <algorithm>
#include <vector>

#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"
#include "reference/ray_march/ray_march.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using March = RayMarch;
using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;

constexpr auto kLanes = int64_t(hn::MaxLanes(D()));
constexpr int64_t kChunk = 64;  // rays

/// Where a chunk's samples are until the places of all are known.
struct Piece {
  int thread;
  size_t begin;
};

/// Occupancy bits as words, of which a gather fetches sixteen.
struct Grid {
  const int32_t* words;
  int64_t edge, cascades;
};

/// A ray inside the box.
struct Path {
  float o[3], dir[3];
  March::Span span;
  float first;  // candidate

  HWY_INLINE Path(const March::Args<float>& x, int64_t ray) {
    const March::Shape& s = x.shape;
    for (int axis = 0; axis < 3; ++axis) {
      o[axis] = x.origins[axis * s.rays + ray];
      dir[axis] = x.directions[axis * s.rays + ray];
    }
    span = March::box_span(o, dir, x.steps[0], x.steps[4], float(1 << (s.cascades - 1)));
    first = span.enter + x.jitter[ray] * March::step_at(span.enter, x.steps);
  }
  HWY_INLINE bool empty() const { return !(span.enter < span.leave); }
};

/// The next candidates of a cone, which follow one another.
HWY_INLINE V next_on_cone(float& next, const float steps[4]) {
  const D d;
  HWY_ALIGN float along[16];
  for (int64_t i = 0; i < kLanes; ++i) {
    along[i] = next;
    next += March::step_at(next, steps);
  }
  return hn::Load(d, along);
}

/// Numbers of candidates of a lattice: k, k + by, ... Iota begins at 0: with another beginning, some versions of Highway write
/// its lanes to memory, one by one, and wait for them there.
HWY_INLINE hn::Vec<DI> lattice_index(int64_t k, int32_t by) {
  const DI di;
  return hn::Add(hn::Set(di, int32_t(k)), hn::Mul(hn::Iota(di, 0), hn::Set(di, by)));
}

/// Where these candidates are: a multiplication and an addition, as in the contract.
HWY_INLINE V on_lattice(float first, float step, hn::Vec<DI> index) {
  const D d;
  return hn::Add(hn::Set(d, first), hn::Mul(hn::ConvertTo(d, index), hn::Set(d, step)));
}

/// Every bit of a coordinate moves to three times its place, in four steps.
HWY_INLINE VU spread_bits(VU v) {
  const DU d;
  v = hn::And(hn::Or(v, hn::ShiftLeft<16>(v)), hn::Set(d, 0x030000FFU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<8>(v)), hn::Set(d, 0x0300F00FU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<4>(v)), hn::Set(d, 0x030C30C3U));
  return hn::And(hn::Or(v, hn::ShiftLeft<2>(v)), hn::Set(d, 0x09249249U));
}

/// Which of the candidates at distances t lie in occupied cells.
HWY_INLINE hn::Mask<D> occupied(const Grid& grid, const Path& path, V t) {
  const D d;
  const DI di;
  const DU du;
  V c[3];
  for (int axis = 0; axis < 3; ++axis)
    c[axis] =
        hn::Sub(hn::Add(hn::Set(d, path.o[axis]), hn::Mul(t, hn::Set(d, path.dir[axis]))), hn::Set(d, 0.5F));
  // The smallest cascade that contains the position, and 1 over the side of its cube: both exact.
  VU cascade = hn::Zero(du);
  V shrink = hn::Set(d, 1.0F);
  const V away = hn::Max(hn::Max(hn::Abs(c[0]), hn::Abs(c[1])), hn::Abs(c[2]));
  float half = 0.5F;
  for (int64_t k = 0; k + 1 < grid.cascades; ++k, half *= 2) {
    const auto beyond = hn::Not(hn::Lt(away, hn::Set(d, half)));
    cascade = hn::Add(cascade, hn::IfThenElseZero(hn::RebindMask(du, beyond), hn::Set(du, 1U)));
    shrink = hn::IfThenElse(beyond, hn::Set(d, 0.25F / half), shrink);
  }
  VU morton = hn::Zero(du);
  for (int axis = 2; axis >= 0; --axis) {
    const V in_cube = hn::Add(hn::Mul(c[axis], shrink), hn::Set(d, 0.5F));
    const auto cell = hn::ConvertTo(di, hn::Floor(hn::Mul(in_cube, hn::Set(d, float(grid.edge)))));
    const auto inside = hn::Min(hn::Max(cell, hn::Zero(di)), hn::Set(di, int32_t(grid.edge) - 1));
    morton = hn::Or(hn::ShiftLeft<1>(morton), spread_bits(hn::BitCast(du, inside)));
  }
  const auto cells = uint32_t(grid.edge * grid.edge * grid.edge);
  const VU bit = hn::Add(morton, hn::Mul(cascade, hn::Set(du, cells)));
  const auto word = hn::BitCast(du, hn::GatherIndex(di, grid.words, hn::BitCast(di, hn::ShiftRight<5>(bit))));
  const VU tested = hn::Shl(hn::Set(du, 1U), hn::And(bit, hn::Set(du, 31U)));
  return hn::RebindMask(d, hn::Ne(hn::And(word, tested), hn::Zero(du)));
}

/// Appends those candidates at t that lie in occupied cells to t_out, which has room for a vector more.
/// Returns whether a later candidate can be a sample.
HWY_INLINE bool is_occupied(const March::Args<float>& x, const Grid& grid, const Path& path, V t,
                            float* t_out, int64_t& count) {
  const D d;
  const auto before_the_end = hn::Lt(t, hn::Set(d, path.span.leave));
  const auto kept = hn::And(before_the_end, occupied(grid, path, t));
  // In a register first: compressing into memory takes some processors a hundred cycles and more.
  hn::StoreU(compact(d, t, kept), d, t_out + count);
  count += int64_t(hn::CountTrue(d, kept));
  return hn::AllTrue(d, before_the_end) && count < x.shape.max_samples;
}

/// Samples of one ray all of whose candidates are tested.
HWY_INLINE int64_t march_vector_by_vector(const March::Args<float>& x, const Grid& grid, const Path& path,
                                          float* t_out) {
  int64_t count = 0, k = 0;
  float next = path.first;
  const bool cone = x.steps[3] != 0;
  for (bool more = true; more; k += kLanes)
    more = is_occupied(
        x, grid, path,
        cone ? next_on_cone(next, x.steps) : on_lattice(path.first, x.steps[1], lattice_index(k, 1)), t_out,
        count);
  return std::min(count, x.shape.max_samples);
}

/// All rays, in chunks that threads take as they come. march(ray, t_out) writes the samples of one ray, at most max_samples,
/// where there is room for a vector more, and returns their number.
template <class MarchRay>
void march_rays(const March::Args<float>& x, MarchRay march) {
  const March::Shape& s = x.shape;
  const int64_t chunks = (s.rays + kChunk - 1) / kChunk;
  std::vector<int32_t> counts(static_cast<size_t>(s.rays));
  std::vector<Piece> pieces(static_cast<size_t>(chunks));
  std::vector<const float*> buffers(static_cast<size_t>(omp_get_max_threads()));
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    static thread_local std::vector<float> kept;  // grows as needed and stays
    size_t end = 0;
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < chunks; ++c) {
      pieces[static_cast<size_t>(c)] = {me, end};
      for (int64_t r = c * kChunk; r < std::min(s.rays, (c + 1) * kChunk); ++r) {
        const size_t room = end + static_cast<size_t>(s.max_samples) + 32;
        if (kept.size() < room) kept.resize(2 * room);
        const int64_t count = march(r, kept.data() + end);
        counts[static_cast<size_t>(r)] = int32_t(count);
        end += static_cast<size_t>(count);
      }
    }
    buffers[static_cast<size_t>(me)] = kept.data();
  }
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    full = full || total + counts[static_cast<size_t>(r)] > s.capacity;
    if (!full) total += counts[static_cast<size_t>(r)];
  }
  x.ray_begin[s.rays] = int32_t(total);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; ++c) {
    // A chunk's samples are contiguous in the result too; only its last rays may have been refused.
    const int64_t begin = x.ray_begin[c * kChunk];
    const int64_t end = x.ray_begin[std::min(s.rays, (c + 1) * kChunk)];
    const Piece piece = pieces[static_cast<size_t>(c)];
    const float* from = buffers[static_cast<size_t>(piece.thread)] + piece.begin;
    for (int64_t i = begin; i < end; ++i) {
      x.t[i] = from[i - begin];
      x.delta[i] = March::step_at(from[i - begin], x.steps);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
