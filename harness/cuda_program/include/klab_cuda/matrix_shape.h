// Matrix instructions of a warp, as mma.sync and wmma have them (PTX manual, "Matrix fragments for mma").
#pragma once

namespace klab {
namespace program {

enum class Element : unsigned char { f16, bf16, tf32, f32, f64, s8, u8, s32 };

/// a is m x k, b is k x n, c and d are m x n.
struct MatrixShape {
  int m, n, k;
  Element a, b, c;
  bool saturated;  // of whole numbers: sums end at the ends of their range
};

/// Neighbors of a row of a (a column of b) that one register of a lane holds.
constexpr int elements_a_register(Element e) {
  return e == Element::s8 || e == Element::u8 ? 4 : e == Element::f16 || e == Element::bf16 ? 2 : 1;
}

/// d = a·b + c, of the fragments that the calling lanes hold: elements in the order of their registers. Sums are rounded once.
void multiply_matrices(const MatrixShape& shape, void* d, const void* a, const void* b, const void* c,
                       const char* file, int line);

}  // namespace program
}  // namespace klab
