// klab classify as a program: the same seed, threads and plan give the same bytes; bad inputs are refused in
// one line each.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "harness/records/tensor_file.h"
#include "labs/learning/data/dataset.h"
#include "labs/radiance/scene/image.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class Classify : public ::testing::Test {
 protected:
  Classify() {
    fs::create_directories(folder / "set");
    ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  }

  struct Said {
    int code;
    std::string out, err;
  };
  Said klab(const std::string& words) const {
    const std::string command = std::string(KLAB_PROGRAM) + " " + words + " 2>" + (folder / "err").string();
    FILE* pipe = popen(command.c_str(), "r");
    Said said{0, "", ""};
    for (char part[512]; fgets(part, sizeof part, pipe) != nullptr;) said.out += part;
    said.code = WEXITSTATUS(pclose(pipe));
    said.err = bytes("err");
    return said;
  }
  std::string bytes(const fs::path& file) const {
    std::ifstream in(folder / file, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder / "set" / name, std::ios::binary) << content;
  }
  /// Refused in one line, or as many as said, of these parts, with exit code 2, and nothing written.
  void refused(const std::string& words, const std::vector<std::string>& parts, int64_t lines = 1) const {
    const bool trains = words.find("--predict ") == std::string::npos;
    const Said said = klab("classify " + words + (trains ? " --out " + (folder / "out").string() : ""));
    EXPECT_EQ(said.code, 2) << words << ": " << said.out << said.err;
    EXPECT_EQ(std::ranges::count(said.err, '\n'), lines) << said.err;
    EXPECT_TRUE(said.err.starts_with("klab: ")) << said.err;
    for (const std::string& part : parts)
      EXPECT_NE(said.err.find(part), std::string::npos) << part << " in: " << said.err;
    EXPECT_FALSE(fs::exists(folder / "out")) << words;
  }
  /// Words for a short run into that folder.
  std::string small(const std::string& model, const std::string& out) const {
    return "classify glyphs --train 120 --test 40 --epochs 2 --batch 20 --model " + model + " --out " +
           (folder / out).string();
  }
  std::string set() const { return (folder / "set").string(); }
  const TempFolder own;
  const fs::path folder = own.path();
};

std::string word(uint32_t v) {
  return {char(v >> 24), char(v >> 16 & 255), char(v >> 8 & 255), char(v & 255)};
}
std::string images(uint32_t n, uint32_t side) {
  return word(0x803) + word(n) + word(side) + word(side) + std::string(size_t(n) * side * side, 'x');
}
std::string labels(uint32_t n) {
  std::string text = word(0x801) + word(n);
  for (uint32_t i = 0; i < n; ++i) text += char(i % 10);
  return text;
}

TEST_F(Classify, SameSeedThreadsAndPlanGiveTheSameBytes) {
  for (const std::string model : {"softmax", "mlp", "cnn"}) {
    ASSERT_EQ(klab(small(model, "best")).code, 0);  // chooses the rungs
    const std::string plan = " --plan " + (folder / "best/plan.json").string();
    for (const std::string threads : {"1", "2"}) {
      std::string first;
      for (int run = 0; run < 2; ++run) {
        ASSERT_EQ(klab(small(model, "a") + plan + " --threads " + threads).code, 0);
        const std::string weights = bytes("a/model.safetensors");
        ASSERT_GT(weights.size(), 1000U);
        if (run == 0) first = weights;
        EXPECT_TRUE(weights == first) << model << ", " << threads << " threads, run " << run;
      }
      ASSERT_EQ(klab(small(model, "a") + plan + " --seed 2").code, 0);
      EXPECT_FALSE(bytes("a/model.safetensors") == first) << model << ": another seed, the same weights";
    }
  }
}

TEST_F(Classify, ResumesWithThePlanOfTheCheckpoint) {
  ASSERT_EQ(klab(small("mlp", "a") + " --plan naive").code, 0);
  const std::string before = bytes("a/model.safetensors");
  const Said said = klab(small("mlp", "a") + " --resume " + (folder / "a").string());
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("cpu.01_naive"), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("fastest of"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("resumed   at step 12"), std::string::npos) << said.out;
  EXPECT_TRUE(bytes("a/model.safetensors") == before);
}

