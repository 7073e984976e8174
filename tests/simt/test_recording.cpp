// What a recording holds of kernels that are known: the same counts as without it, sector by sector; banks, lanes, and time lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/simt/banks.h"
#include "harness/simt/profile.h"
#include "harness/simt/recording.h"
#include "harness/simt/session.h"
#include "harness/simt/timeline.h"
#include "tests/simt/counted_module.h"
#include "tests/simt/kernels/hopper_faults.h"

namespace klab {
namespace {

struct CountsOfRun {
  std::map<const void*, std::vector<int64_t>> sites;
  int64_t sectors = 0;
};

CountsOfRun run_counted(const std::string& name) {
  CountsOfRun result;
  const auto run = of_module<void (*)()>(("run_" + name).c_str());
  if (run == nullptr) {
    ADD_FAILURE() << "no run_" << name;
    return result;
  }
  simt::Session session({.traced = true});
  run();
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
  for (const simt::Site& s : session.profile().sites()) {
    const simt::Counts c = s.merged() ? s.as_merged() : s.counts;
    std::vector<int64_t>& sums = result.sites[s.pc];
    sums.insert(sums.end(), {int64_t(s.space), c.requests, c.lanes, c.sectors, c.wavefronts, c.conflicts(),
                             c.collisions});
    if (s.space == simt::Space::global) result.sectors += c.sectors;
  }
  return result;
}

const std::vector<std::string> kKernels = {
    "nested",         "branch",         "search",       "some_of_a_loop", "calls",
    "variables",      "constants",      "same_address", "histogram",      "float_sum",
    "shared_vectors", "wide_broadcast", "structures",   "uniform_load",   "skip_and_leave",
    "leave_within",   "wide_atomics",   "atomics",      "copied_ahead",   "copied_then_used",
    "unequal_warps"};

// Notes of a recording stand in the logs of lanes, and must not decide which lanes make a request together.
TEST(Recording, LeavesCountsAsTheyAreAndPutsEachSectorInItsArray) {
  for (const std::string& name : kKernels) {
    SCOPED_TRACE(name);
    const CountsOfRun plain = run_counted(name);
    simt::Recording recording;
    const CountsOfRun recorded = run_counted(name);
    recording.finish();
    EXPECT_EQ(plain.sites, recorded.sites);
    int64_t sectors = 0, by_access = 0;
    for (const simt::RecordedArray& a : recording.arrays())
      for (const simt::SectorUse& u : a.cells) {
        sectors += int64_t(u.reads) + u.writes + u.atomics;
        EXPECT_EQ(u.used, u.reads + u.writes + u.atomics > 0);
      }
    for (const simt::RecordedAccess& a : recording.accesses())
      if (a.space == simt::Space::global) by_access += a.counts.sectors;
    EXPECT_EQ(sectors, plain.sectors);
    EXPECT_EQ(by_access, plain.sectors);
    EXPECT_TRUE(recording.left_out().empty());
    EXPECT_GT(recording.bytes(), 0U);
    EXPECT_LT(recording.bytes(), simt::kMostRecordedBytes);
  }
}

struct LineOf {
  simt::Recording recording;
  simt::Timeline line;
};

void record(const std::string& name, LineOf& of) {
  run_counted(name);
  of.recording.finish();
  ASSERT_EQ(of.recording.blocks().size(), 1U);
  ASSERT_FALSE(of.recording.blocks()[0].cut);
  of.line = simt::timeline_of(of.recording.blocks()[0], of.recording.accesses());
}

TEST(Timeline, ShowsCopiesThatAreWaitedForAtOnceAsNotOverlapped) {
  LineOf of;
  record("copied_then_used", of);
  ASSERT_EQ(of.line.warps.size(), 2U);
  EXPECT_EQ(of.line.flights.size(), 2U * 6);
  for (const simt::Flight& f : of.line.flights) {
    EXPECT_TRUE(f.landed);
    EXPECT_EQ(f.bytes, 32U * 4);
    EXPECT_EQ(f.commit, f.land);
    EXPECT_EQ(f.overlapped, 0U);
  }
}

TEST(Timeline, ShowsCopiesInFlightWhileTheirWarpWorks) {
  LineOf of;
  record("copied_ahead", of);
  // Groups without copies are none; the last turn commits one.
  EXPECT_EQ(of.line.flights.size(), 2U * 6);
  for (const simt::Flight& f : of.line.flights) {
    EXPECT_TRUE(f.landed);
    if (f.group == 0) continue;
    EXPECT_GE(f.overlapped, 8U) << "the eight reads of the piece before";
  }
  const simt::Timeline::Overlap all = of.line.overlap(simt::FlightKind::copies);
  EXPECT_GT(2 * all.overlapped, all.steps);
}

TEST(Timeline, LetsTheFasterWarpWaitAtABarrier) {
  LineOf of;
  record("unequal_warps", of);
  uint32_t waits[2] = {}, loads[2] = {};
  for (size_t w = 0; w < 2; ++w)
    for (const simt::Span& s : of.line.warps[w]) {
      if (s.what == simt::Doing::waits) waits[w] += s.end - s.begin;
      if (s.what == simt::Doing::global && !of.recording.accesses()[size_t(s.access)].write)
        loads[w] += s.end - s.begin;
    }
  EXPECT_EQ(loads[0], 20U);
  EXPECT_EQ(loads[1], 1U);
  EXPECT_EQ(waits[0], 0U);
  EXPECT_GE(waits[1], 19U);
  // Eight of the second warp's lanes store.
  const auto store = std::ranges::find_if(of.recording.accesses(), &simt::RecordedAccess::write);
  ASSERT_NE(store, of.recording.accesses().end());
  EXPECT_EQ(store->fewest_lanes, 8U);
  EXPECT_EQ(store->most_lanes, 32U);
  EXPECT_TRUE(std::ranges::any_of(of.recording.code(), [](const auto& c) { return c.fewest_lanes == 8; }));
}

TEST(Recording, KeepsTheWorstRequestToTheBanks) {
  simt::Recording recording;
  run_counted("columns");
  recording.finish();
  std::vector<int64_t> passes;
  for (const simt::RecordedAccess& a : recording.accesses()) {
    if (a.space != simt::Space::shared || a.write) continue;
    EXPECT_EQ(a.worst.mask, ~0U);
    EXPECT_EQ(a.counts.wavefronts, a.counts.requests * a.worst.passes);
    std::map<uintptr_t, int> lanes_of_bank;
    for (const uintptr_t at : a.worst.address) ++lanes_of_bank[at / 4 % simt::kBanks];
    EXPECT_EQ(lanes_of_bank.size(), size_t(32 / a.worst.passes));
    passes.push_back(a.worst.passes);
  }
  std::ranges::sort(passes);
  EXPECT_EQ(passes, (std::vector<int64_t>{1, 32}));
}

// Four warps multiply what one thread of a fifth fetches by TMA into a ring of buffers.
TEST(Timeline, DrawsPhasesOfBarriersAndCopiesOfTheEngine) {
  using faults::Fault;
  const auto run = of_module<void (*)(int, int, const uint16_t*, const uint16_t*, float*)>("hopper_product");
  ASSERT_NE(run, nullptr);
  constexpr int kSlices = 6;
  const std::vector<uint16_t> a(64 * 64 * kSlices), b(128 * 64 * kSlices);
  std::vector<float> c(64 * 128);
  simt::Recording recording;
  simt::Session session({.traced = true});
  run(int(Fault::none), kSlices, a.data(), b.data(), c.data());
  EXPECT_TRUE(session.findings().empty());
  recording.finish();
  ASSERT_EQ(recording.blocks().size(), 1U);
  const simt::Timeline t = simt::timeline_of(recording.blocks()[0], recording.accesses());
  size_t engine = 0, products = 0;
  for (const simt::Flight& f : t.flights) {
    engine += f.kind == simt::FlightKind::engine;
    products += f.kind == simt::FlightKind::products;
    EXPECT_TRUE(f.landed || f.kind == simt::FlightKind::stores);
    EXPECT_LE(f.commit, f.land);
  }
  EXPECT_GE(engine, size_t(kSlices));
  EXPECT_GE(products, size_t(4));
  EXPECT_GT(t.overlap(simt::FlightKind::engine).overlapped, 0U);
  std::map<int, uint32_t> ended;
  for (const simt::BarrierPhase& p : t.phases) {
    EXPECT_GE(p.end, p.first);
    EXPECT_GE(p.end, ended[p.barrier]) << recording.blocks()[0].barriers[size_t(p.barrier)];
    ended[p.barrier] = p.end;
  }
  EXPECT_GT(ended.size(), 1U);
}

TEST(Recording, EndsWithFinishAndNests) {
  EXPECT_EQ(simt::Recording::current(), nullptr);
  simt::Recording outer;
  {
    simt::Recording inner;
    EXPECT_EQ(simt::Recording::current(), &inner);
    run_counted("branch");
    EXPECT_FALSE(inner.arrays().empty());
  }
  EXPECT_EQ(simt::Recording::current(), &outer);
  EXPECT_TRUE(outer.arrays().empty());
  outer.finish();
  EXPECT_EQ(simt::Recording::current(), nullptr);
  run_counted("branch");
  EXPECT_TRUE(outer.arrays().empty());
}

}  // namespace
}  // namespace klab
