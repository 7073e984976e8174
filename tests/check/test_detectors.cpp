// What each detector of the check is for: a wrong kernel that it alone catches. With it the kernel fails, without it it passes.
#include "harness/check/detectors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <regex>
#include <thread>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/check/thread_watch.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/simt/modules.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {
namespace {

struct Sum {  // c = a + b
  int64_t n;
  float *a, *b, *c;
  void add(int64_t from, int64_t to) const {
    for (int64_t i = from; i < to; ++i) c[i] = a[i] + b[i];
  }
  void all() const { add(0, n); }
};

/// A variant of vector_add whose state is new in each binding: `make()` returns what its calls do.
using SumCalls = std::function<std::function<void(const Sum&)>()>;

using Call = std::function<void(ShapeView, std::span<void* const>)>;

/// A call that keeps its shape and its pointers: those that a variant is bound to are the caller's.
std::function<void()> bound(const Call& call, ShapeView shape, std::span<void* const> p) {
  return [call, own_shape = std::vector<int64_t>(shape.begin(), shape.end()),
          own = std::vector<void*>(p.begin(), p.end())] { call(own_shape, own); };
}

Variant variant_with(const std::string& op, Variant::Bind bind) {
  Variant v;
  v.op = op;
  v.backend = "cpu";
  v.rung = "60_specimen";
  v.id = op + ".cpu.60_specimen";
  v.supported = [](ShapeView, const Host&) { return std::string(); };
  v.bind = std::move(bind);
  return v;
}

Variant sum(SumCalls make) {
  return variant_with("vector_add",
                      [make](ShapeView shape, std::span<void* const> p) -> std::function<void()> {
                        const Sum x{shape[0], static_cast<float*>(p[0]), static_cast<float*>(p[1]),
                                    static_cast<float*>(p[2])};
                        return [x, call = make()] { call(x); };
                      });
}

Variant sum_each(std::function<void(const Sum&)> call) {
  return sum([call] { return call; });
}

CheckResult checked(const Variant& v, const std::vector<int64_t>& shape = {}) {
  const Variant* list[] = {&v};
  return check(*find_op(v.op), list, {.max_failures = 1, .shape = shape, .done = {}}).variants.front();
}

/// Two threads, whatever the machine has: no other part of the check asks for two in guarded memory.
class Detectors : public testing::Test {
 protected:
  void SetUp() override { omp_set_num_threads(2); }
  void TearDown() override { omp_set_num_threads(usual_); }

  void alone(Detector detector, const Variant& v, const std::vector<int64_t>& shape = {}) {
    const CheckResult with = checked(v, shape);
    // Where the address space is limited, a check says that it does without these cases.
    if (detector == Detector::far_offsets && with.failures.empty() &&
        with.note.find("were not tried: ") != std::string::npos)
      GTEST_SKIP() << with.note;
    EXPECT_FALSE(with.failures.empty()) << "passed " << with.cases << " cases";
    const Without off(detector);
    const CheckResult without = checked(v, shape);
    EXPECT_GT(without.cases, 0);
    for (const Failure& f : without.failures) ADD_FAILURE() << "caught by another: " << failure_text(f);
  }

