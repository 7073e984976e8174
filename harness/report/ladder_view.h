// Rows grouped into ladders, for all parts of the report.
#pragma once

#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/records/rows.h"

namespace klab {

/// One op at one size: the rows of its variants in ladder order, with branches after the rung they belong to.
struct LadderView {
  std::string lab, op, size, shape, cache;
  int threads = 0;
  std::vector<const Row*> rows;  // shown rows: the trunk, the peers, and the branches that pay at this size
  std::vector<const Row*> all;   // all rows, including the other branches
  // name of the binding resource, which determines the unit of rates; empty: bytes
  std::string ceiling;

  double work() const;                // of one call, in the unit of the ceiling: FLOP, values or bytes
  double rate(const Row& row) const;  // per second
  std::string unit() const { return giga_unit_of(ceiling); }
  double ceiling_per_second() const;  // median over the rows; 0 if there is none
  // reason why no ceiling is shown; empty if one is
  std::string latency() const { return latency_text(rows); }
  std::string resources() const;  // resources_text() of the first row that has them
  /// Returns "37 % of transcendental f32", "latency", or an empty string.
  std::string share_text(const Row& row) const;
  bool timed() const;         // any row was timed
  std::string moved() const;  // moved_text() of the rounds
};

/// Returns the unit for the rates of one op's ladders at several sizes: FLOP/s if multiply-adds bind at one
/// of them, else B/s.
bool counts_flops(const std::vector<const LadderView*>& views);

/// Groups rows by lab, op and size, in that order. Keeps pointers to the rows. `branches` shows every branch
/// at every size.
std::vector<LadderView> ladder_views(const std::vector<Row>& rows, bool branches = false);

/// Shortens "matmul.cpu.04_cache_tile" to "04_cache_tile", prefixed with the backend if it is not cpu.
std::string short_name(const Row& row);

/// A lab's claim, evaluated on these rows.
struct ClaimResult {
  const Claim* claim = nullptr;
  std::string size;               // size at which it was measured
  std::optional<Estimate> ratio;  // empty if this machine or build lacks one of the rungs
};
std::vector<ClaimResult> claim_results(const std::string& lab, const std::vector<LadderView>& ladders);

/// Formats with three digits: 0.123, 1.23, 12.3, 123, 1234.
std::string three_digits(double value);

/// Formats the time that the binding resource allows, and the others': "; at least 33 us (read L3 30 us, fma
/// f32 23 us)".
std::string resources_text(const std::vector<Resource>& resources);

/// Capitalizes the text and adds a full stop.
std::string sentence(std::string text);

/// Escapes text for HTML and for attributes.
std::string escaped(const std::string& text);

}  // namespace klab
