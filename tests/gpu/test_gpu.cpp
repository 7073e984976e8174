// The path to a GPU, with a stand-in: device memory of the host executor, a clock that the test sets.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness/check/check.h"
#include "harness/cli/check_apart.h"
#include "harness/gpu/gpu_run.h"
#include "harness/gpu/gpu_use.h"
#include "harness/records/gpu_record.h"
#include "harness/simt/runtime_api.h"
#include "harness/timing/gpu_timing.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

/// While it lives there is a GPU, and some variants are compiled for it.
class WithGpu : public testing::Test {
 protected:
  WithGpu() {
    gpu_ = {.name = "Stand-in",
            .driver = "0",
            .compute_capability = 90,
            .multiprocessors = 1,
            .memory = size_t(1) << 30,
            .l2 = size_t(1) << 20,
            .alloc =
                [this](size_t bytes) {
                  ++allocations_;
                  return simt::device_alloc(bytes, "tensor");
                },
            .free = [](void* p) { simt::device_free(p); },
            .alloc_pinned =
                [this](size_t bytes) {
                  ++pinned_;
                  return ::operator new(bytes);
                },
            .free_pinned = [](void* p) { ::operator delete(p); },
            .upload = [](void* d, const void* h, size_t n) { std::memcpy(d, h, n); },
            .download = [](void* h, const void* d, size_t n) { std::memcpy(h, d, n); },
            .synchronize = [] {},
            .begin = [this] { began_ = now_; },
            .end = [this] { return now_ - began_; }};
    stand_in(&gpu_);
  }
  ~WithGpu() override {
    for (Variant* v : compiled_) v->device = nullptr;
    stand_in(nullptr);
  }

  /// As if nvcc had compiled it: its host form runs instead, and takes `seconds`.
  const Variant* compile(const std::string& id, double seconds) {
    auto* v = const_cast<Variant*>(find_variant(id));
    v->device = [this, v, seconds](ShapeView shape,
                                   std::span<void* const> pointers) -> std::function<void()> {
      return [this, seconds, call = v->host(shape, pointers)] {
        call();
        now_ += seconds;
      };
    };
    compiled_.push_back(v);
    return v;
  }
  const Variant* compile_as(const std::string& id, Variant::Bind form) {
    auto* v = const_cast<Variant*>(find_variant(id));
    v->device = std::move(form);
    compiled_.push_back(v);
    return v;
  }

  Gpu gpu_;
  int allocations_ = 0, pinned_ = 0;
  double now_ = 0, began_ = 0;
  std::vector<Variant*> compiled_;
};

CheckResult check_there(const Variant* v) {
  return check(*find_op(v->op), {&v, 1}, {.max_failures = 1, .quick = true, .backend = "cuda", .done = {}})
      .variants.front();
}

TEST_F(WithGpu, RightVariantsPassTheCheck) {
  const CheckResult result = check_there(compile("transpose.cuda.03_padded", 1));
  EXPECT_TRUE(result.passed()) << (result.failures.empty() ? result.skipped : result.failures.front().note);
  EXPECT_GT(now_, 0) << "it did not run there";
}

TEST_F(WithGpu, SkipsVariantsNotCompiledForTheGpuWithAReason) {
  const CheckResult result = check_there(find_variant("transpose.cuda.03_padded"));
  EXPECT_EQ(result.skipped, "not compiled for a GPU (preset cuda)");
}

TEST_F(WithGpu, FencesCatchWritesPastATensor) {
  const Variant* v = compile_as("vector_add.cuda.01_one_each", [](ShapeView shape, std::span<void* const> p) {
    return [n = shape[0], a = static_cast<float*>(p[0]), b = static_cast<float*>(p[1]),
            c = static_cast<float*>(p[2])] {
      for (int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
      c[n] = 1;
    };
  });
  const CheckResult result = check_there(v);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures.front().fault, Fault::threw);
  EXPECT_EQ(result.failures.front().note, "c was written 0 bytes past its end");
}

TEST_F(WithGpu, ReportsTheDevicesErrorAsTheFailure) {
  const Variant* v = compile("vector_add.cuda.01_one_each", 1);
  gpu_.synchronize = [] { throw std::runtime_error("cudaErrorIllegalAddress: an illegal memory access"); };
  const CheckResult result = check_there(v);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_TRUE(result.failures.front().note.starts_with("cudaErrorIllegalAddress"));
}

