// Which processors can run a program's vectors: the comparison made before anything else, with processors of all kinds.
// ctest: sanitized
#include "harness/core/instruction_sets.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <vector>

#include "harness/timing/machine.h"

namespace klab {
namespace {

constexpr int64_t avx512_processor = HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SSSE3 | HWY_SCALAR;
constexpr int64_t avx2_processor = HWY_AVX2 | HWY_SSE4 | HWY_SSSE3 | HWY_SCALAR;
constexpr int64_t old_processor = HWY_SSSE3 | HWY_SCALAR;

std::vector<VectorCode> built_for(std::initializer_list<int64_t> files) {
  std::vector<VectorCode> list;
  for (const int64_t targets : files) list.push_back({targets, 0});
  return list;
}

TEST(MissingTargets, NamesWhatTheProcessorLacks) {
  EXPECT_EQ(missing_targets(built_for({0, HWY_AVX3}), avx512_processor), 0);
  EXPECT_EQ(missing_targets(built_for({0, HWY_AVX3}), avx2_processor), HWY_AVX3);
  EXPECT_EQ(missing_targets(built_for({HWY_AVX2}), old_processor), HWY_AVX2);
}

TEST(MissingTargets, OneFileIsEnough) {
  EXPECT_EQ(missing_targets(built_for({HWY_AVX2, HWY_AVX3, HWY_AVX2}), avx2_processor), HWY_AVX3);
}

TEST(MissingTargets, AProgramForAllRunsEverywhere) {
  const auto all = built_for({HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SCALAR});
  for (const int64_t processor : {avx512_processor, avx2_processor, old_processor})
    EXPECT_EQ(missing_targets(all, processor), 0);
}

TEST(MissingTargets, VectorsOfOneLaneStandInOnlyWhereThereAreNoOthers) {
  const auto best_and_scalar = built_for({HWY_AVX3 | HWY_SCALAR});
  EXPECT_EQ(missing_targets(best_and_scalar, avx2_processor), HWY_AVX3 | HWY_SCALAR);
  EXPECT_EQ(missing_targets(best_and_scalar, old_processor), 0);
  EXPECT_EQ(missing_targets(built_for({HWY_SCALAR}), avx512_processor), 0) << "who asks for one lane gets it";
}

TEST(MissingTargets, FilesWithoutAChoiceCount) {
  const std::vector<VectorCode> files = {{HWY_SSE4, 0}, {HWY_AVX2, 1}};
  EXPECT_EQ(missing_targets(files, HWY_SSE4 | HWY_SCALAR), HWY_AVX2);
  EXPECT_EQ(common_targets(files), HWY_SSE4) << "but they do not decide what --isa takes";
}

TEST(CommonTargets, AreThoseOfEveryFile) {
  EXPECT_EQ(common_targets({}), 0);
  EXPECT_EQ(common_targets(built_for({0})), 0);
  EXPECT_EQ(common_targets(built_for({HWY_AVX3 | HWY_AVX2, 0, HWY_AVX2 | HWY_SSE4})), HWY_AVX2);
  EXPECT_EQ(common_targets(built_for({HWY_AVX3, HWY_AVX2})), HWY_AVX3 | HWY_AVX2);
}

TEST(Targets, HaveNames) {
  EXPECT_EQ(target_names(HWY_AVX2 | HWY_AVX3 | HWY_SCALAR), "AVX3, AVX2, SCALAR");
  EXPECT_EQ(target_of_name("AVX2"), HWY_AVX2);
  EXPECT_EQ(target_of_name("SCALAR"), HWY_SCALAR);
  for (const char* none : {"", "avx2", "Unknown", "AVX2 "}) EXPECT_EQ(target_of_name(none), 0) << none;
}

TEST(PretendBest, TakesAwayWhatIsBetter) {
  EXPECT_EQ(pretend_best(avx512_processor, "AVX2"), avx2_processor);
  EXPECT_EQ(pretend_best(old_processor, "AVX3"), old_processor) << "adds nothing";
  EXPECT_EQ(pretend_best(avx512_processor, "no such"), avx512_processor);
}

TEST(BuiltForAnotherProcessor, SaysWhatToBuild) {
  EXPECT_EQ(built_for_another_processor(HWY_AVX3 | HWY_SCALAR),
            "this program was built for AVX3 (AVX-512), which this processor does not have: build it again "
            "here, or with -DKLAB_ISAS=all");
  EXPECT_EQ(built_for_another_processor(HWY_SCALAR).find("built for SCALAR,"), 17U);
}

TEST(NoInstructionSet, SaysHowToGetOneThatIsNotBuilt) {
  const int64_t buildable = HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SCALAR;
  EXPECT_EQ(no_instruction_set("AVX2", HWY_AVX3, buildable, avx512_processor),
            "klab was built for AVX3 only; build all with cmake -DKLAB_ISAS=all (or KLAB_ISAS=AVX2)");
  // No build helps where the processor lacks it, and none is for a set that klab has no vectors for.
  EXPECT_EQ(no_instruction_set("AVX3", HWY_AVX2, buildable, avx2_processor),
            "no instruction set 'AVX3' here; there are AVX2");
  for (const char* none : {"SSSE3", "altivec", ""})
    EXPECT_EQ(no_instruction_set(none, HWY_AVX2, buildable, avx2_processor),
              "no instruction set '" + std::string(none) + "' here; there are AVX2");
}

}  // namespace
}  // namespace klab
