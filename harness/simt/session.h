// How CUDA variants are run on the host, and what was seen of them.
//
//   simt::Session session({.traced = true});
//   variant.bind(shape, pointers)();
//   for (const simt::Finding& f : session.findings()) ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/finding.h"

namespace klab::simt {

class Profile;

/// A block that takes more steps never ends. What is right takes a fraction of these: blocks are many.
inline constexpr uint64_t kTracedSteps = 50'000'000, kSteps = 1'000'000'000;

struct Options {
  bool traced = false;      // watch every access: findings and counts, at a tenth of the speed
  bool counts = true;       // traced: count requests, sectors and conflicts as well
  uint64_t seed = 1;        // order of blocks, warps and lanes, hence of atomics
  uint64_t step_limit = 0;  // branches, and accesses where traced, of one block; 0: kTracedSteps or kSteps
  int most_findings = 20;   // different ones that are kept
};

/// Of this host thread, until it ends; sessions nest, the innermost counts.
class Session {
 public:
  explicit Session(const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const { return options_; }
  const std::vector<Finding>& findings() const { return findings_; }
  void clear() { findings_.clear(); }
  void add(Finding finding);
  Profile& profile() { return *profile_; }

  /// The innermost of this thread; a plain untraced one where there is none.
  static Session& current();

 private:
  Options options_;
  std::vector<Finding> findings_;
  std::unique_ptr<Profile> profile_;
  Session* outer_;
};

}  // namespace klab::simt