TEST_F(Classify, GoesBackWithHalfTheRateWhereALossIsNotFinite) {
  // Weights grow by 10^6 a step, until they are infinite.
  const std::string wild =
      "classify glyphs --train 240 --test 20 --epochs 1 --batch 20 --model softmax --plan naive --optimizer "
      "sgd "
      "--schedule constant --rate 1000 --decay 1000 --out " +
      (folder / "a").string();
  Said said = klab(wild);
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(std::ranges::count(said.err, '\n'), 1) << said.err;
  for (const char* part : {"the loss is not finite; lower --rate (it is 1000)", "or give --on-nan retry",
                           "there is no checkpoint yet", "docs/troubleshooting.md"})
    EXPECT_NE(said.err.find(part), std::string::npos) << part << " in: " << said.err;
  said = klab(wild + " --on-nan retry --retries 2");
  EXPECT_EQ(said.code, 2);
  for (const char* part :
       {"back to step 0 with learning rates times 0.25 (try 2 of 2)",
        "2 tries from the last checkpoint did not help, the last with learning rates times 0.25",
        "a/checkpoint.safetensors"})
    EXPECT_NE(said.err.find(part), std::string::npos) << part << " in: " << said.err;
  said = klab(wild + " --on-nan retry --retries 60");
  ASSERT_EQ(said.code, 0) << said.err;
  const auto result = nlohmann::json::parse(bytes("a/result.json"));
  EXPECT_GT(result.at("retries").size(), 2U);
  EXPECT_EQ(result.at("steps"), 12);
  refused("glyphs --retries 3", {"--retries", "--on-nan retry"});
}

TEST_F(Classify, RefusesInvalidDataSets) {
  refused(set(), {"set", "holds no data set", "images-idx3-ubyte"});
  refused((folder / "nowhere").string(), {"nowhere", "is no folder"});
  write("t10k-images-idx3-ubyte", images(20, 28));
  refused(set(), {"t10k-images-idx3-ubyte", "without the labels", "put both"});
  write("t10k-labels-idx1-ubyte", labels(20));
  refused(set() + " --batch 17", {"--batch 17", "set of 16 examples", "at most"});
  write("t10k-labels-idx1-ubyte", labels(19));
  refused(set(), {"t10k-labels-idx1-ubyte", "has 19 labels", "20 images"});
  write("t10k-labels-idx1-ubyte", labels(20) + "z");
  refused(set(), {"t10k-labels-idx1-ubyte", "1 bytes behind", "fetch it again"});
  write("t10k-labels-idx1-ubyte", labels(20).substr(0, 20));
  refused(set(), {"t10k-labels-idx1-ubyte", "is cut short", "fetch it again"});
  write("t10k-labels-idx1-ubyte", images(20, 1));
  refused(set(), {"t10k-labels-idx1-ubyte", "magic number is 0x00000803", "fetch it again"});
  write("t10k-labels-idx1-ubyte", labels(20).substr(0, 27) + '\x0a');
  refused(set(), {"t10k-labels-idx1-ubyte", "label 10 of example 19", "classes 0 to 9", "correct"});
}

TEST_F(Classify, RefusesDataThatDoesNotFitTheModel) {
  refused("spirals --model cnn", {"layer conv1", "given [2]", "--model"});
  write("t10k-images-idx3-ubyte", images(20, 4));
  write("t10k-labels-idx1-ubyte", labels(20));
  refused(set() + " --batch 4", {"layer conv2", "at least 5 rows", "given [16,2,2]"});
  refused("glyphs --model lenet", {"lenet", "softmax, mlp or cnn"});
  std::vector<float> x(40, 0.5F);
  std::vector<int32_t> y = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const fs::path file = folder / "set.safetensors";
  const auto save = [&] {
    save_tensors(file,
                 std::vector<TensorView>{{"x", "F32", {10, 4}, x.data()}, {"labels", "I32", {10}, y.data()}},
                 {});
  };
  x[5] = NAN;
  save();
  refused(file.string() + " --model mlp --batch 4",
          {"set.safetensors", "\"x\" holds nan in example 1", "finite"});
  x[5] = 0;
  y[2] = 2000000000;
  save();
  refused(file.string() + " --model mlp --batch 4",
          {"set.safetensors", "label 2000000000 of example 2", "at most"});
}

