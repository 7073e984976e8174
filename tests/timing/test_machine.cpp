// The machine record: complete, stable where it must be, and different where machines are.
// ctest: sanitized
#include "harness/timing/machine.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

namespace klab {
namespace {

TEST(Machine, KnowsWhatItRunsOn) {
  const Machine& m = this_machine();
  EXPECT_FALSE(m.processor.empty());
  EXPECT_NE(m.instruction_set, "Unknown");
  EXPECT_FALSE(m.instruction_set.empty());
  EXPECT_GE(m.cores, 1);
  EXPECT_GE(m.threads, m.cores);
  EXPECT_LE(m.threads, int(std::thread::hardware_concurrency()));
  EXPECT_GT(m.memory, 64 << 20);
  EXPECT_NE(m.compiler.find_first_of("0123456789"), std::string::npos) << m.compiler;
  EXPECT_NE(m.flags.find("-ffp-contract=off"), std::string::npos) << m.flags;
  EXPECT_FALSE(m.commit.empty());
  EXPECT_EQ(m.gpu, "none");
  EXPECT_GT(free_memory(), 0);
  EXPECT_LE(free_memory(), m.memory);
}

TEST(Machine, CachesGrowWithTheirLevel) {
  const Machine& m = this_machine();
  for (size_t i = 1; i < m.caches.size(); ++i) {
    EXPECT_GT(m.caches[i].level, m.caches[i - 1].level);
    EXPECT_GE(m.caches[i].bytes, m.caches[i - 1].bytes);
  }
  EXPECT_EQ(cache_bytes(m, 9), 0);
  EXPECT_GE(last_level_bytes(m), cache_bytes(m, 1));
}

TEST(Fingerprint, StaysOverWhatDrifts) {
  Machine m = this_machine();
  const std::string before = fingerprint(m);
  EXPECT_EQ(before.size(), 16U);
  EXPECT_EQ(before.find_first_not_of("0123456789abcdef"), std::string::npos);
  m.commit = "another";
  m.dirty = !m.dirty;
  m.os = "another kernel";
  m.memory += 1 << 20;  // what a kernel reserves for itself varies by as much
  m.libraries["oneDNN"] = "99";
  m.gpu_clocks = "1410 MHz";
  // The memory is rounded to the GiB; keep clear of the middle between two.
  m.memory = (m.memory >> 30) << 30;
  Machine other = m;
  other.memory += 1 << 20;
  EXPECT_EQ(fingerprint(m), fingerprint(other));
  m.memory = this_machine().memory;
  EXPECT_EQ(fingerprint(m), before);
}

TEST(Fingerprint, DiffersWhereSpeedMay) {
  const Machine base = this_machine();
  const std::function<void(Machine&)> changes[] = {[](Machine& m) { m.processor += "x"; },
                                                   [](Machine& m) { m.instruction_set += "x"; },
                                                   [](Machine& m) { ++m.cores; },
                                                   [](Machine& m) { ++m.threads; },
                                                   [](Machine& m) {
                                                     m.caches.push_back({4, 1, 1});
                                                   },
                                                   [](Machine& m) { m.memory *= 2; },
                                                   [](Machine& m) { m.huge_pages += "x"; },
                                                   [](Machine& m) { m.compiler += "x"; },
                                                   [](Machine& m) { m.flags += " -O1"; },
                                                   [](Machine& m) { m.gpu = "NVIDIA H200"; }};
  for (size_t i = 0; i < std::size(changes); ++i) {
    Machine m = base;
    changes[i](m);
    EXPECT_NE(fingerprint(m), fingerprint(base)) << "change " << i;
  }
}

TEST(Machine, JsonHasEveryField) {
  const auto j = to_json(this_machine());
  for (const char* key : {"fingerprint", "processor", "architecture", "instruction_set", "cores", "threads",
                          "caches", "memory_bytes", "huge_pages", "os", "compiler", "flags", "commit",
                          "dirty", "libraries", "gpu", "gpu_driver", "gpu_clocks"})
    EXPECT_TRUE(j.contains(key)) << key;
  EXPECT_EQ(j["fingerprint"], fingerprint(this_machine()));
}

}  // namespace
}  // namespace klab
