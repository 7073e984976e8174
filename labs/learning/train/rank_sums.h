// What the processes that train one classifier tell each other in a step: sums of gradients, and a few numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/program/memory.h"
#include "harness/program/tensors.h"
#include "labs/radiance/ranks/exchange.h"

namespace klab::learning {

class RankSums {
 public:
  /// A carrier of one rank: everything here does nothing.
  explicit RankSums(Carrier carrier);

  int rank() const { return carrier_.rank; }
  int size() const { return carrier_.size; }
  bool first() const { return carrier_.rank == 0; }

  /// Replaces n values in a program's memory by their sum over the ranks, in the order of the ranks, so that the bits are those of one
  /// process that computes the parts one after the other.
  void sum(Memory& memory, const Handle<float>& values, int64_t n);
  /// The same for an array of the host, times `scale`.
  void sum(std::span<float> values, float scale = 1);
  /// Returns the numbers of all ranks, those of rank 0 first, on every rank.
  std::vector<double> gather(std::span<const double> mine);
  /// Returns the arrays of all ranks one after the other, on the first rank; elsewhere nothing. `counts` are their lengths.
  std::vector<float> to_first(std::span<const float> mine, std::span<const int64_t> counts);

 private:
  Carrier carrier_;
  Exchange exchange_;
  std::vector<float> host_;
};

}  // namespace klab::learning