TEST_F(Classify, RefusesACheckpointOfAnotherRun) {
  ASSERT_EQ(klab(small("mlp", "a") + " --plan naive").code, 0);
  const std::string from = " --resume " + (folder / "a").string();
  const std::string words = "glyphs --train 120 --test 40 --epochs 2";
  refused(words + " --batch 20 --model cnn" + from,
          {"a/checkpoint.safetensors", "its model is mlp", "--model"});
  refused(words + " --batch 24 --model mlp" + from,
          {"a/checkpoint.safetensors", "its batch is 20", "--batch"});
  refused(words + " --batch 20 --model mlp --resume " + (folder / "none").string(), {"no such file"});
  fs::resize_file(folder / "a/checkpoint.safetensors",
                  fs::file_size(folder / "a/checkpoint.safetensors") - 9);
  refused(words + " --batch 20 --model mlp" + from, {"a/checkpoint.safetensors", "cut short"});
}

TEST_F(Classify, PredictsPicturesAndScoresASavedModel) {
  ASSERT_EQ(klab(small("softmax", "a") + " --plan naive").code, 0);
  const std::string predict = "classify --predict " + (folder / "a").string() + " ";
  const auto result = nlohmann::json::parse(bytes("a/result.json"));
  Said said = klab(predict + "--evaluate glyphs --test 40 --json");
  ASSERT_EQ(said.code, 0) << said.err;
  // The same test set, model and plan: the same score.
  EXPECT_EQ(nlohmann::json::parse(said.out).at("confusion"), result.at("confusion"));
  EXPECT_NEAR(nlohmann::json::parse(said.out).at("loss").get<double>(), result.at("loss").get<double>(),
              1e-5);

  const learning::Examples glyphs = learning::make_glyphs(20, 7);
  std::string files;
  for (int i = 0; i < 20; ++i) {
    std::vector<uint8_t> pixels;
    for (int j = 0; j < 28 * 28; ++j) pixels.push_back(to_byte(glyphs.values[size_t(i * 28 * 28 + j)]));
    save_png(folder / ("g" + std::to_string(i) + ".png"), 28, 28, 1, pixels);
    files += " " + (folder / ("g" + std::to_string(i) + ".png")).string();
  }
  said = klab(predict + "--json --predict-batch 7" + files);
  ASSERT_EQ(said.code, 0) << said.err;
  const auto list = nlohmann::json::parse(said.out).at("predictions");
  ASSERT_EQ(list.size(), 20U);
  for (const auto& p : list) {
    double sum = 0, largest = 0;
    for (const auto& [name, q] : p.at("probabilities").items())
      sum += q.get<double>(), largest = std::max(largest, q.get<double>());
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(p.at("probability").get<double>(), largest);
  }
  // Any number of pictures a pass gives the same probabilities; names on standard input are answered one by one.
  EXPECT_EQ(klab(predict + "--json --predict-batch 1" + files).out, said.out);
  const Said limited = klab(predict + "--json --predict-batch 1000 --memory 1MB" + files);
  EXPECT_EQ(limited.out, said.out);
  EXPECT_NE(limited.err.find("examples at a time, not 1000"), std::string::npos) << limited.err;
  std::ofstream(folder / "names") << (folder / "g0.png").string() << "\n/nowhere.png\n"
                                  << (folder / "g1.png").string() << "\n";
  const Said served = klab(predict + "--csv - <" + (folder / "names").string());
  EXPECT_EQ(served.code, 2);
  EXPECT_EQ(std::ranges::count(served.out, '\n'), 3) << served.out;
  EXPECT_NE(served.err.find("/nowhere.png"), std::string::npos);
  EXPECT_TRUE(served.out.starts_with("picture,class,probability,")) << served.out;
}

