// The generator that contracts draw inputs from. A header of its own: <random> takes longer to compile than most kernels,
// which see contracts and draw nothing.
#pragma once

#include <random>

namespace klab {

/// The Mersenne Twister of the standard library, 64 bits, under a name that a contract can declare without defining it.
class Generator : public std::mt19937_64 {
 public:
  using std::mt19937_64::mt19937_64;

  /// A contract's arrange() draws usual inputs, which labs time and count. While this is true it draws
  /// everything that callers may set, over its whole range: hyperparameters, borders that belong to the
  /// range, values beyond which a formula changes. Fields of the shape that only describe the drawing (a
  /// share of zeros) do not hold then.
  bool widely = false;
};

}  // namespace klab
