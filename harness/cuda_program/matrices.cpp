// Matrix instructions of CUDA programs, in all shapes of mma.sync and wmma.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "harness/simt/executor.h"
#include "harness/simt/runtime_api.h"
#include "klab_cuda/matrix_shape.h"

namespace klab::program {
namespace {

struct MatrixSlot {
  const MatrixShape* shape;
  void* d;
  const void *a, *b, *c;
};

double element_value(Element type, const void* fragment, size_t index) {
  const size_t width = size_t(element_bits(type)), from = index * width;
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(fragment) + from / 8, (width + 7) / 8);
  bits >>= from % 8;  // the first of several elements in a byte is in the low bits
  switch (type) {
    case Element::f16:
      return double(simt::float_from_half(uint16_t(bits)));
    case Element::bf16:
      return double(simt::float_from_bfloat16(uint16_t(bits)));
    case Element::tf32:  // tensor cores use 10 bits of the mantissa
      return double(std::bit_cast<float>(uint32_t(bits) & 0xFFFFE000u));
    case Element::f32:
      return double(std::bit_cast<float>(uint32_t(bits)));
    case Element::f64:
      return std::bit_cast<double>(bits);
    case Element::s8:
      return double(int8_t(bits));
    case Element::u8:
      return double(uint8_t(bits));
    case Element::s32:
      return double(int32_t(bits));
    case Element::s4:
      return double(int(bits & 7) - int(bits & 8));
    case Element::u4:
      return double(bits & 15);
    case Element::b1:
      return double(bits & 1);
  }
  return 0;
}

void set_element(Element type, void* fragment, size_t index, double x, bool saturated) {
  auto* at = static_cast<char*>(fragment) + index * size_t(element_bits(type)) / 8;
  if (type == Element::f16) {
    const uint16_t bits = simt::half_from_float(float(x));
    std::memcpy(at, &bits, 2);
  } else if (type == Element::f64) {
    std::memcpy(at, &x, 8);
  } else if (type == Element::s32) {
    // Integers below 2^53 are exact. They wrap around unless saturation is requested.
    const double limited = saturated ? std::clamp(x, -2147483648.0, 2147483647.0) : x;
    const auto bits = uint32_t(int64_t(limited));
    std::memcpy(at, &bits, 4);
  } else {
    const float bits = float(x);
    std::memcpy(at, &bits, 4);
  }
}

/// The position of an element of a lane's fragment.
struct ElementPlace {
  int row, column;
};
ElementPlace element_in_a(const MatrixShape& s, int lane, int index) {
  const int each = elements_a_register(s.a), r = index / each, e = index % each, halves = s.m / 8;
  return {(lane >> 2) + 8 * (r % halves), (lane & 3) * each + e + 4 * each * (r / halves)};
}
ElementPlace element_in_b(const MatrixShape& s, int lane, int index) {
  const int each = elements_a_register(s.b), r = index / each, e = index % each;
  const int chunks = std::max(1, s.k / (4 * each));
  return {(lane & 3) * each + e + 4 * each * (r % chunks), (lane >> 2) + 8 * (r / chunks)};
}
ElementPlace element_in_c(const MatrixShape& s, int lane, int index) {
  const int pair = index / 2, halves = s.m / 8;
  return {(lane >> 2) + 8 * (pair % halves), (lane & 3) * 2 + (index & 1) + 8 * (pair / halves)};
}

void multiply_fragments(void* const* slots, unsigned present) {
  const MatrixShape s = *static_cast<MatrixSlot*>(slots[unsigned(__builtin_ctz(present))])->shape;
  std::vector<double> a(size_t(s.m * s.k)), b(size_t(s.k * s.n)), c(size_t(s.m * s.n));
  const auto each_lane = [&](auto&& work) {
    for (int lane = 0; lane < 32; ++lane)
      if (present >> lane & 1) work(lane, *static_cast<MatrixSlot*>(slots[lane]));
  };
  each_lane([&](int lane, const MatrixSlot& slot) {
    for (int i = 0; i < s.m * s.k / 32; ++i) {
      const ElementPlace p = element_in_a(s, lane, i);
      a[size_t(p.row * s.k + p.column)] = element_value(s.a, slot.a, size_t(i));
    }
    for (int i = 0; i < s.k * s.n / 32; ++i) {
      const ElementPlace p = element_in_b(s, lane, i);
      b[size_t(p.row * s.n + p.column)] = element_value(s.b, slot.b, size_t(i));
    }
    for (int i = 0; i < s.m * s.n / 32; ++i) {
      const ElementPlace p = element_in_c(s, lane, i);
      c[size_t(p.row * s.n + p.column)] = element_value(s.c, slot.c, size_t(i));
    }
  });
  for (int i = 0; i < s.m; ++i)
    for (int k = 0; k < s.k; ++k)
      for (int j = 0; j < s.n; ++j) {
        const double x = a[size_t(i * s.k + k)], y = b[size_t(k * s.n + j)];
        c[size_t(i * s.n + j)] += s.product == Product::bits_xor ? double(x != y) : x * y;
      }
  // d may alias c, so it is written after all inputs have been read.
  each_lane([&](int lane, const MatrixSlot& slot) {
    for (int i = 0; i < s.m * s.n / 32; ++i) {
      const ElementPlace p = element_in_c(s, lane, i);
      set_element(s.c, slot.d, size_t(i), c[size_t(p.row * s.n + p.column)], s.saturated);
    }
  });
}

}  // namespace

void multiply_matrices(const MatrixShape& shape, void* d, const void* a, const void* b, const void* c,
                       const char* file, int line) {
  MatrixSlot slot{&shape, d, a, b, c};
  simt::meet(simt::Meeting::matrix, ~0u, &slot, multiply_fragments, "mma.sync", file, line);
}

}  // namespace klab::program
