// Layout of a layer for the backward of a convolution on joined rows (conv/rows.h): which taps read which
// phase of x, and how d_y lies between zeros, so that a shift backwards stays inside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/conv/rows.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab::conv {

inline constexpr int64_t kBeyondRow = 64;  // floats: the widest tile of conv/tile-inl.h

/// The taps that read one phase of x, and where they point back to.
struct Phase {
  int64_t row, column;        // of the phase's first pixel among padded ones
  std::vector<int64_t> taps;  // u·s + v
  // for each output channel and tap: offset from t to the d_y that contributes at t
  std::vector<int64_t> back;
};

/// State that all gradients of a layer share. d_y of a channel lies as joined rows between zeros, `before` of
/// them in front.
struct BackwardLayer {
  Conv2dShape s;
  JoinedRows rows;
  int64_t before, d_y_channel;
  std::vector<int64_t> shifts;  // of the taps of one channel, forward
  std::vector<Phase> phases;

  explicit BackwardLayer(const Conv2dShape& shape)
      : s(shape),
        rows(s),
        before((s.r - 1) * s.dilation_y / s.stride_y * rows.pitch + (s.s - 1) * s.dilation_x / s.stride_x),
        d_y_channel(before + std::max(rows.phase, rows.outputs()) + kBeyondRow) {
    for (int64_t row = 0; row < s.stride_y; ++row)
      for (int64_t column = 0; column < s.stride_x; ++column) phases.push_back({row, column, {}, {}});
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t row = tap / s.s * s.dilation_y, column = tap % s.s * s.dilation_x;
      shifts.push_back(rows.at(row, column));
      phases[size_t(row % s.stride_y * s.stride_x + column % s.stride_x)].taps.push_back(tap);
    }
    for (Phase& phase : phases)
      for (int64_t k = 0; k < s.k; ++k)
        for (const int64_t tap : phase.taps)
          phase.back.push_back(k * d_y_channel + before - tap / s.s * s.dilation_y / s.stride_y * rows.pitch -
                               tap % s.s * s.dilation_x / s.stride_x);
  }

  /// One channel of d_y, [oh,ow], with its zeros.
  void pack_d_y(const float* from, float* to) const {
    float* end = to + d_y_channel;
    to = std::fill_n(to, before, 0.0F);
    for (int64_t i = 0; i < rows.oh; ++i, from += rows.ow)
      to = std::fill_n(std::copy_n(from, rows.ow, to), rows.pitch - rows.ow, 0.0F);
    std::fill(to, end, 0.0F);
  }
};

}  // namespace klab::conv