TEST_F(Classify, CompressedNetworksPredictAndAreSmaller) {
  ASSERT_EQ(
      klab("classify glyphs --train 400 --test 100 --epochs 6 --batch 20 --model mlp --plan naive --out " +
           (folder / "a").string())
          .code,
      0);
  const auto right = [&](const std::string& model) {
    const Said said = klab("classify --predict " + model + " --evaluate glyphs --test 100 --json");
    EXPECT_EQ(said.code, 0) << said.err;
    return said.code == 0 ? nlohmann::json::parse(said.out).at("accuracy").get<double>() : 0;
  };
  const std::string compress = "compress " + (folder / "a").string() + " --train 400 --test 100 --out ",
                    out = (folder / "small.safetensors").string();
  const double before = right((folder / "a").string());
  Said said = klab(compress + out + " --prune 0.5 --keep linear3.weight");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("\nafter "), std::string::npos) << said.out;
  EXPECT_LT(fs::file_size(out), 0.6 * double(fs::file_size(folder / "a/model.safetensors")));
  EXPECT_GT(right(out), before - 0.1);
  // A student learns the outputs, with weights of a hundredth of its teacher's.
  said = klab(compress + out + " --distill 24 --epochs 20 --batch 20 --prune 0.2 --keep auto");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("\nstudent "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("linear2.weight"), std::string::npos) << said.out;
  EXPECT_LT(fs::file_size(out), 0.1 * double(fs::file_size(folder / "a/model.safetensors")));
  EXPECT_GT(right(out), 0.3);  // chance: 0.1
  // What is left of a fifth of the weights learns again, and what was left out stays out.
  const auto accuracies = [&](const std::string& words) {
    const Said compressed = klab(compress + out + " --prune 0.9 --batch 20 --json" + words);
    EXPECT_EQ(compressed.code, 0) << compressed.err;
    return compressed.code == 0 ? nlohmann::json::parse(compressed.out).at("stages")
                                : nlohmann::json::array();
  };
  const auto pruned = accuracies(""), trained = accuracies(" --retrain 400");
  ASSERT_EQ(pruned.size(), 2U);
  ASSERT_EQ(trained.size(), 3U);
  EXPECT_EQ(trained[1].at("name"), "pruned");
  EXPECT_EQ(trained[1].at("accuracy"), pruned[1].at("accuracy"));
  EXPECT_LT(trained[2].at("loss").get<double>(), 0.9 * pruned[1].at("loss").get<double>());
  EXPECT_LE(trained[2].at("not_zero").get<int64_t>(),
            trained[1].at("not_zero").get<int64_t>() + 1000);  // biases
  const auto refuse = [&](const std::string& words, const std::string& part) {
    fs::remove(folder / "x.safetensors");
    const Said no = klab(compress + (folder / "x.safetensors").string() + " " + words);
    EXPECT_EQ(no.code, 2) << words << no.out;
    EXPECT_EQ(std::ranges::count(no.err, '\n'), 1) << no.err;
    EXPECT_NE(no.err.find(part), std::string::npos) << part << " in: " << no.err;
    EXPECT_FALSE(fs::exists(folder / "x.safetensors")) << words;
  };
  refuse("--distill 300,200,10", "name fewer or smaller layers");
  refuse("--distill nonsense", "no model is called nonsense");
  refuse("--prune 0.5 --keep conv1.weight", "is no weight of the network: auto, or some of linear1.weight");
  refuse("--format int8", "--format is for fields");
  refuse("--distill 24 --retrain 5", "--retrain trains what --prune has left");
  refuse("--distill 8 --keep auto", "give --prune");
  refuse("--distill 8 --plan /nowhere.json", "/nowhere.json");
}

