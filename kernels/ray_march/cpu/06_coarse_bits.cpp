// ray_march.cpu.06_coarse_bits: a vector of candidates far from everything is not asked.
//
// CHANGE    one byte for each block of 8×8×8 cells says whether the block or one that touches it holds an occupied cell.
//           Before a vector of candidates is asked, the block of its middle one is: all of them lie within a block of
//           it.
// EXPECT    in empty space a dozen instructions and one load in the L1 cache in place of a hundred and a gather: twice
//           as fast where most of the box is far from any surface; nothing where occupied cells are everywhere.
// NUMERICS  bit-exact by contract: what is left out is empty by more than the rounding of a position.
// NEEDS     one cascade, steps of one length that bring half a vector no further than a block, and rays enough to pay for
//           reading the grid once. Otherwise it is its parent.
// TRIED     -
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/registrar.h"
#include "reference/ray_march/ray_march.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ray_march/cpu/06_coarse_bits.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

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

constexpr int64_t kChunk = 64;  // rays
constexpr int64_t kBlock = 8;   // cells along an edge of a block

// Every bit moves to three times its place.
HWY_INLINE VU spread(VU v) {
  const DU d;
  v = hn::And(hn::Or(v, hn::ShiftLeft<16>(v)), hn::Set(d, 0x030000FFU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<8>(v)), hn::Set(d, 0x0300F00FU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<4>(v)), hn::Set(d, 0x030C30C3U));
  return hn::And(hn::Or(v, hn::ShiftLeft<2>(v)), hn::Set(d, 0x09249249U));
}

// Where the samples of a chunk of rays are until the places of all are known.
struct Piece {
  int thread;
  size_t begin;
};

struct Grid {
  const int32_t* words;
  int64_t edge, cascades;
  const uint8_t* near_occupied;  // [(edge/8)³], x fastest; nullptr: not made
};

// Whether all candidates within a block's edge of the distance t are surely in empty cells.
HWY_INLINE bool far_from_everything(const Grid& grid, const float o[3], const float dir[3], float t) {
  const auto blocks = int32_t(grid.edge / kBlock);
  int32_t at[3];
  for (int axis = 0; axis < 3; ++axis) {
    const float position = (o[axis] + t * dir[axis]) * float(blocks);
    at[axis] = std::clamp(int32_t(position), 0, blocks - 1);
  }
  return grid.near_occupied[(at[2] * blocks + at[1]) * blocks + at[0]] == 0;
}

// Which of the candidates at distances t lie in occupied cells.
HWY_INLINE hn::Mask<D> occupied(const Grid& grid, const float o[3], const float dir[3], V t) {
  const D d;
  const DI di;
  const DU du;
  V c[3];
  for (int axis = 0; axis < 3; ++axis)
    c[axis] = hn::Sub(hn::Add(hn::Set(d, o[axis]), hn::Mul(t, hn::Set(d, dir[axis]))), hn::Set(d, 0.5F));
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
    morton = hn::Or(hn::ShiftLeft<1>(morton), spread(hn::BitCast(du, inside)));
  }
  const auto cells = uint32_t(grid.edge * grid.edge * grid.edge);
  const VU bit = hn::Add(morton, hn::Mul(cascade, hn::Set(du, cells)));
  const auto word = hn::BitCast(du, hn::GatherIndex(di, grid.words, hn::BitCast(di, hn::ShiftRight<5>(bit))));
  const VU asked = hn::Shl(hn::Set(du, 1U), hn::And(bit, hn::Set(du, 31U)));
  return hn::RebindMask(d, hn::Ne(hn::And(word, asked), hn::Zero(du)));
}

// Samples of one ray, at most max_samples, into t_out, which has room for a vector more; returns their number.
HWY_INLINE int64_t march(const March::Args<float>& x, const Grid& grid, int64_t ray, float* t_out) {
  const D d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const March::Shape& s = x.shape;
  float o[3], dir[3];
  for (int axis = 0; axis < 3; ++axis) {
    o[axis] = x.origins[axis * s.rays + ray];
    dir[axis] = x.directions[axis * s.rays + ray];
  }
  const March::Span span = March::box_span(o, dir, x.steps[0], float(1 << (s.cascades - 1)));
  if (!(span.enter < span.leave)) return 0;
  const float first = span.enter + x.jitter[ray] * March::step_at(span.enter, x.steps);
  const bool lattice = x.steps[3] == 0;
  // The half vector, and a little more than a position and the middle's distance can be off.
  const bool coarse = grid.near_occupied != nullptr && lattice &&
                      (0.5F * float(lanes) + 0.5F) * x.steps[1] * float(s.grid) < 0.99F * float(kBlock);
  HWY_ALIGN float steps_along[16];
  float next = first;
  int64_t count = 0;
  for (int64_t k = 0; count < s.max_samples; k += lanes) {
    V t;
    if (coarse) {
      const float middle = first + (float(k) + 0.5F * float(lanes - 1)) * x.steps[1];
      if (far_from_everything(grid, o, dir, middle)) {
        if (first + float(k + lanes - 1) * x.steps[1] < span.leave) continue;
        break;
      }
    }
    if (lattice) {
      const V index = hn::ConvertTo(d, hn::Iota(DI(), int32_t(k)));
      t = hn::Add(hn::Set(d, first), hn::Mul(index, hn::Set(d, x.steps[1])));
    } else {
      for (int64_t i = 0; i < lanes; ++i) {
        steps_along[i] = next;
        next += March::step_at(next, x.steps);
      }
      t = hn::Load(d, steps_along);
    }
    const auto before_the_end = hn::Lt(t, hn::Set(d, span.leave));
    const auto kept = hn::And(before_the_end, occupied(grid, o, dir, t));
    // In a register first: compressing into memory takes some processors a hundred cycles and more.
    hn::StoreU(hn::Compress(t, kept), d, t_out + count);
    count += int64_t(hn::CountTrue(d, kept));
    if (!hn::AllTrue(d, before_the_end)) break;
  }
  return std::min(count, s.max_samples);
}

