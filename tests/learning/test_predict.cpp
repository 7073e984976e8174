// A trained network put to use in little memory: passes shrink until they fit, and give the same classes.
#include <gtest/gtest.h>

#include <filesystem>
#include <new>

#include "harness/program/memory.h"
#include "labs/learning/train/predict.h"
#include "tests/core/temp_folder.h"

namespace klab::learning {
namespace {

class InLittleMemory : public ::testing::Test {
 protected:
  InLittleMemory() {
    Trainer trainer(data, settings());
    save_network(file, trainer.network(), nullptr, words_of_model(data, trainer.settings()));
    trained_bytes = trainer.network().memory().bytes();
  }
  ~InLittleMemory() override { set_allocation_hook({}); }
  static TrainerSettings settings() {
    TrainerSettings s;
    s.model = "conv 8 5, batchnorm, pool, dropout 0.5, conv 8 3, 40, 10";
    s.loader.batch = 32;
    return s;
  }
  std::vector<std::vector<float>> classes_of(Classifier& c) const {
    CallTimes none(std::vector<CallTime>{});
    c.use(Plan::named("naive", c.calls(), none));
    std::vector<std::vector<float>> all;
    for (const Prediction& p : c.predict(data.test.values.data(), data.test.count()))
      all.push_back(p.probabilities);
    return all;
  }

  const Dataset data{"glyphs", make_glyphs(40, 1), make_glyphs(9, 2)};
  const TempFolder own;
  const std::filesystem::path file = own / "network.safetensors";
  int64_t trained_bytes = 0;
};

TEST_F(InLittleMemory, NeedsLessMemoryThanTraining) {
  Classifier c(file, 32);
  EXPECT_EQ(c.batch(), 32);
  EXPECT_LT(c.network().inference_bytes(), trained_bytes / 2);
  for (const PlannedCall& call : c.calls()) EXPECT_EQ(call.op.find("_bwd"), std::string::npos) << call.op;
}

TEST_F(InLittleMemory, TakesFewerExamplesWhereMemoryIsLimited) {
  Classifier whole(file, 32);
  const auto expected = classes_of(whole);
  ASSERT_EQ(expected.size(), 9U);
  const int64_t most = whole.network().inference_bytes() / 3;
  Classifier small(file, 32, cpu_backend(), most);
  EXPECT_LT(small.batch(), 32);
  EXPECT_LE(small.network().inference_bytes(), most);
  EXPECT_EQ(classes_of(small), expected);
  // A batch of the next size would not have fit.
  EXPECT_GT(Classifier(file, 2 * small.batch()).network().inference_bytes(), most);
}

TEST_F(InLittleMemory, TakesFewerExamplesWhereAnAllocationFails) {
  Classifier whole(file, 32);
  const auto expected = classes_of(whole);
  // Large arrays are whole pages of 2 MB: parameters fit into one, the outputs of 256 examples do not.
  set_allocation_hook([](int64_t bytes) {
    if (bytes > 2 << 20) throw std::bad_alloc();
  });
  Classifier small(file, 256);
  set_allocation_hook({});
  EXPECT_LT(small.batch(), 256);
  EXPECT_EQ(classes_of(small), expected);
}

TEST_F(InLittleMemory, RefusesWhatIsTooLittleForOneExample) {
  try {
    Classifier c(file, 32, cpu_backend(), 1000);
    FAIL() << "a network in 1000 bytes";
  } catch (const std::runtime_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("no memory for one example at a time (batches of 1 take"), std::string::npos) << text;
    EXPECT_NE(text.find("give more --memory"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace klab::learning
