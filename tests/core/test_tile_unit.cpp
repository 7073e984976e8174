// What processor and system answer about tiles, and what a person is told.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "harness/core/tile_unit.h"
#include "harness/core/timing_question.h"

namespace klab {
namespace {

using State = TileUnit::State;

constexpr TileAnswers kAll = {.tiles = true, .bf16 = true, .int8 = true, .saved = true};

TEST(TileUnit, IsUsableWhereProcessorAndSystemAgree) {
  const TileUnit unit = tile_unit_from(kAll);
  EXPECT_EQ(unit.state, State::usable);
  EXPECT_TRUE(unit.bf16);
  EXPECT_TRUE(unit.int8);
  EXPECT_EQ(unit.why, "");
}

TEST(TileUnit, NamesTheProcessorThatWouldBeNeeded) {
  const TileUnit unit = tile_unit_from({});
  EXPECT_EQ(unit.state, State::absent);
  EXPECT_FALSE(unit.bf16);
  EXPECT_NE(unit.why.find("needs a processor with AMX"), std::string::npos) << unit.why;
}

TEST(TileUnit, NamesTheSystemThatDoesNotSaveTiles) {
  TileAnswers answers = kAll;
  answers.saved = false;
  const TileUnit unit = tile_unit_from(answers);
  EXPECT_EQ(unit.state, State::refused);
  EXPECT_FALSE(unit.int8);
  EXPECT_NE(unit.why.find("Linux 5.16"), std::string::npos) << unit.why;
}

TEST(TileUnit, NamesTheCallThatWasRefusedAndItsError) {
  for (const auto& [error, text] :
       {std::pair{EPERM, "Operation not permitted"}, {EINVAL, "Invalid argument"}}) {
    TileAnswers answers = kAll;
    answers.error = error;
    const TileUnit unit = tile_unit_from(answers);
    EXPECT_EQ(unit.state, State::refused);
    EXPECT_NE(unit.why.find("arch_prctl"), std::string::npos) << unit.why;
    EXPECT_NE(unit.why.find(text), std::string::npos) << unit.why;
    EXPECT_NE(unit.why.find("seccomp"), std::string::npos) << unit.why;
  }
}

TEST(TileUnit, NamesSignalStacksThatAreTooSmall) {
  TileAnswers answers = kAll;
  answers.error = ENOSPC;
  const TileUnit unit = tile_unit_from(answers);
  EXPECT_EQ(unit.state, State::refused);
  EXPECT_NE(unit.why.find("signal stacks"), std::string::npos) << unit.why;
  EXPECT_EQ(unit.why.find("seccomp"), std::string::npos) << unit.why;
}

/// A hypervisor may pass on the tiles and hide a format of their products, whose instruction would end the program.
TEST(TileUnit, RefusesTilesThatLackAFormat) {
  for (const bool bf16 : {false, true}) {
    TileAnswers answers = kAll;
    (bf16 ? answers.int8 : answers.bf16) = false;
    const TileUnit unit = tile_unit_from(answers);
    EXPECT_EQ(unit.state, State::refused);
    EXPECT_FALSE(unit.bf16 || unit.int8);
    EXPECT_NE(unit.why.find(bf16 ? "AMX-INT8" : "AMX-BF16"), std::string::npos) << unit.why;
  }
}

TEST(TileUnit, ModelMayBeCheckedAndIsNeverTimed) {
  if (tile_unit().state != State::absent) GTEST_SKIP() << "this machine needs no model";
  Variant variant;
  variant.supported = [](ShapeView, const Host&) { return why_no_tiles(); };
  EXPECT_EQ(variant.supported({}, {}), "");
  EXPECT_EQ(supported_for_timing(variant, {}, {}), tile_unit().why);
  EXPECT_EQ(variant.supported({}, {}), "");
}

TEST(TileUnit, ForgetsTheModelsTilesWhenTheyAreReleased) {
  EXPECT_FALSE(holds_tiles());
  model_holds_tiles(true);
  EXPECT_TRUE(holds_tiles());
  release_tiles();
  EXPECT_FALSE(holds_tiles());
}

}  // namespace
}  // namespace klab
