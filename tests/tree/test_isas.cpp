// No ladder loses an instruction set: every rung with vectors runs on the best one of the processor that klab was built for, and
// AVX-512 is among them where the processor has it.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <map>
#include <string>

#include "harness/core/build_info.h"
#include "harness/core/instruction_sets.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/timing/machine.h"
#include "tests/tree/files.h"

namespace klab {
namespace {

/// The one that dynamic dispatch takes; with a single one there is no dispatch, and it is the same.
std::string runs_on(const Variant& v) {
  const int64_t usable = v.targets & hwy::SupportedTargets();
  return target_names(usable & -usable);
}

TEST(InstructionSets, FilesThatAreCompiledForEachStateThem) {
  size_t with_vectors = 0;
  for (const Variant& v : variants()) {
    if (v.backend != "cpu") continue;
    const bool vectors =
        read_text(tree::root / source_path(v)).find("kernels/common/simd.h\"") != std::string::npos;
    EXPECT_EQ(v.targets != 0, vectors) << v.id << " is compiled for '" << target_names(v.targets) << "'";
    with_vectors += size_t(vectors);
  }
  EXPECT_GT(with_vectors, 100U);
}

TEST(InstructionSets, EveryRungRunsOnTheOneThatTheMachineRecordNames) {
  std::map<std::string, int> rungs;
  for (const Variant& v : variants()) {
    if (v.targets == 0) continue;
    EXPECT_EQ(runs_on(v), this_machine().instruction_set) << v.id;
    ++rungs[runs_on(v)];
  }
  for (const auto& [set, count] : rungs) RecordProperty(set, count);
}

TEST(InstructionSets, NoRungLosesAvx512WhereTheProcessorHasIt) {
  const std::string& isa = build_info().isa;
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0) GTEST_SKIP() << "this processor has no AVX-512";
  if (!isa.empty() && isa != "all" && isa.find("AVX3") == std::string::npos)
    GTEST_SKIP() << "built for a chosen list: " << isa;
  for (const Variant& v : variants())
    if (v.targets != 0) EXPECT_EQ(runs_on(v), "AVX3") << v.id;
}

}  // namespace
}  // namespace klab
