// What a check varies from shape to shape: patterns of inputs, numbers of threads.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/fill.h"

namespace klab {

/// Shapes cheaper than this are tried with every pattern, aligned and not; larger ones with two patterns and either.
constexpr double kTryEverythingBelow = 1e4;

/// Sums of more terms than this get inputs in which one missing term shows.
constexpr double kLongSum = 1e4;

/// Random first, hard ones after: each run finds the outputs and inputs of the one before in its buffers.
std::vector<Pattern> patterns_for(const LabOp& op, const CheckOptions& options, double cost, size_t turn);

/// The same at shapes_beyond(): few, and other ones where sums are long.
std::vector<Pattern> patterns_beyond(const LabOp& op, ShapeView shape);

/// Orders the shapes that a variant divides among threads, the best one to try numbers of threads at first: the cheapest at which
/// each thread has something to do, and behind all of these the most expensive of the others.
struct DividedShape {
  bool little = false;  // to do for each thread
  double distance = 0;  // from the border between the two
  auto operator<=>(const DividedShape&) const = default;
};
DividedShape divided_shape(double work);

/// The numbers of threads that CPU variants are given besides all that there are: one, one that divides little, and more
/// than there are cores.
int other_threads(size_t turn);

}  // namespace klab
