// The generator that contracts draw inputs from. A header of its own: <random> takes longer to compile than most kernels,
// which see contracts and draw nothing.
#pragma once

#include <random>

namespace klab {

/// The Mersenne Twister of the standard library, 64 bits, under a name that a contract can declare without defining it.
class Generator : public std::mt19937_64 {
 public:
  using std::mt19937_64::mt19937_64;

  /// A contract's arrange() draws what is usual, which is what labs time and count. While this holds it draws all that
  /// callers may set instead, over the whole of its range: hyperparameters, borders that belong to the range, values
  /// beyond which a formula changes. What the shape says of the drawing only (a share of zeros) does not hold then.
  bool widely = false;
};

}  // namespace klab
