// Normalization and dropout against facts that need no reference: published vectors of the generator, one
// mask on every backend, moments of outputs, sums of gradients that must vanish.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "harness/core/buffers.h"
#include "harness/core/call.h"
#include "harness/core/fill.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "kernels/common/philox.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"
#include "reference/dropout_bwd/dropout_bwd.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

namespace klab {
namespace {

std::vector<float> draw(int64_t n, float mean, float deviation, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}
std::vector<float> filled(int64_t n, float value = 0) {
  return std::vector<float>(static_cast<size_t>(n), value);
}
double mean_of(const float* x, int64_t n) { return std::accumulate(x, x + n, 0.0) / double(n); }

/// The known answers for philox4x32 of ten rounds that Random123 (Salmon et al.) publishes: counter, key, result.
struct Known {
  dropout::Counter counter;
  dropout::Key key;
  dropout::Counter words;
};
constexpr Known kKnown[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(Philox, GivesThePublishedWords) {
  for (const Known& k : kKnown) {
    EXPECT_EQ(dropout::random_words(k.counter, k.key), k.words);
    const uint64_t block = k.counter[0] | uint64_t{k.counter[1]} << 32;
    const PhiloxWords words = philox(block, k.key.data(), k.counter.data() + 2);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(words.w[i], k.words[i]) << i;
  }
}

TEST(Dropout, EveryVariantOnEveryBackendDropsTheSameElements) {
  const uint32_t seed[] = {12345, 67890}, offset[] = {7, 1};
  for (const float p : {0.0F, 0.25F, 0.3F, 0.999F})
    for (const int64_t n : {int64_t{1}, int64_t{6}, int64_t{4099}}) {
      auto x = filled(n, 1), y = filled(n);
      const std::vector<void*> pointers{x.data(), const_cast<float*>(&p), const_cast<uint32_t*>(seed),
                                        const_cast<uint32_t*>(offset), y.data()};
      int tried = 0;
      for (const char* op : {"dropout_fwd", "dropout_bwd"})
        for (const char* backend : {"cpu", "cuda"})
          for (const Variant* v : variants_of(op, backend)) {
            ++tried;
            std::fill(y.begin(), y.end(), -1.0F);
            v->bind(std::vector<int64_t>{n}, pointers)();
            for (int64_t i = 0; i < n; ++i)
              ASSERT_EQ(y[size_t(i)] != 0, DropoutFwd::keeps(p, seed, offset, i))
                  << v->id << ' ' << p << ' ' << i;
          }
      EXPECT_GE(tried, 8);
    }
}

TEST(Dropout, KeepsTheShareAndTheExpectation) {
  const uint32_t seed[] = {1, 2};
  const int64_t n = 100000;
  int64_t both = 0;
  for (const uint32_t call : {0U, 1U}) {
    const uint32_t offset[] = {call, 0};
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) kept += DropoutFwd::keeps(0.3F, seed, offset, i);
    EXPECT_NEAR(double(kept) / double(n), 0.7, 5 * std::sqrt(0.3 * 0.7 / double(n)));
  }
  // Two calls are independent of each other.
  const uint32_t first[] = {0, 0}, second[] = {1, 0};
  for (int64_t i = 0; i < n; ++i)
    both += DropoutFwd::keeps(0.3F, seed, first, i) && DropoutFwd::keeps(0.3F, seed, second, i);
  EXPECT_NEAR(double(both) / double(n), 0.49, 5 * std::sqrt(0.49 * 0.51 / double(n)));
}

TEST(Layernorm, EveryVariantIsAccurateForMeansFarAboveTheDeviation) {
  const int64_t n = 5, c = 1000;
  auto x = draw(n * c, 4000, 1, 3);
  auto ones = filled(c, 1), zeros = filled(c), y = filled(n * c), mean = filled(n), rstd = filled(n);
  float epsilon = 1e-5F;
  const std::vector<void*> pointers{x.data(), ones.data(), zeros.data(), &epsilon,
                                    y.data(), mean.data(), rstd.data()};
  for (const char* backend : {"cpu", "cuda"})
    for (const Variant* v : variants_of("layernorm_fwd", backend)) {
      if (v->peer) continue;
      v->bind(std::vector<int64_t>{n, c}, pointers)();
      for (int64_t i = 0; i < n; ++i) {
        const float* row = y.data() + i * c;
        double squares = 0;
        for (int64_t j = 0; j < c; ++j) squares += double(row[j]) * row[j];
        EXPECT_NEAR(mean_of(row, c), 0, 1e-2) << v->id;
        EXPECT_NEAR(squares / double(c), 1, 1e-3) << v->id;
      }
    }
}

TEST(Layernorm, GradientsVanishAlongShiftAndScale) {
  const int64_t n = 4, c = 333;
  auto x = draw(n * c, 2, 3, 1), d_y = draw(n * c, 1, 1, 2), gamma = draw(c, 1, 0.5, 3);
  auto beta = filled(c), y = filled(n * c), mean = filled(n), rstd = filled(n);
  auto d_x = filled(n * c), d_gamma = filled(c), d_beta = filled(c);
  const float epsilon = 1e-12F;  // negligible
  const LayernormFwd::Shape shape{n, c};
  for (const Variant* v : variants_of("layernorm_bwd", "cpu")) {
    call<LayernormFwd>(
        *find_variant("layernorm_fwd.cpu.01_naive"),
        {shape, x.data(), gamma.data(), beta.data(), &epsilon, y.data(), mean.data(), rstd.data()});
    call<LayernormBwd>(*v, {shape, x.data(), gamma.data(), mean.data(), rstd.data(), d_y.data(), d_x.data(),
                            d_gamma.data(), d_beta.data()});
    for (int64_t i = 0; i < n; ++i) {
      double shift = 0, scale = 0;
      for (int64_t j = 0; j < c; ++j) {
        shift += d_x[size_t(i * c + j)];
        scale += double(d_x[size_t(i * c + j)]) * x[size_t(i * c + j)];
      }
      EXPECT_NEAR(shift, 0, 1e-4) << v->id;
      EXPECT_NEAR(scale, 0, 1e-3) << v->id;
    }
  }
}

// Many batches of one distribution: the running averages become its moments, and inference normalizes with them.
TEST(Batchnorm, RunningAveragesBecomeTheMomentsOfInference) {
  const BatchnormFwd::Shape shape{16, 2, 9};
  std::vector<float> gamma{1, 1}, beta{0, 0}, running_mean{0, 0}, running_var{1, 1}, mean(2), rstd(2), y(288);
  const float epsilon = 1e-5F, momentum = 0.05F;
  const Variant& train = *find_variant("batchnorm_fwd.cpu.01_naive");
  for (uint64_t step = 0; step < 400; ++step) {
    const auto x = draw(288, 5, 2, step);
    call<BatchnormFwd>(train, {shape, x.data(), gamma.data(), beta.data(), &epsilon, &momentum,
                               running_mean.data(), running_var.data(), y.data(), mean.data(), rstd.data()});
  }
  EXPECT_NEAR(running_mean[0], 5, 0.2);
  EXPECT_NEAR(running_var[1], 4, 0.4);
  const auto x = draw(288, 5, 2, 1000);
  call<BatchnormInference>(*find_variant("batchnorm_inference.cpu.01_naive"), {{16, 2, 9},
                                                                               x.data(),
                                                                               gamma.data(),
                                                                               beta.data(),
                                                                               &epsilon,
                                                                               running_mean.data(),
                                                                               running_var.data(),
                                                                               y.data()});
  EXPECT_NEAR(mean_of(y.data(), 288), 0, 0.3);
}

TEST(Batchnorm, OneNumberIsItsOwnMean) {
  const float epsilon = 1e-5F, momentum = 0.25F, gamma = 3, beta = 7, x = 42;
  for (const Variant* v : variants_of("batchnorm_fwd", "cpu")) {
    if (v->peer) continue;
    float running_mean = 2, running_var = 8, y = 0, mean = 0, rstd = 0;
    call<BatchnormFwd>(
        *v,
        {{1, 1, 1}, &x, &gamma, &beta, &epsilon, &momentum, &running_mean, &running_var, &y, &mean, &rstd});
    EXPECT_EQ(mean, 42) << v->id;
    EXPECT_EQ(y, 7) << v->id;
    EXPECT_EQ(running_mean, 12) << v->id;
    EXPECT_EQ(running_var, 6) << v->id;
  }
}

/// Sizes that the check does not reach: outputs that leave by streaming stores, in runs that begin and end
/// within lines.
TEST(Streaming, GivesTheSameBitsAsPlainStores) {
  struct StreamingCase {
    std::string op, rung;
    std::vector<int64_t> shape;
  };
  const std::vector<StreamingCase> cases = {{"layernorm_fwd", "05_streaming", {3300, 1277}},
                                            {"layernorm_bwd", "05_streaming", {3300, 1277}},
                                            {"layernorm_residual_fwd", "04_streaming", {3300, 1277}},
                                            {"rmsnorm_fwd", "04_streaming", {3300, 1277}},
                                            {"rmsnorm_bwd", "05_streaming", {3300, 1277}},
                                            {"batchnorm_fwd", "04_streaming", {3, 2, 700001}},
                                            {"batchnorm_inference", "03_streaming", {3, 2, 700001}},
                                            {"batchnorm_bwd", "04_streaming", {3, 2, 700001}},
                                            {"batchnorm_inference_bwd", "03_streaming", {3, 2, 700001}},
                                            {"groupnorm_fwd", "04_streaming", {2, 2, 2, 525001}},
                                            {"groupnorm_bwd", "04_streaming", {2, 2, 2, 525001}},
                                            {"dropout_fwd", "04_streaming", {4200003}},
                                            {"dropout_bwd", "04_streaming", {4200003}},
                                            {"bias_add_fwd", "04_streaming", {3300, 1277, 1}},
                                            {"activation_fwd", "04_streaming", {4200003, 0}},
                                            {"activation_bwd", "04_streaming", {4200003, 1}}};
  for (const StreamingCase& test : cases) {
    const Variant* streaming = find_variant(test.op + ".cpu." + test.rung);
    ASSERT_NE(streaming, nullptr) << test.op;
    const Op& op = find_op(test.op)->op;
    const auto specs = op.tensors(test.shape);
    // Dropout streams only arrays that begin at a line.
    const int64_t off = test.op.starts_with("dropout") ? 0 : 3;
    const std::vector<int64_t> offsets(specs.size(), off);
    Tensors given(specs, Tensors::View::variant), plain(specs, Tensors::View::variant, offsets),
        streamed(specs, Tensors::View::variant, offsets);
    Generator random(1);
    for (size_t k = 0; k < specs.size();
         ++k) {  // fill() draws from a normal distribution, which takes its time
      const auto words = given[k].bytes() / 4;
      for (int64_t i = 0; i < words && specs[k].role != Role::output; ++i)
        given[k].as<float>()[i] = float(i * 7919 % 1021) / 512;
    }
    if (op.arrange) op.arrange(test.shape, given.pointers(), random);
    for (Tensors* t : {&plain, &streamed}) {
      copy_given(specs, given, *t);
      poison_outputs(specs, *t);
    }
    find_variant(streaming->parent)->bind(test.shape, plain.pointers())();
    streaming->bind(test.shape, streamed.pointers())();
    for (size_t k = 0; k < specs.size(); ++k) {
      EXPECT_TRUE(streamed[k].intact(nullptr)) << streaming->id << ' ' << specs[k].name;
      EXPECT_EQ(std::memcmp(plain[k].data(), streamed[k].data(), size_t(plain[k].bytes())), 0)
          << streaming->id << ' ' << specs[k].name;
    }
  }
}

}  // namespace
}  // namespace klab
