// What `klab step` says first of a wrong kernel.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/check/survey.h"
#include "harness/simt/modules.h"
#include "harness/step/diagnose.h"

namespace klab {

/// A planted mistake, and what its first sentence must say.
struct Planted {
  std::string mutant;
  std::string says;          // part of the sentence about its failing cases
  std::string mistake = {};  // first mistake that is named; empty: not tested
};

/// Checks a mutant, surveys its cases and tests the sentence and the first mistake.
inline void expect_first_sentence(const Planted& planted) {
  const Variant* variant = find_variant(planted.mutant);
  ASSERT_NE(variant, nullptr) << planted.mutant;
  const LabOp* op = find_op(variant->op);
  std::vector<int64_t> at;
  const auto result = check(*op, {&variant, 1},
                            {.max_failures = 1,
                             .gradients = false,
                             .done = {},
                             .at = [&](ShapeView shape) { at.assign(shape.begin(), shape.end()); }})
                          .variants.front();
  ASSERT_FALSE(result.failures.empty()) << planted.mutant << " passes";
  Answer a;
  a.failure = result.failures.front();
  a.outcome = a.failure->fault == Fault::crashed ? Outcome::crashes : Outcome::wrong;
  a.survey =
      survey(*op, *variant,
             {.shape = at, .inputs = a.failure->inputs, .watched = a.failure->fault == Fault::finding});
  Step step;
  static const Lab kNone{.id = "00_none"};
  step.lab = lab_of(variant->op) != nullptr ? lab_of(variant->op) : &kNone;
  step.op = op;
  step.parent = step.own = variant;
  const auto mistakes = diagnose(step, a);
  const std::string first = mistakes.empty() ? "" : mistakes.front().mistake;
  const std::string text = diagnosis_text(a, mistakes), sentence = text.substr(0, text.find('\n'));
  EXPECT_NE(sentence.find(planted.says), std::string::npos)
      << planted.mutant << " should say '" << planted.says << "', says '" << sentence << "' ("
      << a.survey->failed << " of " << a.survey->failed + a.survey->passed << " fail), "
      << failure_text(*a.failure);
  if (!planted.mistake.empty()) EXPECT_EQ(first, planted.mistake) << planted.mutant;
  // A barrier is no remedy where there are no threads.
  if (variant->backend == "cpu") EXPECT_NE(first, "missing barrier") << planted.mutant;
}

inline void load_cuda_mutants(const char* plain, const char* traced) {
  if (find_variant("transpose.cuda.80_missing_barrier") != nullptr) return;
  simt::load_module(plain, false);
  simt::load_module(traced, true);
}

}  // namespace klab