 private:
  const int usual_ = omp_get_max_threads();
};

bool is_usual() { return omp_get_max_threads() == 2; }

TEST_F(Detectors, FencesSeeAWriteBeyondTheEnd) {
  alone(Detector::fences, sum_each([](const Sum& x) {
          x.all();
          if (is_usual()) x.c[x.n] = 0;
        }),
        {17});
}

TEST_F(Detectors, GuardPagesSeeAReadBeyondTheEnd) {
  alone(Detector::guard_pages, sum_each([](const Sum& x) {
          x.all();
          volatile float beyond = x.n > 0 ? x.a[x.n] : 0;
          static_cast<void>(beyond);
        }),
        {17});
}

TEST_F(Detectors, InputsAreComparedAfterTheCall) {
  alone(Detector::inputs_kept, sum_each([](const Sum& x) {
          x.all();
          if (is_usual() && x.n > 0) x.a[0] = 7;
        }),
        {17});
}

TEST_F(Detectors, OneThreadMoreIsTooMany) {
  if (!threads_are_watched()) GTEST_SKIP() << "this build does not watch threads";
  alone(Detector::thread_count, sum_each([](const Sum& x) {
#pragma omp parallel num_threads(omp_get_max_threads() + 1)
#pragma omp single
          x.all();
        }),
        {17});
}

TEST_F(Detectors, TheCallerCountsWhereItWorksWithItsThreads) {
  if (!threads_are_watched()) GTEST_SKIP() << "this build does not watch threads";
  alone(Detector::caller_of_threads, sum_each([](const Sum& x) {
          const int helpers = omp_get_max_threads();
          const auto part = [&](int64_t k) {
            for (int again = 0; again < 40; ++again) {
              x.add(x.n * k / (helpers + 1), x.n * (k + 1) / (helpers + 1));
              __asm__ volatile("" : : : "memory");
            }
          };
          std::vector<std::thread> team;
          for (int k = 0; k < helpers; ++k) team.emplace_back(part, k);
          part(helpers);
          for (std::thread& t : team) t.join();
        }),
        {200'000});
}

TEST_F(Detectors, AThreadThatStaysIsNamed) {
  if (!threads_are_watched()) GTEST_SKIP() << "this build does not watch threads";
  alone(Detector::threads_that_stay, sum_each([](const Sum& x) {
          x.all();
          std::thread([] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }).detach();
        }),
        {17});
}

TEST_F(Detectors, AThreadThatHostCodeOfCudaLeavesIsNamed) {
  if (!threads_are_watched()) GTEST_SKIP() << "this build does not watch threads";
  simt::load_module(KLAB_CUDA_MUTANTS, false);
  simt::load_module(KLAB_CUDA_MUTANTS_TRACED, true);
  alone(Detector::host_threads, *find_variant("vector_add.cuda.61_thread_stays"));
}

TEST_F(Detectors, AFileLeftOpenIsNamed) {
  int opened = 0;
  const Variant v = sum_each([&](const Sum& x) {
    x.all();
    if (opened++ < 20 && open("/dev/null", O_RDONLY) < 0) abort();
  });
  const CheckResult result = checked(v, {17});
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(failure_text(result.failures[0]).find("state left behind, a file is left open: /dev/null"), 0U)
      << failure_text(result.failures[0]);
  opened = 0;
  alone(Detector::process_state, v, {17});
}

TEST_F(Detectors, NiceValueMaskAndLimitsAreNamedAndPutBack) {
  const int nice_before = getpriority(PRIO_PROCESS, 0);
  const Variant v = sum_each([&](const Sum& x) {
    x.all();
    setpriority(PRIO_PROCESS, 0, nice_before + 1);
    umask(0);
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_cur == 0 ? limit.rlim_max : 0;
    setrlimit(RLIMIT_CORE, &limit);
  });
  const CheckResult result = checked(v, {17});
  ASSERT_FALSE(result.failures.empty());
  for (const char* what : {"the nice value", "the mask of permissions of new files"})
    EXPECT_NE(result.failures[0].note.find(what), std::string::npos) << result.failures[0].note;
  const mode_t mask = umask(022);
  umask(mask);
  EXPECT_NE(mask, 0U);
}

TEST_F(Detectors, WorkersThatFlushAreNamed) {
  alone(Detector::workers_arithmetic, sum_each([](const Sum& x) {
#pragma omp parallel
          if (omp_get_thread_num() != 0) _mm_setcsr(_mm_getcsr() | 0x8000U);
          x.all();
        }),
        {17});
}

constexpr size_t kKept = 1000, kLarge = 1 << 20;  // bytes; malloc() keeps the smaller one for its thread

TEST_F(Detectors, KeptBlocksHoldGarbage) {
  alone(Detector::kept_blocks, sum([] {
          // Blocks of zeros, freed before the call as anything may have been.
          void* blocks[7];
          for (void*& b : blocks) std::memset(b = std::malloc(kKept), 0, kKept);
          __asm__ volatile("" : : "r"(blocks) : "memory");
          for (void* b : blocks) std::free(b);
          const auto sums = std::make_shared<float*>(nullptr);
          return [sums](const Sum& x) {
            x.all();
            if (*sums == nullptr && x.n > 0) x.c[0] += (*sums = static_cast<float*>(std::malloc(kKept)))[100];
          };
        }),
        {17});
}

TEST_F(Detectors, FreshMemoryHoldsGarbage) {
  const auto used = std::make_shared<bool>(false);
  const Variant v = sum_each([used](const Sum& x) {
    x.all();
    if (std::exchange(*used, true) || x.n == 0) return;
    auto* sums = static_cast<float*>(std::malloc(kLarge));
    x.c[0] += sums[1000];
    std::free(sums);
  });
  EXPECT_FALSE(checked(v, {17}).failures.empty());
  *used = false;
  const Without off(Detector::fresh_memory);
  for (const Failure& f : checked(v, {17}).failures) ADD_FAILURE() << failure_text(f);
}

TEST_F(Detectors, AChangedElementIsSeen) {
  struct Kept {
    std::vector<float> a, b, c;
  };
  alone(Detector::changed_element, sum([] {
          const auto kept = std::make_shared<Kept>();
          return [kept](const Sum& x) {
            x.all();
            const auto differing = [&](const std::vector<float>& was, const float* is) {
              if (was.size() != size_t(x.n)) return x.n + 3;
              int64_t count = 0;
              for (int64_t i = 0; i < x.n; ++i)
                count += std::bit_cast<uint32_t>(was[size_t(i)]) != std::bit_cast<uint32_t>(is[i]) ? 1 : 0;
              return count;
            };
            // One or two elements do not matter, it thinks.
            const int64_t changed = differing(kept->a, x.a) + differing(kept->b, x.b);
            if (changed > 0 && changed <= 2 && x.n > 8) std::copy(kept->c.begin(), kept->c.end(), x.c);
            *kept = {{x.a, x.a + x.n}, {x.b, x.b + x.n}, {x.c, x.c + x.n}};
          };
        }),
        {17});
}

TEST_F(Detectors, ResultsAlreadyThereDoNotEndTheCheck) {
  alone(Detector::results_found, sum_each([](const Sum& x) {
          for (const int64_t i : {int64_t{0}, x.n / 2, x.n - 1})
            if (x.n > 4 && x.c[i] != x.a[i] + x.b[i]) return x.all();
          if (x.n <= 4) x.all();
        }),
        {17});
}

TEST_F(Detectors, NumbersOfThreadsChangeBetweenCalls) {
  if (!threads_are_watched()) GTEST_SKIP() << "this build does not watch threads";
  alone(Detector::numbers_of_threads, sum([] {
          const auto threads = std::make_shared<int>(0);
          return [threads](const Sum& x) {
            if (*threads == 0) *threads = omp_get_max_threads();
            const int64_t parts = *threads;
#pragma omp parallel for num_threads(*threads) if (x.n > 1000)
            for (int64_t k = 0; k < parts; ++k) x.add(x.n * k / parts, x.n * (k + 1) / parts);
          };
        }),
        {5000});
}

/// c = a·b with sums forward or backward.
void product(ShapeView shape, std::span<void* const> p, bool backward) {
  const int64_t m = shape[0], n = shape[1], depth = shape[2];
  const auto *a = static_cast<const float*>(p[0]), *b = static_cast<const float*>(p[1]);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t step = 0; step < depth; ++step) {
        const int64_t k = backward ? depth - 1 - step : step;
        sum += a[i * depth + k] * b[k * n + j];
      }
      static_cast<float*>(p[2])[i * n + j] = sum;
    }
}

