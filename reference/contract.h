// The vocabulary that contracts are written in.
//
// A contract is a struct that defines one operation. To it all variants of the operation are interchangeable.
// It has no code of any variant and needs nothing but the standard library:
//
//   struct Matmul {
//     static constexpr std::string_view name = "matmul";
//     static constexpr std::array dims = {"m", "n", "k"};         // names of Shape's fields, in order
//     struct Shape { int64_t m, n, k; };                          // int64_t fields only
//     template <class T> struct Args { Shape shape; const T* a; const T* b; T* c; };
//     static void tensors(auto& args, auto&& visit);              // one visit() a pointer: the only list of them
//     static Cost cost(const Shape&);                             // compulsory traffic and arithmetic
//     static double terms(const Shape&);                          // roundings behind one output; 0: bit-exact
//     static void reference(const Args<double>& x, const Args<double>& magnitude);
//   };
//
// Variants are called with Args<float>; the reference with Args<double> holding the same values. Pointers
// whose element is not T (indices, half-precision tables) keep their type in both.
//
// Optional members:
//   using Forward = Matmul;         this is the backward of that op. Tensors keep the forward's names, and the
//                                   gradient of the loss with respect to tensor "x" is named "d_x". From the
//                                   names alone the gradient check knows what to differentiate.
//   static bool valid(const Shape&) which shapes are legal (default: every dimension >= 0).
//   static void arrange(const Args<float>&, Generator&)
//                                   rewrites drawn inputs that must obey a rule (sorted, in range, off a kink).
//   static constexpr std::array optional = {"table_half"};
//                                   inputs that only those variants read which name them in VariantSpec::needs; to all
//                                   others the caller may give a null pointer, and `klab check` does.
//   static constexpr bool tensors_on_host = true;
//                                   CUDA variants are given memory of the host too, and copy by themselves.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace klab {

class Generator;  // of random numbers: reference/generator.h

/// How a tensor is used. Outputs are poisoned before a run; accumulated ones start at random values.
enum class Role {
  input,       // read; a variant that changes it is wrong
  output,      // written: out = f(inputs), regardless of the old content
  accumulate,  // added to: out += f(inputs)
};

/// How test inputs are drawn.
enum class Draw {
  real,      // any finite value; patterns (constant, huge, denormal, cancelling) apply
  unit,      // in [0, 1), e.g. normalized positions
  arranged,  // zeroed; the contract's arrange() fills it
};

/// A table that random reads fall into, which share of all of them, and how many such tables (levels) the call uses.
struct TableShare {
  double bytes = 0;
  double share = 1;
  double count = 1;
  friend bool operator==(const TableShare&, const TableShare&) = default;
};

/// The least that any variant of the operation must move and compute. Decimal bytes.
struct Cost {
  double bytes = 0;  // every input read once, every output written once (accumulated: read and written)
  double flops = 0;  // multiply and add count one each; a transcendental counts as the polynomial behind it
  /// How many of these the widest instructions for their format do in the time of one of float: 2 with
  /// bfloat16 factors, 4 with bytes (a vector's lanes hold as many). The ceiling is float's, measured, times
  /// this.
  double flops_per_lane = 1;
  /// Values of exp or log; a sine with its cosine counts one, because the two share a reduction, and both
  /// together need at least a polynomial's work. In float, as are the next two.
  double transcendentals = 0;
  double divisions = 0;    // by values not known before; a reciprocal that serves many quotients counts one
  double roots = 0;        // square roots
  double gathers = 0;      // random reads of one table entry
  double entry_bytes = 8;  // of one such entry: 4 or 8
  /// The tables of the random reads, one after the other; sizes decide which memory serves them.
  std::vector<TableShare> tables = {};
  double table_bytes = 0;  // those of `bytes` that are moved entry by entry: gathers bound them, not an order
};

/// Dimensions of one tensor, slowest first.
using Dims = std::vector<int64_t>;

/// Number of elements of a tensor.
inline int64_t volume(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

}  // namespace klab