TEST_F(Classify, TheHostExecutorTrainsResumesAndPredicts) {
  const std::string set =
      "classify spirals --model softmax --train 60 --test 20 --batch 20 --epochs 2 --plan naive --out ";
  const Said here = klab(set + (folder / "cpu").string());
  ASSERT_EQ(here.code, 0) << here.err;
  const Said there = klab(set + (folder / "a").string() + " --backend simt");
  if (there.err.find("no variant of") != std::string::npos) GTEST_SKIP() << "no CUDA rungs are built here";
  ASSERT_EQ(there.code, 0) << there.err;
  EXPECT_NE(there.out.find("backend   simt"), std::string::npos) << there.out;
  EXPECT_NE(there.out.find("cuda."), std::string::npos) << there.out;
  const auto one = nlohmann::json::parse(bytes("cpu/result.json")),
             other = nlohmann::json::parse(bytes("a/result.json"));
  EXPECT_EQ(other.at("backend"), "simt");
  EXPECT_NEAR(one.at("loss").get<double>(), other.at("loss").get<double>(), 1e-4);
  EXPECT_EQ(one.at("confusion"), other.at("confusion"));
  // A checkpoint goes on on the processor, by rungs of its own.
  const Said resumed =
      klab("classify spirals --model softmax --train 60 --test 20 --batch 20 --epochs 2 --resume " +
           (folder / "a").string());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out.find("cuda."), std::string::npos) << resumed.out;
  const Said scored = klab("classify --predict " + (folder / "a").string() +
                           " --evaluate spirals --test 20 --backend simt --json");
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_EQ(nlohmann::json::parse(scored.out).at("confusion"), other.at("confusion"));
  refused("spirals --model softmax --backend simt --ladder", {"--ladder", "--backend cuda"});
  refused("spirals --model softmax --backend simt --plan " + (folder / "cpu/plan.json").string(),
          {"plan", "written for the processor", "cuda"}, 7);  // the file, and a line an op
}

TEST_F(Classify, RefusesOptionsOfTrainingForATrainedNetwork) {
  // Refused before anything is read, so no network is needed.
  const std::string predict = "--predict " + (folder / "none").string() + " ";
  for (const std::string option :
       {"--epochs 3",     "--model mlp",       "--network 10",    "--init xavier",
        "--batch 8",      "--optimizer sgd",   "--rate 0.1",      "--decay 0.1",
        "--clip 1",       "--schedule linear", "--precision f16", "--loss-scale dynamic",
        "--accumulate 2", "--recompute 2",     "--plain",         "--no-prefetch",
        "--train 9",      "--ladder",          "--out x",         "--resume x",
        "--beta1 0.8",    "--ahead 2",         "--workers 2",     "--on-nan stop",
        "--retries 2",    "--split-layers"})
    for (const char* what : {"a.png", "--evaluate glyphs"})
      refused(predict + option + " " + what,
              {option.substr(0, option.find(' ')) + " has no effect", "leave it out"});
  refused(predict + "--test 5 a.png", {"--test", "--evaluate DATA"});
  refused("--predict-batch 4 glyphs", {"--predict-batch", "--predict RUN"});
  refused("--csv glyphs", {"--csv", "--predict RUN"});
  refused("--memory 1GB glyphs", {"--memory", "--predict RUN"});
  refused(predict + "--predict-batch 0 a.png", {"--predict-batch 0", "auto, or a number from 1 to 1048576"});
  refused(predict + "--predict-batch 4x a.png", {"--predict-batch 4x", "auto"});
  refused(predict + "--memory some a.png", {"--memory must be a size", "'some'"});
  refused("glyphs --model mlp --network 10", {"--network", "--model", "leave one of them out"});
  refused("glyphs --no-prefetch --ahead 2", {"--no-prefetch", "--ahead", "leave one out"});
  refused("glyphs --train 40 --test 20 --batch 8 --ahead 2 --workers 3",
          {"--workers 3", "--ahead 2", "fewer workers"});
}