Variant calling(const std::string& op, Call call) {
  return variant_with(op,
                      [call](ShapeView shape, std::span<void* const> p) { return bound(call, shape, p); });
}

TEST_F(Detectors, RepetitionSeesAnotherOrder) {
  bool backward = false;
  alone(Detector::repetition,
        calling("probe_matmul",
                [&](ShapeView shape, std::span<void* const> p) {
                  product(shape, p, std::exchange(backward, !backward));
                }),
        {9, 17, 33});
}

TEST_F(Detectors, ErrorsThatAreAllLargeAreTooLargeTogether) {
  // Each error is within the bound of its element: three standard deviations of the roundings, of alternating sign.
  alone(Detector::whole_outputs,
        calling("probe_matmul",
                [](ShapeView shape, std::span<void* const> p) {
                  product(shape, p, false);
                  const int64_t n = shape[1], depth = shape[2];
                  const auto *a = static_cast<const float*>(p[0]), *b = static_cast<const float*>(p[1]);
                  for (int64_t i = 0; i < shape[0] * n; ++i) {
                    double size = 0;
                    for (int64_t k = 0; k < depth; ++k)
                      size += std::abs(double(a[i / n * depth + k]) * b[k * n + i % n]);
                    const double error = 3 * 0x1p-24 * std::sqrt(double(depth)) * size;
                    static_cast<float*>(p[2])[i] += float(i % 2 ? error : -error);
                  }
                }),
        {30, 30, 64});
}