// After a kernel that faulted a GPU refuses all that follows, memory first.
TEST_F(WithGpu, ErrorsAfterAFaultAreFailuresToo) {
  const Variant* v = compile("vector_add.cuda.01_one_each", 1);
  bool faulted = false;
  const auto alloc = gpu_.alloc;
  gpu_.alloc = [&, alloc](size_t bytes) {
    if (faulted) throw std::runtime_error("cudaErrorIllegalAddress in cudaMalloc");
    return alloc(bytes);
  };
  gpu_.synchronize = [&] {
    faulted = true;
    throw std::runtime_error("cudaErrorIllegalAddress in the kernel");
  };
  const LabOp& op = *find_op("vector_add");
  const CheckResult result =
      check(op, {&v, 1}, {.max_failures = 3, .backend = "cuda", .done = {}}).variants.front();
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures.front().note, "cudaErrorIllegalAddress in the kernel");
  for (const Failure& f : result.failures) EXPECT_EQ(f.fault, Fault::threw);
}

TEST_F(WithGpu, AVariantThatFaultsWhileItIsTimedIsNotTimed) {
  int calls = 0;
  const std::vector<const Variant*> list = {
      compile("transpose.cuda.01_naive", 0.001),
      compile_as("transpose.cuda.03_padded", [&](ShapeView, std::span<void* const>) {
        return [&] {
          now_ += 0.001;
          if (++calls > 100) throw std::runtime_error("a launch failed");
        };
      })};
  const auto series = time_on_gpu(*find_op("transpose"), {.name = "small", .shape = {64, 32}}, list,
                                  {.rounds = 9, .sample_seconds = 0.02});
  EXPECT_EQ(series[0].seconds.size(), 9U);
  EXPECT_TRUE(series[1].seconds.empty());
  EXPECT_TRUE(series[1].wrong.starts_with("threw in round ")) << series[1].wrong;
}

TEST_F(WithGpu, LaddersAreCheckedAndTimedOnTheDeviceAlone) {
  const std::vector<const Variant*> list = {
      compile("vector_add.cuda.01_one_each", 0.004),
      compile_as("vector_add.cuda.02_grid_stride", [](ShapeView, std::span<void* const>) { return [] {}; })};
  const Ladder ladder = bench(*find_op("vector_add"), {.name = "small", .shape = {1000}}, list,
                              {.rounds = 5, .sample_seconds = 0.02});
  EXPECT_TRUE(ladder.complete);
  ASSERT_EQ(ladder.series.size(), 2U);
  EXPECT_EQ(ladder.series[0].seconds.size(), 5U);
  EXPECT_TRUE(ladder.ceiling.empty()) << "none of the processor's is sampled";
  EXPECT_NE(ladder.series[1].wrong, "") << "it wrote nothing";
}

TEST_F(WithGpu, SlowVariantsGetFewerRounds) {
  const std::vector<const Variant*> list = {compile("transpose.cuda.01_naive", 0.5)};
  const auto series = time_on_gpu(*find_op("transpose"), {.name = "small", .shape = {8, 8}}, list,
                                  {.rounds = 15, .fewest_rounds = 5, .ladder_seconds = 7});
  EXPECT_EQ(series[0].seconds.size(), 7U);
}

TEST_F(WithGpu, VariantsAreTimedByTheDevicesClock) {
  const LabOp& op = *find_op("transpose");
  const std::vector<const Variant*> list = {compile("transpose.cuda.01_naive", 0.004),
                                            compile("transpose.cuda.03_padded", 0.001),
                                            find_variant("transpose.cuda.02_shared_tile")};
  const auto series =
      time_on_gpu(op, {.name = "small", .shape = {64, 32}}, list, {.rounds = 5, .sample_seconds = 0.02});
  ASSERT_EQ(series.size(), 3U);
  for (const double s : series[0].seconds) EXPECT_NEAR(s, 0.004, 1e-12);
  for (const double s : series[1].seconds) EXPECT_NEAR(s, 0.001, 1e-12);
  EXPECT_EQ(series[0].seconds.size(), 5U);
  EXPECT_NEAR(double(series[1].iterations), 20, 1);  // by a clock that adds up rounded numbers
  EXPECT_EQ(series[2].skipped, "not compiled for a GPU");
  EXPECT_EQ(allocations_, 2) << "hot: one set of tensors for all";
}

