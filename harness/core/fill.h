// The contents of test tensors: the patterns from which inputs are drawn.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/core/buffers.h"
#include "harness/core/op.h"

namespace klab {

/// How inputs are drawn. All patterns except `random` are hard on purpose: rounding errors do not behave like
/// a random walk there, so only the proven bound applies.
///
///              Draw::real                                       Draw::unit
/// random       standard normal                                  uniform
/// constant     one value a tensor: all roundings lean one way   one value a tensor: all samples in the same
/// cells
/// cancelling   large, signs alternating along every dimension   cell borders, k/2^j
/// denormal     about 1e-39, mixed with ordinary values          0, denormals, the first steps above 0
/// huge         up to the lab's `huge`                           0, 1/2 and the last values below 1
/// wide         another scale a tensor, including 0 and -0       uniform; the contract arranges
/// (Generator::widely)
/// not_finite   random, with NaN and infinities in the tensors that the lab's op names
/// sparse       in every other tensor whole numbers from -9 to 9 at four places, zeros elsewhere: no bound of a long sum
///              hides that one of them is missing
/// ones         1 and -1, whose sums are exact in any order up to 2^24
/// (the last two for Draw::real; others as random)
enum class Pattern { random, constant, cancelling, denormal, huge, wide, not_finite, sparse, ones };
/// The patterns that every op is tested with; `sparse` and `ones` are for long sums.
inline constexpr Pattern kPatterns[] = {Pattern::random,   Pattern::constant, Pattern::cancelling,
                                        Pattern::denormal, Pattern::huge,     Pattern::wide};
const char* name_of(Pattern pattern);
inline bool is_hard(Pattern pattern) { return pattern != Pattern::random; }

/// Draws inputs and accumulated tensors for the variants' view, then lets the contract arrange them. Outputs
/// are unchanged. Equal generators give equal tensors. `huge` bounds Pattern::huge.
void fill(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs,
          std::span<void* const> pointers, Pattern pattern, double huge, Generator& random);

/// Replaces about one in 64 elements, and at least one, of the tensors in `nan` by NaN, and of those in
/// `infinite` by infinities of both signs. Half of the time a quarter of the elements in `infinite` become zeros before: zero times
/// infinity is NaN, which kernels that skip zeros miss.
void plant_non_finite(const std::vector<TensorSpec>& specs, std::span<void* const> pointers,
                      std::span<const std::string> nan, std::span<const std::string> infinite,
                      Generator& random);

/// Copies inputs and accumulated tensors between views of one op, and converts f32 to f64 where needed.
/// Outputs are unchanged.
void copy_given(const std::vector<TensorSpec>& specs, const Tensors& from, Tensors& to);

/// Poisons the outputs.
void poison_outputs(const std::vector<TensorSpec>& specs, Tensors& tensors);

}  // namespace klab