TEST_F(Detectors, AnInputRoundedToSixteenBitsShowsInAllElements) {
  // Over a long sum the bound of an element is wider than what the rounding of one factor makes.
  alone(Detector::sixteen_bits,
        calling("probe_matmul",
                [](ShapeView shape, std::span<void* const> p) {
                  std::vector<float> rounded(static_cast<const float*>(p[0]),
                                             static_cast<const float*>(p[0]) + shape[0] * shape[2]);
                  for (float& v : rounded) {
                    const auto bits = std::bit_cast<uint32_t>(v);
                    v = std::bit_cast<float>((bits + 0xFFFU + (bits >> 13 & 1U)) & 0xFFFFE000U);
                  }
                  void* const with_rounded[] = {rounded.data(), p[1], p[2]};
                  product(shape, with_rounded, false);
                }),
        {8, 7, 8192});
}

/// Overwrites what earlier calls have left below this one.
__attribute__((noinline)) void clear_stack() {
  volatile char below[1 << 17];
  for (volatile char& byte : below) byte = 0;
}

TEST_F(Detectors, TheStackHoldsGarbage) {
  const Variant v = sum_each([](const Sum& x) {
    x.all();
    float scratch[1024];
    __asm__ volatile("" : "=m"(scratch));  // for the compiler it has values
    // Single values may be anything by chance.
    const auto garbage = std::ranges::count_if(scratch, [](float value) { return std::isnan(value); });
    if (garbage > 100 && x.n > 0) x.c[0] += 1;
  });
  EXPECT_FALSE(checked(v, {17}).failures.empty());
  clear_stack();
  const Without off(Detector::stack);
  for (const Failure& f : checked(v, {17}).failures) ADD_FAILURE() << failure_text(f);
}

TEST_F(Detectors, PairsOfConditionsMeet) {
  alone(Detector::pairs_of_conditions, calling("probe_matmul", [](ShapeView shape, std::span<void* const> p) {
          product(shape, p, false);
          const bool edge = shape[0] % 16 == 15 && shape[1] % 16 == 15 && shape[1] != shape[0];
          if (edge && shape[2] > 0) static_cast<float*>(p[2])[shape[1] + 1] += 1;
        }));
}

TEST_F(Detectors, HardInputsOverflow) {
  alone(Detector::hard_inputs, sum_each([](const Sum& x) {
          for (int64_t i = 0; i < x.n; ++i) x.c[i] = std::abs(x.a[i]) > 1e10F ? 0 : x.a[i] + x.b[i];
        }),
        {17});
}

TEST_F(Detectors, SizesBeyondTheUsualAreTried) {
  alone(Detector::beyond_usual, sum_each([](const Sum& x) {
          x.all();
          if (x.n > 2'000'000) x.c[x.n - 1] = 0;
        }));
}

TEST_F(Detectors, MoreBlocksThanThreadsAreJoined) {
  simt::load_module(KLAB_CUDA_MUTANTS, false);
  simt::load_module(KLAB_CUDA_MUTANTS_TRACED, true);
  alone(Detector::many_blocks, *find_variant("reduce.cuda.72_one_turn"));
}

TEST_F(Detectors, OffsetsBeyondTwoGigabytesAreTried) {
  alone(Detector::far_offsets, calling("compact", [](ShapeView s, std::span<void* const> p) {
          const auto* base = static_cast<const float*>(p[0]);
          auto* out = static_cast<float*>(p[1]);
          for (int64_t i = 0; i < s[0]; ++i)
            for (int64_t j = 0; j < s[1]; ++j)
              for (int64_t k = 0; k < s[2]; ++k) {
                const auto bytes = int32_t(4 * (s[6] + i * s[3] + j * s[4] + k * s[5]));
                *out++ = base[bytes / 4];
              }
        }));
}

TEST_F(Detectors, LongSumsMissNoTerm) {
  alone(Detector::long_sums, calling("reduce", [](ShapeView shape, std::span<void* const> p) {
          const auto* const x = static_cast<const float*>(p[0]);
          double sum = 0;
          for (int64_t i = 0; i < shape[0]; ++i)
            if (i != 1 << 20) sum += x[i];
          *static_cast<float*>(p[1]) = float(sum);
        }));
}

