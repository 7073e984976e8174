// Shapes of warp-wide matrix instructions, mma.sync and wmma (PTX manual, "Matrix fragments for mma").
#pragma once

namespace klab {
namespace program {

enum class Element : unsigned char { f16, bf16, tf32, f32, f64, s8, u8, s32, s4, u4, b1 };

/// The terms of the sums: products, or for single bits whether both are set, or whether they differ.
enum class Product : unsigned char { multiply, bits_and, bits_xor };

/// a is m x k, b is k x n, c and d are m x n.
struct MatrixShape {
  int m, n, k;
  Element a, b, c;
  bool saturated;  // for integers: sums are clamped to their range
  Product product = Product::multiply;
};

constexpr int element_bits(Element e) {
  switch (e) {
    case Element::b1:
      return 1;
    case Element::s4:
    case Element::u4:
      return 4;
    case Element::s8:
    case Element::u8:
      return 8;
    case Element::f16:
    case Element::bf16:
      return 16;
    case Element::f64:
      return 64;
    default:
      return 32;
  }
}
/// Returns how many neighbors of a row of a (or a column of b) one register of a lane holds.
constexpr int elements_a_register(Element e) { return e == Element::f64 ? 1 : 32 / element_bits(e); }

/// Computes d = a·b + c on the fragments of the calling lanes: elements in the order of their registers. Sums
/// are rounded once.
void multiply_matrices(const MatrixShape& shape, void* d, const void* a, const void* b, const void* c,
                       const char* file, int line);

}  // namespace program
}  // namespace klab
