// Steps of a classifier by CUDA rungs on the host executor next to the same steps by the processor's rungs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "harness/core/registry.h"
#include "harness/simt/modules.h"
#include "harness/simt/session.h"
#include "labs/learning/train/trainer.h"
#include "labs/radiance/train/backends.h"

namespace klab::learning {

/// How far two runs of a step in floats may be apart, as a share of a tensor's largest number: each of them is off by at most the
/// roundings of all its calls, one after the other. A contract says how many roundings an element of its outputs has.
inline double most_apart(const std::vector<PlannedCall>& calls) {
  constexpr double kRounding = 0x1p-24;
  double roundings = 0;
  for (const PlannedCall& c : calls) roundings += find_op(c.op)->op.terms(c.shape);
  return 2 * roundings * kRounding;
}

/// Makes the first step on the executor with every access watched, and compares loss and gradients with the processor's; then more
/// steps, whose losses must agree within a thousandth.
inline void expect_same_steps(const Dataset& data, const TrainerSettings& settings, int more) {
  const auto runs_there = [](const Variant& v) { return bool(v.host); };
  if (std::ranges::none_of(variants(), runs_there) || !simt::load_traced_variants())
    GTEST_SKIP() << "no CUDA rungs are built here, or none that is watched";
  const BackendChoice simt = backend_named("simt");
  // What is written outside a watch is not known to be set, so the network is built in it.
  std::optional<simt::Session> watch(std::in_place, simt::Options{.traced = true, .counts = false});
  Trainer here(data, settings), there(data, settings, simt.backend);
  CallTimes none(std::vector<CallTime>{});
  const std::vector<PlannedCall> calls = here.calls();
  here.use(Plan::named("naive", calls, none));
  there.use(Plan::named("naive", there.calls(), none, simt.ladder));
  const double apart = most_apart(calls);
  ASSERT_LT(apart, 0.02) << "a bound that no error exceeds";
  const double loss = here.step();
  EXPECT_NEAR(there.step(), loss, apart * loss);
  for (const simt::Finding& f : watch->findings()) ADD_FAILURE() << f.describe();
  watch.reset();
  there.network().memory().pull();
  const auto& expected = here.network().parameters().tensors();
  const auto& found = there.network().parameters().tensors();
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor &e = expected[i], &f = found[i];
    double largest = 0, off = 0;
    for (int64_t k = 0; k < e.size(); ++k) {
      largest = std::max(largest, std::abs(double(e.gradient[k])));
      off = std::max(off, std::abs(double(f.gradient[k]) - double(e.gradient[k])));
    }
    // A bias ahead of a normalization has no gradient but rounding: it is held to the whole network's.
    EXPECT_LE(off, apart * std::max(largest, 1e-3)) << e.name << ", largest " << largest;
  }
  for (int i = 1; i <= more; ++i) {
    const double now = here.step();
    EXPECT_NEAR(there.step(), now, 1e-3 * std::max(1.0, now)) << "step " << i;
  }
}

}  // namespace klab::learning
