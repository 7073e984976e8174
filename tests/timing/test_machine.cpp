// The machine record: complete, stable where it must be, and different where machines are.
// ctest: sanitized
#include "harness/timing/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "harness/gpu/gpu.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Files of /proc and /sys as a machine would have them.
class FakeSystem {
 public:
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  /// The same of each hardware thread that this process may use.
  void write_of_all(const std::string& path, const std::string& text) const {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    sched_getaffinity(0, sizeof usable, &usable);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &usable)) write("sys/devices/system/cpu/cpu" + std::to_string(i) + "/" + path, text);
  }
  Machine machine(const std::string& last_level = "") const {
    return machine_from(root_.string(), last_level);
  }

 private:
  const TempFolder own_;
  const fs::path root_ = own_.path();
};

void write_cache(const FakeSystem& system, int index, const std::string& level, const std::string& size) {
  const std::string folder = "cache/index" + std::to_string(index) + "/";
  system.write_of_all(folder + "type", "Unified\n");
  system.write_of_all(folder + "level", level + "\n");
  system.write_of_all(folder + "size", size + "\n");
  system.write_of_all(folder + "shared_cpu_list", "0-3,8\n");
}

std::string joined(const Machine& m) {
  std::string all;
  for (const std::string& text : m.assumed) all += text + "\n";
  return all;
}

TEST(Machine, IsReadFromTheFilesOfTheSystem) {
  const FakeSystem system;
  write_cache(system, 0, "2", "1024K");
  write_cache(system, 1, "3", "300M");
  system.write_of_all("topology/core_id", "0\n");
  system.write_of_all("topology/physical_package_id", "0\n");
  system.write("proc/meminfo", "MemTotal:       24000000 kB\n");
  system.write("proc/cpuinfo", "model name : A processor\n");
  const Machine m = system.machine();
  const std::vector<CacheLevel> expected = {{2, 1024 << 10, 5}, {3, 300 << 20, 5}};
  EXPECT_EQ(m.caches, expected);
  EXPECT_EQ(m.cores, 1) << "all share one core";
  EXPECT_EQ(m.memory, int64_t(24000000) << 10);
  EXPECT_EQ(m.processor, "A processor");
  EXPECT_TRUE(m.assumed.empty()) << joined(m);
  EXPECT_FALSE(m.cache_by_hand);
}

TEST(Machine, SaysWhatItAssumesWhereTheSystemTellsNothing) {
  const FakeSystem system;
  const Machine m = system.machine();
  EXPECT_TRUE(m.caches.empty());
  EXPECT_EQ(last_level_bytes(m), 32 << 20);
  EXPECT_EQ(m.cores, m.threads);
  EXPECT_GT(m.memory, 0) << "by the C library";
  ASSERT_EQ(m.assumed.size(), 3U) << joined(m);
  EXPECT_NE(m.assumed[0].find("KLAB_LAST_LEVEL_CACHE"), std::string::npos) << m.assumed[0];
  EXPECT_NE(m.assumed[1].find("core"), std::string::npos) << m.assumed[1];
  EXPECT_NE(m.assumed[2].find("MemTotal"), std::string::npos) << m.assumed[2];
  EXPECT_EQ(joined(m).find("\n\n"), std::string::npos) << "a line each";
  EXPECT_EQ(to_json(m)["assumed"].size(), 3U);
}

TEST(Machine, GarbageInTheSystemsFilesCountsAsNothing) {
  const char* const sizes[] = {"",        "garbage", "-32M", "0K", "99999999999999999999K", "9999999999999G",
                               "9999999G"};
  for (const char* size : sizes) {
    const FakeSystem system;
    write_cache(system, 0, "3", size);
    system.write_of_all("topology/core_id", "garbage\n");
    system.write("proc/meminfo", "MemTotal: garbage\n");
    const Machine m = system.machine();
    EXPECT_TRUE(m.caches.empty()) << size;
    EXPECT_EQ(m.cores, m.threads);
    EXPECT_GT(m.memory, 0);
    EXPECT_EQ(m.assumed.size(), 3U) << size << ":\n" << joined(m);
  }
  const FakeSystem system;
  write_cache(system, 0, "garbage", "32M");
  write_cache(system, 1, "99", "32M");
  system.write("proc/meminfo", "MemTotal: -5 kB\n");
  EXPECT_TRUE(system.machine().caches.empty());
  EXPECT_GT(system.machine().memory, 0);
}

TEST(CacheByHand, TakesThePlaceOfTheLastLevelAndIsSaid) {
  const FakeSystem system;
  write_cache(system, 0, "2", "4M");
  write_cache(system, 1, "3", "32M");
  for (const auto& [text, bytes] : {std::pair{"300MB", int64_t(300'000'000)},
                                    {"32 MB", int64_t(32'000'000)},
                                    {"1GB", int64_t(1'000'000'000)},
                                    {"2MiB", int64_t(2 << 20)}}) {
    const Machine m = system.machine(text);
    EXPECT_EQ(last_level_bytes(m), bytes) << text;
    EXPECT_EQ(cache_bytes(m, 2), std::min<int64_t>(bytes, 4 << 20)) << "no level is larger than the last";
    EXPECT_TRUE(m.cache_by_hand);
    EXPECT_EQ(to_json(m)["cache_by_hand"], true);
    EXPECT_NE(fingerprint(m), fingerprint(system.machine())) << "times of one are not times of the other";
  }
  const FakeSystem hidden;
  EXPECT_EQ(last_level_bytes(hidden.machine("300MB")), 300'000'000);
  EXPECT_EQ(hidden.machine("300MB").caches.size(), 1U);
}

TEST(CacheByHand, RefusesWhatIsNoSize) {
  const FakeSystem system;
  for (const char* bad :
       {"garbage", "300", "-300MB", "0MB", "1kB", "300 M", "2TB", "nanMB", "3e2MB", "300MB 1"}) {
    std::string message;
    try {
      system.machine(bad);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    EXPECT_TRUE(message.starts_with("KLAB_LAST_LEVEL_CACHE must be")) << bad << ": " << message;
    EXPECT_NE(message.find(bad), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Machine, IdentifiesTheMachine) {
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
  EXPECT_EQ(m.gpu == "none", gpu() == nullptr);
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

TEST(Fingerprint, IgnoresValuesThatDrift) {
  Machine m = this_machine();
  const std::string before = fingerprint(m);
  EXPECT_EQ(before.size(), 16U);
  EXPECT_EQ(before.find_first_not_of("0123456789abcdef"), std::string::npos);
  m.commit = "another";
  m.dirty = !m.dirty;
  m.os = "another kernel";
  m.memory += 1 << 20;  // the kernel's own reservation varies by as much
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
