// compact.cpu.04_threads: pieces of the result shared among the threads.
//
// CHANGE    the two outer dimensions are cut into pieces of 64 rows, and every thread takes a contiguous
//           run of them.
// EXPECT    about the number of cores in cache; beyond it as much as one core leaves of the memory's
//           bandwidth.
// NUMERICS  copies bits.
// NEEDS     nothing. Small views stay on one thread.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/compact/compact.h"

#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

// out[r, c] = in[c·ld + r]: reads along r and writes along c, in blocks that keep both in L1. `pitch` is the
// distance of the rows of `out`.
void transpose_rows(const float* in, int64_t ld, float* out, int64_t pitch, int64_t rows, int64_t cols) {
  constexpr int64_t kRows = 16, kCols = 32;
  for (int64_t c = 0; c < cols; c += kCols)
    for (int64_t r = 0; r < rows; r += kRows)
      transpose_block(in + c * ld + r, ld, out + r * pitch + c, pitch, std::min(kCols, cols - c),
                      std::min(kRows, rows - r));
}

// One row of any stride.
void row(const float* from, int64_t stride, float* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t k = 0;
  if (stride == 1) {
    for (; k + lanes <= count; k += lanes) hn::StoreU(hn::LoadU(d, from + k), d, to + k);
  } else if (stride == 0) {
    const auto value = hn::Set(d, count > 0 ? *from : 0.0F);
    for (; k + lanes <= count; k += lanes) hn::StoreU(value, d, to + k);
  }
  for (; k < count; ++k) to[k] = from[k * stride];
}

// Rows [j, j_end) of the middle dimension of slice i.
void slice(const Compact::Args<float>& x, int64_t i, int64_t j, int64_t j_end) {
  const Compact::Shape& s = x.shape;
  const float* from = x.base + s.offset + i * s.s0;
  float* to = x.out + i * s.d1 * s.d2;
  if (s.s1 == 1 && s.s2 > 1) return transpose_rows(from + j, s.s2, to + j * s.d2, s.d2, j_end - j, s.d2);
  for (; j < j_end; ++j) row(from + j * s.s1, s.s2, to + j * s.d2, s.d2);
}

// Rows [i, i_end) of the outermost dimension at middle index j: the view is transposed between those two.
void section(const Compact::Args<float>& x, int64_t j, int64_t i, int64_t i_end) {
  const Compact::Shape& s = x.shape;
  transpose_rows(x.base + s.offset + i + j * s.s1, s.s2, x.out + (i * s.d1 + j) * s.d2, s.d1 * s.d2,
                 i_end - i, s.d2);
}

KLAB_SIMD_END(slice, section);

#if HWY_ONCE
namespace klab {
namespace {

constexpr int64_t kRows = 64;         // of a piece
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  const int64_t total = s.d0 * s.d1 * s.d2;
  if (total == 0) return;
  // A piece is 64 rows along `cut`, at one index of the other outer dimension.
  const bool outermost = s.s0 == 1 && s.s1 != 1 && s.s2 > 1;
  const int64_t cut = outermost ? s.d0 : s.d1, other = outermost ? s.d1 : s.d0;
  const int64_t pieces = (cut + kRows - 1) / kRows;
  const auto one = [&](int64_t p) {
    const int64_t begin = p % pieces * kRows, end = std::min(cut, begin + kRows);
    if (outermost) {
      HWY_DYNAMIC_DISPATCH(section)(x, p / pieces, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(slice)(x, p / pieces, begin, end);
    }
  };
  if (total < kEnough) {
    for (int64_t p = 0; p < pieces * other; ++p) one(p);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pieces * other; ++p) one(p);
}

KLAB_VARIANT(Compact, {.run = run,
                       .parent = "03_simd",
                       .tiles = {16, 32, 64},
                       .expect = {.shape = {16, 512, 512, 262144, 1, 512, 0}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
#endif
