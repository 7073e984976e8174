// Pictures with a border, for kernels of ops that pad by themselves: the border is written around copies of the pictures, and
// gradients of the copies are collected.
#pragma once

#include <algorithm>
#include <vector>

#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab::pad {

/// The pictures of a call: pixels are single numbers, a picture for each channel, or hold all channels where those are last.
struct Pictures {
  PadShape shape;  // planes: pictures
  int64_t size;    // numbers of a pixel

  template <class Layer>
  Pictures(const Layer& layer, int64_t channels)
      : shape(layer.pad()), size(layer.nhwc != 0 ? std::max<int64_t>(channels, 1) : 1) {
    shape.planes /= size;
  }
  /// Returns the numbers of all pictures with their border.
  int64_t bordered() const { return shape.planes * shape.oh() * shape.ow() * size; }
};

/// Calls visit(place, pixel) for each place of a picture with its border; pixel is -1 where no pixel is shown.
template <class Visit>
void each_place(const PadShape& s, const Visit& visit) {
  for (int64_t i = 0; i < s.oh(); ++i)
    for (int64_t j = 0; j < s.ow(); ++j) {
      const int64_t row = i - s.pad_y, column = j - s.pad_x;
      const bool shown = s.inside(row, column) || s.copies();
      visit(i * s.ow() + j, shown ? s.source(row, s.h) * s.w + s.source(column, s.w) : -1);
    }
}

/// Writes the pictures with their border.
inline void write(const Pictures& pictures, const float* x, float* y) {
  const PadShape& s = pictures.shape;
  const int64_t size = pictures.size, pixels = s.h * s.w;
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const float* from = x + plane * pixels * size;
    float* to = y + plane * s.oh() * s.ow() * size;
    std::vector<float> border(size_t(size), 0.0F);
    if (s.kind == PadShape::mean) {
      for (int64_t k = 0; k < pixels; ++k)
        for (int64_t c = 0; c < size; ++c) border[size_t(c)] += from[k * size + c];
      for (float& sum : border) sum /= float(pixels);
    }
    each_place(s, [&](int64_t place, int64_t pixel) {
      std::copy_n(pixel < 0 ? border.data() : from + pixel * size, size, to + place * size);
    });
  }
}

/// Writes the gradients of the pictures from those of the pictures with their border.
inline void collect(const Pictures& pictures, const float* d_y, float* d_x) {
  const PadShape& s = pictures.shape;
  const int64_t size = pictures.size, pixels = s.h * s.w;
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const float* from = d_y + plane * s.oh() * s.ow() * size;
    float* to = d_x + plane * pixels * size;
    std::fill_n(to, pixels * size, 0.0F);
    std::vector<float> border(size_t(size), 0.0F);
    each_place(s, [&](int64_t place, int64_t pixel) {
      float* sums = pixel < 0 ? border.data() : to + pixel * size;
      for (int64_t c = 0; c < size; ++c) sums[c] += from[place * size + c];
    });
    if (s.kind != PadShape::mean) continue;
    for (int64_t k = 0; k < pixels * size; ++k) to[k] += border[size_t(k % size)] / float(pixels);
  }
}

}  // namespace klab::pad
