// A device for programs whose arrays stay in the host's memory: what is carried, what stays there, and what a lost device leaves.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/core/registry.h"
#include "harness/program/carried_backend.h"
#include "harness/program/run_ops.h"
#include "reference/axpy/axpy.h"

namespace klab {
namespace {

/// A device with memory of its own, which is the host's, and what was done with it.
struct Device {
  std::map<void*, size_t> rooms;
  int64_t uploads = 0, uploaded = 0, calls = 0;
  int64_t lost_at = -1;  // the call that fails, and all later ones

  Backend backend(bool knows_its_room) {
    Backend b = cpu_backend();
    b.name = "device";
    b.in_host_memory = b.exact = false;
    b.alloc = [this, alloc = b.alloc](size_t bytes, const std::string& name) {
      void* p = alloc(bytes, name);
      rooms[p] = bytes;
      return p;
    };
    b.free = [this, release = b.free](void* p, size_t bytes) {
      EXPECT_EQ(rooms.at(p), bytes);
      rooms.erase(p);
      release(p, bytes);
    };
    b.upload = [this, upload = b.upload](void* to, const void* from, size_t bytes) {
      EXPECT_TRUE(holds(to, bytes));
      ++uploads;
      uploaded += int64_t(bytes);
      upload(to, from, bytes);
    };
    b.bind = [this, bind = b.bind](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
      for (void* p : pointers) EXPECT_TRUE(p == nullptr || holds(p, 1)) << v.id << " got memory of the host";
      return [this, work = bind(v, shape, pointers)] {
        if (lost_at >= 0 && calls++ >= lost_at) throw std::runtime_error("the device is lost");
        work();
      };
    };
    if (knows_its_room) b.available = [] { return int64_t(1) << 30; };
    return b;
  }
  bool holds(const void* at, size_t bytes) const {
    for (const auto& [begin, size] : rooms)
      if (at >= begin && static_cast<const char*>(at) + bytes <= static_cast<const char*>(begin) + size)
        return true;
    return false;
  }
};

const Plan& axpy_plan() {
  static CallTimes times;
  static const Plan plan =
      Plan::named("naive", std::vector<PlannedCall>{planned<Axpy>({.n = 8}, "8 numbers")}, times);
  return plan;
}

/// Runs y += a·x on the device.
void add(RunOps& ops, float a, const float* x, float* y, int64_t n) {
  Profile profile;
  ops.run("axpy", axpy_plan(), profile, [&](Ops& o) { o.call<Axpy>({.n = n}, {.a = &a, .x = x, .y = y}); });
}

TEST(CarriedBackend, CallsSeeTheHostsArraysAsTheyAreNow) {
  for (const bool keeps : {false, true}) {
    Device device;
    {
      Memory memory(carried_backend(device.backend(keeps)));
      RunOps ops(memory);
      std::vector<float> x = {1, 2, 3}, y = {10, 20, 30};
      add(ops, 2, x.data(), y.data(), 3);
      EXPECT_EQ(y, (std::vector<float>{12, 24, 36}));
      x = {5, 5, 5, 5};  // the host changes them, and how many there are
      y = {0, 0, 0, 1};
      add(ops, 1, x.data(), y.data(), 4);
      EXPECT_EQ(y, (std::vector<float>{5, 5, 5, 6}));
      EXPECT_EQ(device.rooms.empty(), !keeps) << "a device that watches has memory for the call alone";
    }
    EXPECT_TRUE(device.rooms.empty()) << "nothing is left there";
  }
}

TEST(CarriedBackend, ACallInPlaceHasOneTensor) {
  Device device;
  Memory memory(carried_backend(device.backend(true)));
  RunOps ops(memory);
  std::vector<float> y = {1, 2};
  add(ops, 3, y.data(), y.data(), 2);
  EXPECT_EQ(y, (std::vector<float>{4, 8}));
}

TEST(CarriedBackend, OnlyWhatACallReadsIsUploaded) {
  Device device;
  Memory memory(carried_backend(device.backend(true)));
  RunOps ops(memory);
  const std::vector<float> x(10, 1);
  std::vector<float> y(10);
  for (int step = 0; step < 3; ++step) add(ops, 1, x.data(), y.data(), 10);
  EXPECT_EQ(y, std::vector<float>(10, 3));
  EXPECT_EQ(device.uploaded, 3 * (4 + 40 + 40))
      << "the factor, what is added, and the sum that it is added to";
  EXPECT_EQ(device.rooms.size(), 3U) << "the memory of a call serves the next";
}

TEST(CarriedBackend, ALostDeviceLeavesTheLastCompleteCall) {
  Device device;
  device.lost_at = 1;
  Memory memory(carried_backend(device.backend(true)));
  RunOps ops(memory);
  const std::vector<float> x = {1, 1};
  std::vector<float> y = {0, 0};
  add(ops, 1, x.data(), y.data(), 2);
  EXPECT_THROW(add(ops, 1, x.data(), y.data(), 2), std::runtime_error);
  EXPECT_EQ(y, x);
}

TEST(CarriedBackend, ADeviceInTheHostsMemoryIsUsedAsItIs) {
  const Backend b = carried_backend(cpu_backend());
  EXPECT_EQ(b.name, "cpu");
  Memory memory(b);
  RunOps ops(memory);
  std::vector<float> x = {1}, y = {1};
  add(ops, 1, x.data(), y.data(), 1);
  EXPECT_EQ(y[0], 2);
}

}  // namespace
}  // namespace klab
