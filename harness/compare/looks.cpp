#include "harness/compare/looks.h"

#include <algorithm>
#include <utility>

namespace klab {

Looks::Looks(int sessions, ComparisonOptions options) : options_(std::move(options)) {
  at_ = {std::max(1, sessions / 2), std::max(1, sessions * 3 / 4), sessions};
  options_.verdict.looks = int(at_.size());
}

CompareResult Looks::look(const Recording& base, const Recording& fresh) {
  CompareResult result = compare_runs(base, fresh, options_);
  open_.clear();
  for (Change& c : result.changes) {
    const std::string key = key_of(c);
    if (const auto at = decided_.find(key); at != decided_.end())
      c = at->second;
    else if (!c.failed.empty() || c.judgement.verdict != Verdict::undecided)
      decided_.emplace(key, c);
    else
      open_.insert(key);
  }
  return result;
}

}  // namespace klab