TEST_F(WithGpu, ColdTensorsTogetherExceedTheCache) {
  gpu_.l2 = 64 << 10;
  const std::vector<const Variant*> list = {compile("transpose.cuda.01_naive", 0.001)};
  const auto series =
      time_on_gpu(*find_op("transpose"), {.name = "cold", .shape = {64, 64}, .cache = Cache::cold}, list,
                  {.rounds = 2, .sample_seconds = 0.01});
  EXPECT_EQ(series[0].seconds.size(), 2U);
  const int sets = allocations_ / 2;
  EXPECT_GE(sets * 2 * 64 * 64 * 4, 4 * (64 << 10));
}

TEST_F(WithGpu, HostTensorsStayInHostMemory) {
  const std::vector<const Variant*> list = {compile("host_vector_add.cuda.01_pageable", 2e-6),
                                            compile("host_vector_add.cuda.02_pinned", 1e-6)};
  const LabOp& op = *find_op("host_vector_add");
  const auto series =
      time_on_gpu(op, {.name = "small", .shape = {1000}, .cache = Cache::cold}, list, {.rounds = 3});
  for (const Series& s : series) EXPECT_EQ(s.wrong + s.skipped, "") << s.variant;
  EXPECT_EQ(pinned_, 3) << "a, b and c, of the one variant that asks for it";
  const OnGpu there(true);
  for (const Variant* v : list)
    EXPECT_TRUE(check(op, {&v, 1}, {.backend = "cuda"}).variants[0].passed()) << v->id;
}

TEST_F(WithGpu, SkipsTooSlowVariants) {
  const std::vector<const Variant*> list = {compile("transpose.cuda.01_naive", 5)};
  const auto series = time_on_gpu(*find_op("transpose"), {.name = "small", .shape = {8, 8}}, list, {});
  EXPECT_NE(series[0].skipped.find("the cap is"), std::string::npos);
  EXPECT_TRUE(series[0].seconds.empty());
}

const char* const kProfiled =
    "==PROF== Connected to process 7 (klab)\n"
    "klab_variant_begins 1: a.cuda.01_x at n=4\n"
    "a.cuda.01_x ran once on a GPU at n=4\n"
    "klab_variant_begins 2: a.cuda.02_y at n=4 k=1\n"
    "\"ID\",\"Kernel Name\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
    "\"0\",\"klab_variant_begins\",\"(1, 1, 1)\",\"loads\",\"\",\"9\"\n"
    "\"1\",\"x(int)\",\"(8, 1, 1)\",\"loads\",\"\",\"1,024\"\n"
    "\"2\",\"klab_variant_begins\",\"(2, 1, 1)\",\"loads\",\"\",\"9\"\n"
    "\"3\",\"y(int)\",\"(8, 1, 1)\",\"loads\",\"\",\"5\"\n"
    "\"3\",\"y(int)\",\"(8, 1, 1)\",\"stores\",\"\",\"n/a\"\n"
    "\"4\",\"y(int)\",\"(8, 1, 1)\",\"loads\",\"\",\"6\"\n"
    "\"4\",\"y(int)\",\"(8, 1, 1)\",\"stores\",\"\",\"2\"\n";

TEST(GpuRecord, SplitsOneProfilerRunByVariant) {
  const GpuRecord record = read_gpu_record(kProfiled, "ncu.csv");
  ASSERT_EQ(record.size(), 2U);
  EXPECT_EQ(record.at("a.cuda.01_x"), (GpuCall{"n=4", {{"loads", 1024}}}));
  EXPECT_EQ(record.at("a.cuda.02_y"), (GpuCall{"n=4 k=1", {{"loads", 11}, {"stores", 2}}}));
  EXPECT_EQ(gpu_record_text(record),
            "variant,shape,loads,stores\na.cuda.01_x,n=4,1024,\na.cuda.02_y,n=4 k=1,11,2\n");
  EXPECT_EQ(read_gpu_record(gpu_record_text(record), "kept.csv"), record);
}

