// Judges a run that grows: at half, three quarters and all of its sessions, where each variant keeps its first verdict.
#pragma once

#include <map>
#include <set>
#include <string>

#include "harness/compare/comparison.h"

namespace klab {

class Looks {
 public:
  /// `sessions`: the most that the new run will have.
  Looks(int sessions, ComparisonOptions options);

  /// Returns whether the run is judged at this number of sessions.
  bool due(int sessions) const { return at_.count(sessions) != 0; }
  const std::set<int>& at() const { return at_; }

  /// Compares what there is, with the verdicts of earlier looks kept. Throws as compare_runs() does.
  CompareResult look(const Recording& base, const Recording& fresh);

  /// Returns the keys of rows that the last look left undecided.
  const std::set<std::string>& open() const { return open_; }

 private:
  ComparisonOptions options_;
  std::set<int> at_;
  std::map<std::string, Change> decided_;
  std::set<std::string> open_;
};

}  // namespace klab
