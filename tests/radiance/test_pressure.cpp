// The reaction to a shortage of memory, with made-up readings.
#include <gtest/gtest.h>

#include "labs/radiance/run/pressure.h"

namespace klab {
namespace {

constexpr int64_t kMega = 1000000;

/// Readings of a process with 1000 MB that could have `left` more.
struct Machine {
  int64_t left = 9000;  // MB
  double stalled = 0;
  Pressure pressure(PressureRule rule = {0.05, 0.25}) {
    return Pressure(rule, [this] { return MemoryReading{1000 * kMega, left * kMega, stalled}; });
  }
};

TEST(Pressure, CachesGoFirstAndThenTheBatch) {
  Machine machine;
  Pressure p = machine.pressure();
  EXPECT_EQ(p.measure(), Relief::none);
  machine.left = 40;  // of 1040: below 5 %
  EXPECT_EQ(p.measure(), Relief::drop_caches);
  EXPECT_EQ(p.measure(), Relief::shrink);
  EXPECT_EQ(p.measure(), Relief::shrink);
  EXPECT_EQ(p.text(), "40 MB left of 1.04 GB");
  machine.left = 100;  // neither short nor roomy
  for (int i = 0; i < 50; ++i) EXPECT_EQ(p.measure(), Relief::none);
  machine.left = 40;
  EXPECT_EQ(p.measure(), Relief::drop_caches);  // they have filled again
}

TEST(Pressure, GrowsBackOnlyAfterRoomForLongEnough) {
  Machine machine;
  Pressure p = machine.pressure();
  machine.left = 10;
  p.measure();
  EXPECT_EQ(p.measure(), Relief::shrink);
  machine.left = 9000;
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i < Pressure::kCalm; ++i) EXPECT_EQ(p.measure(), Relief::none) << i;
    EXPECT_EQ(p.measure(), Relief::grow);
  }
  for (int i = 1; i < Pressure::kCalm; ++i) p.measure();
  machine.left = 100;  // less room once: counted from the beginning
  EXPECT_EQ(p.measure(), Relief::none);
  machine.left = 9000;
  for (int i = 1; i < Pressure::kCalm; ++i) EXPECT_EQ(p.measure(), Relief::none) << i;
  EXPECT_EQ(p.measure(), Relief::grow);
}

TEST(Pressure, TreatsStallsAsShortage) {
  Machine machine;
  machine.stalled = 0.5;
  Pressure p = machine.pressure();
  EXPECT_EQ(p.measure(), Relief::drop_caches);
  EXPECT_EQ(p.measure(), Relief::shrink);
  EXPECT_NE(p.text().find("50 % of the time"), std::string::npos) << p.text();
}

TEST(Pressure, DoesNothingWhenOffOrUnknown) {
  Machine machine;
  machine.left = 1;
  Pressure off = machine.pressure({0, 0});
  EXPECT_EQ(off.measure(), Relief::none);
  machine.left = 0;
  Pressure unknown = machine.pressure();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(unknown.measure(), Relief::none);
}

TEST(Pressure, RefusesMalformedRules) {
  const PressureRule rule = pressure_rule_from("7.5:30");
  EXPECT_DOUBLE_EQ(rule.low, 0.075);
  EXPECT_DOUBLE_EQ(rule.high, 0.3);
  EXPECT_FALSE(rule.off());
  EXPECT_TRUE(pressure_rule_from("off").off());
  for (const char* text : {"", "5", "5:", ":5", "30:5", "5:5", "-1:5", "5:101", "nan:5", "5:25:30", "5 25"}) {
    try {
      pressure_rule_from(text);
      ADD_FAILURE() << "took '" << text << "'";
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("LOW:HIGH"), std::string::npos) << e.what();
    }
  }
}

TEST(Pressure, ReadsThisSystem) {
  const MemoryReading reading = memory_reading();
  EXPECT_GT(reading.resident, 0);
  EXPECT_GT(reading.available, 0);
  EXPECT_GE(reading.stalled, 0);
  EXPECT_LE(reading.stalled, 1);
}

}  // namespace
}  // namespace klab