TEST_F(Classify, TrainsANetworkOfOnesOwnWithTheSettingsOfItsFile) {
  write("net.json", R"({"layers": ["conv 4 5 stride 2", "avgpool", "16", "10"], "optimizer": "momentum",
                        "rate": 0.01, "beta1": 0.8, "epochs": 1, "batch": 20, "init": "he"})");
  const std::string to = " --out " + (folder / "a").string(), file = set() + "/net.json";
  Said said = klab("classify glyphs --train 40 --test 20 --plan naive --epochs 2 --network " + file + to);
  ASSERT_EQ(said.code, 0) << said.err;
  for (const char* part : {"division  drawn apart from one another, by two seeds; kept to learn from: the "
                           "first 40; kept to test: the first 20",
                           "momentum, rate 0.01", "avgpool1  [4,6,6]", "linear1   [16]", "2320"})
    EXPECT_NE(said.out.find(part), std::string::npos) << part << " in: " << said.out;
  const auto result = nlohmann::json::parse(bytes("a/result.json"));
  EXPECT_EQ(result.at("steps"), 4);  // the command line's epochs, the file's batch
  EXPECT_EQ(result.at("model"), "conv 4 5 stride 2, avgpool, 16, 10");
  // The share that a velocity keeps is the file's: without it the weights are others.
  const std::string kept = bytes("a/model.safetensors");
  said =
      klab("classify glyphs --train 40 --test 20 --plan naive --epochs 2 --beta1 0.9 --network " + file + to);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_FALSE(bytes("a/model.safetensors") == kept);

  write("net.json", R"({"layers": ["16", "10"], "colour": 3})");
  refused("--network " + file, {"net.json: \"colour\" is unknown", "optimizer, rate"});
  write("net.json", R"({"layers": ["16", "10"], "rate": "fast"})");
  refused("--network " + file, {"net.json: --rate", "fast"});
  write("net.json", R"({"layers": ["16", "conv 3 5", "10"]})");
  refused("--network " + file, {"layer 2 of the network, \"conv 3 5\"", "does not fit"});
  write("t10k-images-idx3-ubyte", images(20, 28));
  write("t10k-labels-idx1-ubyte", labels(20));
  said = klab("classify " + set() + " --network 16,10 --batch 8 --epochs 1 --plan naive" + to);
  EXPECT_NE(
      said.out.find(
          "one set of 20 without a test set of its own: the first 16 to learn from, the last 4 to test"),
      std::string::npos)
      << said.out << said.err;
}

TEST_F(Classify, RefusesPicturesAndModelsThatDoNotFit) {
  ASSERT_EQ(klab(small("softmax", "a") + " --plan naive").code, 0);
  const std::string predict = "--predict " + (folder / "a").string() + " ";
  save_png(folder / "small.png", 14, 28, 1, std::vector<uint8_t>(14 * 28));
  save_png(folder / "red.png", 28, 28, 3, [] {
    std::vector<uint8_t> p(28 * 28 * 3);
    p[3] = 255;
    return p;
  }());
  refused(predict + (folder / "small.png").string(), {"small.png", "14x28 pixels", "28x28", "resize"});
  refused(predict + (folder / "red.png").string(), {"red.png", "colors", "gray"});
  refused(predict + (folder / "none.png").string(), {"none.png"});
  refused(predict, {"needs pictures"});
  refused(predict + "--evaluate spirals", {"[1,28,28]", "glyphs"});
  refused("--predict " + (folder / "a/checkpoint.safetensors").string() + " x.png",
          {"checkpoint.safetensors", "\"example\"", "--resume"});
  refused("glyphs spirals", {"one data set", "--predict"});
  refused("--evaluate glyphs", {"--predict RUN"});
  refused(predict + "--evaluate glyphs --csv", {"--csv", "--evaluate", "--json"});
  refused(predict + "--predict-batch 4 - </dev/null", {"--predict-batch", "one by one"});
  fs::resize_file(folder / "a/model.safetensors", fs::file_size(folder / "a/model.safetensors") - 4);
  refused(predict + (folder / "small.png").string(), {"model.safetensors", "cut short"});
}

}  // namespace
}  // namespace klab