void march_all(const March::Args<float>& x, const int32_t* words, const uint8_t* near_occupied) {
  const March::Shape& s = x.shape;
  const Grid grid{words, s.grid, s.cascades, near_occupied};
  const int64_t chunks = (s.rays + kChunk - 1) / kChunk;
  std::vector<int32_t> counts(static_cast<size_t>(s.rays));
  std::vector<Piece> pieces(static_cast<size_t>(chunks));
  std::vector<const float*> buffers(static_cast<size_t>(omp_get_max_threads()));
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    static thread_local std::vector<float> kept;  // grows to what is needed and stays
    size_t end = 0;
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < chunks; ++c) {
      pieces[static_cast<size_t>(c)] = {me, end};
      for (int64_t r = c * kChunk; r < std::min(s.rays, (c + 1) * kChunk); ++r) {
        const size_t room = end + static_cast<size_t>(s.max_samples) + 32;
        if (kept.size() < room) kept.resize(2 * room);
        const int64_t count = march(x, grid, r, kept.data() + end);
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

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(march_all);

constexpr int64_t kBlock = 8;  // cells along an edge of a block

// Every second or third bit of a Morton index.
int64_t coordinate(int64_t morton, int axis) {
  int64_t v = 0;
  for (int bit = 0; bit < 10; ++bit) v |= (morton >> (3 * bit + axis) & 1) << bit;
  return v;
}

// [blocks³], x fastest: 1 where a block, or one that touches it, has an occupied cell.
void mark_blocks(const int32_t* words, int64_t blocks, std::vector<uint8_t>& marks) {
  marks.assign(static_cast<size_t>(blocks * blocks * blocks), 0);
  for (int64_t b = 0; b < blocks * blocks * blocks; ++b) {
    int32_t any = 0;  // 512 cells in a row on the Morton curve are a block
    for (int64_t w = 0; w < 16; ++w) any |= words[16 * b + w];
    if (any != 0)
      marks[static_cast<size_t>((coordinate(b, 2) * blocks + coordinate(b, 1)) * blocks + coordinate(b, 0))] =
          1;
  }
  // To the neighbors, one axis after the other; `stride` blocks in a row have the same place along the axis.
  const int64_t all = blocks * blocks * blocks;
  std::vector<uint8_t> before;
  for (int64_t stride : {int64_t(1), blocks, blocks * blocks}) {
    before = marks;
    for (int64_t begin = 0; begin < all; begin += blocks * stride)
      for (int64_t i = begin; i < begin + (blocks - 1) * stride; ++i) {
        marks[static_cast<size_t>(i)] |= before[static_cast<size_t>(i + stride)];
        marks[static_cast<size_t>(i + stride)] |= before[static_cast<size_t>(i)];
      }
  }
}

void run(const RayMarch::Args<float>& x) {
  const RayMarch::Shape& s = x.shape;
  const int64_t bytes = s.cascades * s.grid * s.grid * s.grid / 8;
  const bool as_it_is = bytes % 4 == 0 && reinterpret_cast<uintptr_t>(x.occupancy) % 4 == 0;
  std::vector<int32_t> copy;
  if (!as_it_is) {
    copy.resize(static_cast<size_t>(bytes + 3) / 4);
    std::memcpy(copy.data(), x.occupancy, static_cast<size_t>(bytes));
  }
  const auto* words = as_it_is ? reinterpret_cast<const int32_t*>(x.occupancy) : copy.data();
  std::vector<uint8_t> marks;
  // Marking reads the grid once and costs a few instructions a block; marching a ray costs some thousand.
  const int64_t blocks = s.grid / kBlock;
  const bool coarse = s.cascades == 1 && blocks >= 2 && blocks * blocks * blocks <= 8 * s.rays;
  if (coarse) mark_blocks(words, blocks, marks);
  HWY_DYNAMIC_DISPATCH(march_all)(x, words, coarse ? marks.data() : nullptr);
}

KLAB_VARIANT(RayMarch, {.run = run, .parent = "05_candidates_in_lanes", .tiles = {4, 16, 64}});

}  // namespace
}  // namespace klab
#endif
