// A picture with its padding, laid out so that every tap of a convolution is a shift of one long row.
//
// Rows follow each other without a gap but for the zeros between them, which serve as right padding of one
// row and as left padding of the next (w = 5, pad = 1, stride = 1; . is a zero):
//
//   .abcde.fghij.klmno.          output t = i·pitch + j        tap (u,v) reads at t + u·dilation_y·pitch + v·dilation_x
//
// so that outputs of the whole picture are one vector t = 0, 1, 2, ..., of which those with j >= ow are
// thrown away. With a stride, a tap reads every stride-th pixel: rows and columns are sorted by their
// remainder first, into stride_y·stride_x such pictures ("phases"), and a tap reads one of them, with shift
// ⌊u·dilation/stride⌋. Stride, padding and dilation are then nothing but a table of shifts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace klab::conv {

/// Along one axis: where the padded position `p` lies, as phase and place in it.
struct JoinedRows {
  int64_t h, w, stride_y, stride_x, pad_y, pad_x;
  int64_t oh, ow;
  int64_t pitch;    // floats from a row of a phase to the next; at least ow
  int64_t rows;     // of a phase
  int64_t phase;    // floats of one
  int64_t channel;  // floats of all phases of one channel

  /// `Shape` is a contract's: h, w, r, s, stride_y, ..., oh(), ow().
  template <class Shape>
  explicit JoinedRows(const Shape& s)
      : h(s.h),
        w(s.w),
        stride_y(s.stride_y),
        stride_x(s.stride_x),
        pad_y(s.pad_y),
        pad_x(s.pad_x),
        oh(s.oh()),
        ow(s.ow()) {
    pitch = std::max((w + pad_x + stride_x - 1) / stride_x, ow);
    rows = (h + 2 * pad_y + stride_y - 1) / stride_y;
    phase = rows * pitch + pad_x;  // the last row has its right padding for itself
    channel = phase * stride_y * stride_x;
  }

  /// Length of the vector of outputs, the ones thrown away included.
  int64_t outputs() const { return (oh - 1) * pitch + ow; }

  /// Where the padded position (row, column) lies, relative to its channel; a tap's shift is that of its own position.
  int64_t at(int64_t row, int64_t column) const {
    const int64_t which = row % stride_y * stride_x + column % stride_x;
    return which * phase + row / stride_y * pitch + column / stride_x;
  }

  /// visit(from, to, length) for each run of outputs among t, t + 1, ..., t + count - 1 that are kept: they begin at t + from,
  /// and belong at `to` of a channel of y, [oh,ow].
  void each_piece(int64_t t, int64_t count, auto&& visit) const {
    for (int64_t row = t / pitch, j = t % pitch, from = 0; from < count; ++row, from += pitch - j, j = 0)
      if (j < ow) visit(from, row * ow + j, std::min(ow - j, count - from));
  }

  /// Whether an unpadded channel is its own layout.
  bool is_plain() const { return stride_y == 1 && stride_x == 1 && pad_y == 0 && pad_x == 0 && pitch == w; }

  /// One channel, `from` [h,w], into `to` [channel].
  void pack(const float* from, float* to) const {
    for (int64_t phase_y = 0; phase_y < stride_y; ++phase_y)
      for (int64_t phase_x = 0; phase_x < stride_x; ++phase_x) {
        for (int64_t i = 0; i < rows; ++i, to += pitch) {
          const int64_t row = i * stride_y + phase_y - pad_y;
          if (row < 0 || row >= h)
            std::fill_n(to, pitch, 0.0F);
          else
            pack_row(from + row * w, phase_x, to);
        }
        std::fill_n(to, pad_x, 0.0F);
        to += pad_x;
      }
  }

 private:
  void pack_row(const float* from, int64_t phase_x, float* to) const {
    const int64_t begin = std::min(pitch, phase_x >= pad_x ? 0 : (pad_x - phase_x + stride_x - 1) / stride_x);
    const int64_t first = begin * stride_x + phase_x - pad_x;
    const int64_t count = std::clamp<int64_t>((w - first + stride_x - 1) / stride_x, 0, pitch - begin);
    std::fill_n(to, begin, 0.0F);
    if (stride_x == 1)
      std::copy_n(from + first, count, to + begin);
    else if (stride_x == 2)  // a constant that the compiler makes shuffles of
      for (int64_t j = 0; j < count; ++j) to[begin + j] = from[first + j * 2];
    else
      for (int64_t j = 0; j < count; ++j) to[begin + j] = from[first + j * stride_x];
    std::fill_n(to + begin + count, pitch - begin - count, 0.0F);
  }
};

/// [0, size) cut into as few pieces as a largest one allows, all of them about as long.
struct Pieces {
  int64_t size, count;
  int64_t unit;  // pieces begin at multiples of it

  static Pieces of(int64_t size, int64_t largest, int64_t unit) {
    return {size, (size + largest - 1) / largest, unit};
  }
  int64_t begin(int64_t piece) const {
    const int64_t units = (size + unit - 1) / unit;
    return std::min(size, units * piece / count * unit);
  }
};

/// Shifts of all taps of `channels` channels that lie `channel` floats apart, in the order of the weights: [c,r,s].
template <class Shape>
std::vector<int64_t> shifts_of(const Shape& s, const JoinedRows& rows, int64_t channel) {
  std::vector<int64_t> shifts;
  shifts.reserve(size_t(s.c * s.r * s.s));
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t u = 0; u < s.r; ++u)
      for (int64_t v = 0; v < s.s; ++v)
        shifts.push_back(c * channel + rows.at(u * s.dilation_y, v * s.dilation_x));
  return shifts;
}

}  // namespace klab::conv