std::string refusal_of(const std::string& text) {
  try {
    read_gpu_record(text, "file.csv");
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(GpuRecord, ReportsWhereAFileIsCut) {
  const std::string all = kProfiled;
  EXPECT_EQ(refusal_of(all.substr(0, all.find("\"3\""))), "file.csv has no launch of a.cuda.02_y: cut?");
  EXPECT_EQ(refusal_of("variant,shape,loads\na.cuda.01_x,n=4\n"),
            "file.csv:2: 2 cells under 3 columns: cut?");
  EXPECT_EQ(refusal_of("variant,shape,loads\na.cuda.01_x,n=4,-1\n"), "file.csv:2: '-1' is no count");
  EXPECT_EQ(refusal_of("variant,shape,loads\na,n=4,1\na,n=4,1\n"), "file.csv:3: a stands there twice");
  EXPECT_NE(
      refusal_of("\"ID\",\"Metric Name\",\"Metric Value\"\n\"0\",\"loads\",\"1\"\n").find("names no variant"),
      std::string::npos);
}

TEST(CheckApart, ParsesTheOutputOfAProcess) {
  const CheckResult good = read_check(
      "a.cuda.01_x",
      R"({"ok":1,"seconds":0.5,"variants":[{"variant":"a.cuda.01_x","verdict":"ok","cases":7,"skipped_cases":1,"worst":0.25,"failures":[]}]})",
      0);
  EXPECT_TRUE(good.passed());
  EXPECT_EQ(good.cases, 7);
  const CheckResult bad = read_check(
      "a.cuda.01_x",
      R"({"variants":[{"variant":"a.cuda.01_x","cases":7,"worst":null,"failures":[{"fault":"CUDA finding","note":"race"}]}]})",
      256);
  ASSERT_EQ(bad.failures.size(), 1U);
  EXPECT_EQ(bad.failures.front().fault, Fault::finding);
  EXPECT_EQ(bad.failures.front().note, "race");
}

TEST(CheckApart, AProcessThatDiesIsAFailureOfItsVariant) {
  const CheckResult dead = read_check("a.cuda.01_x", "", 11);  // as wait(2) tells SIGSEGV
  ASSERT_EQ(dead.failures.size(), 1U);
  EXPECT_NE(dead.failures.front().note.find("Segmentation fault"), std::string::npos)
      << dead.failures.front().note;
  const CheckResult named = read_check(
      "a.cpu.01_x", "", 8,
      "noise\nklab: SIGFPE while checking a.cpu.01_x at n=17, huge inputs, pointers 1,3 elements off "
      "alignment\n");
  ASSERT_EQ(named.failures.size(), 1U);
  EXPECT_EQ(named.failures.front().fault, Fault::crashed);
  EXPECT_EQ(named.failures.front().inputs, "n=17, huge inputs, pointers 1,3 elements off alignment");
  const CheckResult other = read_check("a.cuda.01_x", "{\"variants\":[]}", 2 << 8);
  ASSERT_EQ(other.failures.size(), 1U);
  EXPECT_NE(other.failures.front().note.find("exit code 2"), std::string::npos);
}

/// NVIDIA's library of that name is found once it is loaded: here one that answers what the test wants.
TEST(GpuUse, IsWhatTheManagementLibrarySays) {
  const TempFolder folder;
  std::ofstream(folder / "nvml.c") << R"(
struct rates { unsigned gpu, memory; };
struct bytes { unsigned long long total, free, used; };
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { *device = (void*)(100ul + index); return index == 1 ? 0 : 2; }
int nvmlDeviceGetUtilizationRates(void* device, struct rates* r) { r->gpu = 73; r->memory = 5; return device == (void*)101ul ? 0 : 1; }
int nvmlDeviceGetMemoryInfo(void* device, struct bytes* b) { b->total = 8000; b->free = 7000; b->used = 1000; return 0; }
)";
  const std::string library = (folder / "libnvidia-ml.so.1").string();
  const std::string command = "cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o " + library + " " +
                              (folder / "nvml.c").string() + " 2>/dev/null";
  const bool made = std::system(command.c_str()) == 0;
  void* loaded = made ? dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (loaded == nullptr) GTEST_SKIP() << "no C compiler here";
  ::setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  const std::optional<GpuUse> use = gpu_use();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->busy, 0.73);
  EXPECT_EQ(use->used, 1000);
  EXPECT_EQ(use->memory, 8000);
}

}  // namespace
}  // namespace klab
