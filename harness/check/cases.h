// Which shapes an op is checked at.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/variant.h"

namespace klab {

/// What one run of an op costs, in units of about a nanosecond of a naive loop: its operations or its
/// elements moved, whichever is more.
double work(const Op& op, ShapeView shape);

/// The same of the rung that does most, which is what counts where the host executes threads one by one.
double busiest_work(const LabOp& op, ShapeView shape);

/// Whether that dimension is a parameter (LabOp::parameters), not a size.
bool is_parameter(const LabOp& op, size_t dimension);

/// Whether a size, not a parameter, is zero.
bool is_empty(const LabOp& op, ShapeView shape);

/// The sizes to try in each dimension, ascending: the lab's, and the tiles with their neighbors where it is no parameter.
std::vector<std::vector<int64_t>> check_sizes(const LabOp& op, std::span<const int64_t> tiles);

/// What the shapes of one check may cost together, roughly, in units of work().
constexpr double kBudget = 3e7;

/// Where the tensors of some shapes begin: 0 to kCoveredAlignments - 1 (covering.h).
using ShapeAlignments = std::map<std::vector<int64_t>, size_t>;

/// Shapes at which a variant with these tiles may go wrong. Every size the lab names and every tile with its
/// neighbors appears in every dimension at least once, combined with varied others; the rows of a covering array of
/// conditions (covering.h), which `alignments` gets, too; all dimensions
/// alike, and one large with the others small. Shapes that are not valid, or cost more than the lab allows,
/// are left out, and most are kept small: `budget` bounds their total work roughly. Depends on its arguments
/// only.
std::vector<std::vector<int64_t>> check_shapes(const LabOp& op, std::span<const int64_t> tiles, uint64_t seed,
                                               double budget = kBudget, ShapeAlignments* alignments = nullptr,
                                               bool all_triples = false);

/// Shapes past the limits that a kernel may take for granted, few and cheap: one dimension goes beyond 2^31, or as far
/// beyond 2^20, 2^16 (and 65,535 blocks) or 1024 as the tensors stay affordable, the others are small; and once a dimension to
/// 2^16 and one. Dimensions that are no sizes (a kind, a share) are left alone because no such value is valid.
std::vector<std::vector<int64_t>> shapes_beyond(const LabOp& op, uint64_t seed);

/// The shape with its dimensions, the largest first, made smaller until `cost` says at most `most`: halved (odd sizes stay
/// odd), or less by one where the dimension is a logarithm. A dimension that hardly changes the cost is left alone.
std::vector<int64_t> shrunk(const Op& op, std::vector<int64_t> shape, double most,
                            const std::function<double(ShapeView)>& cost);

/// The shapes of one check: those of check_shapes(); the sizes at which the branches among the variants pay, shrunk
/// to what a check can afford; and for each variant that is supported at fewer than eight of them, others that it does,
/// found by walking from a size that it is for towards the sizes of the lab. Only `asked`, when it is not empty. Throws
/// std::invalid_argument when that has the wrong number of dimensions or is not legal for the op.
std::vector<std::vector<int64_t>> shapes_of_check(const LabOp& op, std::span<const Variant* const> variants,
                                                  std::span<const int64_t> asked, uint64_t seed,
                                                  ShapeAlignments* alignments = nullptr,
                                                  bool all_triples = false);

/// `most` of the list at even distances, first and last among them; the whole list when it is no longer.
std::vector<std::vector<int64_t>> spread_over(const std::vector<std::vector<int64_t>>& list, size_t most);

/// Whether all sizes are multiples of four: whole vectors fit in every row.
bool is_round(const LabOp& op, ShapeView shape);

/// What the lab calls that size, in quotes: "in L1"; the shape's text where it has no name for it.
std::string size_text(const LabOp& op, ShapeView shape);

/// "m=17 n=33 k=1"
std::string shape_text(const Op& op, ShapeView shape);

}  // namespace klab
