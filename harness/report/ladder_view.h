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
  std::string ceiling;           // of the resource that binds, which names the unit of rates; empty: bytes

  double work() const;                // of a call, in the unit of the ceiling: FLOP, values or bytes
  double rate(const Row& row) const;  // per second
  std::string unit() const { return giga_unit_of(ceiling); }
  double ceiling_per_second() const;                          // median of the rows; 0 without one
  std::string latency() const { return latency_text(rows); }  // why no ceiling is shown; empty: one is
  std::string resources() const;  // resources_text() of the first row that has them
  /// "37 % of transcendental f32", "latency", or empty.
  std::string share_text(const Row& row) const;
  bool timed() const;         // any of them
  std::string moved() const;  // moved_text() of the rounds
};

/// Rates of one op's ladders at several sizes, whatever binds at each: in FLOP/s when multiply-adds do at one, else in
/// B/s.
bool counts_flops(const std::vector<const LadderView*>& views);

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

/// "; at least 33 us (read L3 30 us, fma f32 23 us)": the time that the binding resource allows, and the others'.
std::string resources_text(const std::vector<Resource>& resources);

/// With a capital at its beginning and a full stop at its end.
std::string sentence(std::string text);

/// Text made safe for HTML and for attributes.
std::string escaped(const std::string& text);

}  // namespace klab
