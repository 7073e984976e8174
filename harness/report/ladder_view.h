// Rows by ladder, as every part of the report walks over them.
#pragma once

#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/records/rows.h"

namespace klab {

/// One op at one size: the rows of its variants, in ladder order; branches behind the rung they hang at.
struct LadderView {
  std::string lab, op, size, shape, cache;
  int threads = 0;
  std::vector<const Row*> rows;  // shown: the trunk, the peers, and the branches that pay at this size
  std::vector<const Row*> all;   // those of the other branches, too
  bool flops = false;            // rates are in FLOP/s, else in B/s

  double work() const;                // FLOP or bytes of a call
  double rate(const Row& row) const;  // per second
  const char* unit() const { return flops ? "GFLOP/s" : "GB/s"; }
  bool timed() const;         // any of them
  std::string moved() const;  // moved_text() of the rounds
};

/// In the order of labs, ops and sizes. The rows stay where they are. `branches`: every branch is shown at every size.
std::vector<LadderView> ladder_views(const std::vector<Row>& rows, bool branches = false);

/// "04_cache_tile" of "matmul.cpu.04_cache_tile", with the backend before it when that is not cpu.
std::string short_name(const Row& row);

/// What the claims of a lab come to in these rows.
struct ClaimResult {
  const Claim* claim = nullptr;
  std::string size;               // where it was measured
  std::optional<Estimate> ratio;  // empty: this machine or build does not have both rungs
};
std::vector<ClaimResult> claim_results(const std::string& lab, const std::vector<LadderView>& ladders);

/// 0.123, 1.23, 12.3, 123, 1234.
std::string three_digits(double value);

/// Text made safe for HTML and for attributes.
std::string escaped(const std::string& text);

}  // namespace klab