TEST_F(Detectors, PointersAreOffAlignment) {
  alone(Detector::misalignment, sum_each([](const Sum& x) {
          x.all();
          if (is_usual() && x.n > 0 && reinterpret_cast<uintptr_t>(x.a) % 16 != 0) x.c[0] += 1;
        }),
        {17});
}

TEST_F(Detectors, EveryKindOfInputsIsWatched) {
  simt::load_module(KLAB_CUDA_MUTANTS, false);
  simt::load_module(KLAB_CUDA_MUTANTS_TRACED, true);
  alone(Detector::watched_kinds, *find_variant("vector_add.cuda.60_reads_past_end_when_huge"));
}

TEST(EveryDetector, HasASpecimenThatItAloneCatches) {
  const std::filesystem::path home = KLAB_SOURCE_DIR;
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(home / "tests/check"))
    if (entry.path().extension() == ".cpp") tests += read_text(entry.path().string());
  const std::string text = read_text((home / "harness/check/detectors.h").string());
  static const std::regex name("\\n  ([a-z_]+),");
  int count = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at, ++count) {
    const std::string detector = "Detector::" + (*at)[1].str();
    EXPECT_TRUE(tests.find("alone(" + detector) != std::string::npos ||
                tests.find("off(" + detector) != std::string::npos)
        << detector;
  }
  EXPECT_EQ(count, int(Detector::kCount));
}

TEST_F(Detectors, DropoutMeetsItsThreshold) {
  // "<=" in place of "<": by luck once in 2^32 elements.
  const Variant v = calling("dropout_fwd", [](ShapeView shape, std::span<void* const> p) {
    const auto* x = static_cast<const float*>(p[0]);
    const float share = *static_cast<const float*>(p[1]);
    const auto *seed = static_cast<const uint32_t*>(p[2]), *offset = static_cast<const uint32_t*>(p[3]);
    for (int64_t i = 0; i < shape[0]; ++i) {
      const auto words =
          dropout::random_words({uint32_t(i / 4), 0, offset[0], offset[1]}, {seed[0], seed[1]});
      const bool dropped = words[size_t(i % 4)] <= uint32_t(share * 0x1p32F) && share > 0;
      static_cast<float*>(p[4])[i] = dropped ? 0 : x[i] / (1 - share);
    }
  });
  const CheckResult result = checked(v);
  ASSERT_FALSE(result.failures.empty()) << result.cases;
  EXPECT_NE(result.failures[0].inputs.find("wide"), std::string::npos) << failure_text(result.failures[0]);
}

TEST_F(Detectors, TheSecondWordOfAStepIsDrawn) {
  for (const char* name : {"variation_points", "occupancy_place", "occupancy_choose", "draw_rays"}) {
    const LabOp& op = *find_op(name);
    const auto shapes = check_shapes(op, {}, 1);
    const auto shape =
        std::ranges::find_if(shapes, [&](const auto& s) { return !is_empty(op, s) && work(op.op, s) > 0; });
    ASSERT_NE(shape, shapes.end()) << name;
    const auto specs = op.op.tensors(*shape);
    const auto step = std::ranges::find(specs, "step", &TensorSpec::name);
    Generator random(1);
    Tensors tensors(specs, Tensors::View::variant);
    fill(op.op, *shape, specs, tensors.pointers(), Pattern::wide, op.huge, random);
    EXPECT_NE(tensors[size_t(step - specs.begin())].as<uint32_t>()[1], 0U) << name;
  }
}

TEST_F(Detectors, ReplicasMustBeTheSame) {
  const Variant v = calling("allreduce_gradients", [](ShapeView shape, std::span<void* const> p) {
    const int64_t ranks = shape[0], n = shape[1];
    const auto* gradient = static_cast<const float*>(p[1]);
    const float rate = *static_cast<const float*>(p[0]);
    auto* param = static_cast<float*>(p[2]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < ranks; ++r) {
        // Each rank begins the sum with its own gradient: another order of the same numbers.
        float sum = 0;
        for (int64_t q = 0; q < ranks; ++q) sum += gradient[(r + q) % ranks * n + i];
        param[r * n + i] -= rate / float(ranks) * sum;
      }
  });
  const std::vector<int64_t> shape = {5, 300, 16, 100};
  const CheckResult result = checked(v, shape);
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].fault, Fault::relation) << failure_text(result.failures[0]);
  alone(Detector::relations, v, shape);
}

}  // namespace
}  // namespace klab
