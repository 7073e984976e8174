// Is one output tensor right? Bounds derived from the arithmetic, and the comparison that uses them.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/buffers.h"

namespace klab {

/// How far an output may be from the reference: |out - ref| <= unit·factor·magnitude + underflow +
/// stored·|ref|.
struct Tolerance {
  bool exact = false;        // the same bits
  bool zeros_alike = false;  // where exact: 0 and -0 are the same
  double unit = 0;           // unit roundoff of the variant's arithmetic
  double factor = 0;         // growth of `terms` roundings, in units of `unit`
  double root = 0;  // the same for the root of the mean square: what `factor` is to the worst of many
  double underflow =
      0;  // operations whose result is denormal err by half the smallest denormal, whatever its size
  double stored = 0;  // roundings on the way to memory, relative

  double bound(double magnitude, double reference) const {
    if (exact) return 0;
    const double arithmetic = unit * factor * magnitude + underflow;
    // What no arithmetic comes before is rounded once, and that both sides do alike: 16 bits of a number that is known exactly.
    // The reference may be infinite.
    return stored > 0 && magnitude > 0 ? arithmetic + stored * std::abs(reference) : arithmetic;
  }
};

double unit_roundoff(Unit unit);

/// The proven bound of n roundings of size u in a row, whatever they are: |prod (1+d_i)^±1 - 1| <= (1-u)^-n - 1 (Higham, Accuracy
/// and Stability, lemma 3.1), in units of u. Finite, so that terms that are all zero are held to zero.
double linear_growth(double n, double u);

/// Holds with probability 1 - 2·exp(-lambda²/2) when roundings behave as independent with mean zero (Higham
/// and Mary, A new approach to probabilistic rounding error analysis, 2019, theorem 2.4), in units of u.
/// Never above linear_growth.
double sqrt_growth(double n, double u, double lambda = 4);

/// The tolerance of a variant at one case. Inputs made to be hard are held to the proven bound.
Tolerance tolerance(const Numerics& numerics, double terms, bool hard, Element element);

/// Sums over one output tensor, from which relative L2 error, cosine and signed bias follow.
struct ErrorSums {
  double error2 = 0, reference2 = 0, magnitude2 = 0, got2 = 0;  // of squares
  double dot = 0;                                               // of got·reference
  double magnitude4 = 0;                                        // of fourth powers
  double error = 0, magnitude = 0;                              // plain
  double weighted = 0;                                          // of magnitude·|reference|
  int64_t count = 0;
};

/// One comparison's outcome.
struct Comparison {
  std::optional<Failure>
      failure;       // fault wrong_value or non_finite; the first wrong element, and what they form
  double worst = 0;  // largest error over its bound
  ErrorSums sums;
};

/// Compares tensor `spec`, as a variant left it, with the reference and its magnitudes (both in the
/// reference's view). Where the reference has NaN or an infinity, and `may_be_nan` says that inputs were such that it may,
/// the variant must have the same; without, such a reference is itself a failure.
Comparison compare(const TensorSpec& spec, const Buffer& got, const Buffer& reference,
                   const Buffer& magnitude, const Tolerance& tolerance, bool may_be_nan = false);

/// "[3,17]"
std::string index_text(int64_t flat, const Dims& dims);

/// How many elements are wrong and what they form: "all 64 elements", "row 3", "columns 60 to 63", "every
/// 4th". `wrong` holds flat indices, ascending.
std::string describe_wrong(const std::vector<int64_t>& wrong, const Dims& dims);

/// Enough digits to tell a float from its neighbors.
std::string digits(double value);

/// An element as text: whole numbers with all their digits, floats as digits() writes them. A buffer in the reference's view has
/// doubles where the tensor has floats.
std::string element_text(const TensorSpec& spec, const Buffer& buffer, int64_t i, bool reference);

}  // namespace klab
