// The queue of what waits for a GPU: the tree's file is what its records leave open, and its rules decide as they are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/check/cases.h"
#include "harness/cli/gpu_queue.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

const fs::path root = KLAB_SOURCE_DIR;

TEST(GpuQueue, TheTreesFileIsWhatItsRecordsLeaveOpen) {
  const std::vector<Waiting> waiting = waiting_for_gpu(root),
                             queue = read_gpu_queue(root / "reports/gpu_queue.csv");
  for (const Waiting& line : waiting)
    EXPECT_NE(std::ranges::find(queue, line), queue.end())
        << line.rung << " (" << line.reason << ") is not in reports/gpu_queue.csv: klab gpu-queue --write";
  for (const Waiting& line : queue)
    EXPECT_NE(std::ranges::find(waiting, line), waiting.end())
        << line.rung << " waits no more, or otherwise: klab gpu-queue --write";
}

struct GpuQueueFolder : testing::Test {
  const TempFolder own;
  const fs::path path = own.path();
  GpuQueueFolder() { fs::create_directories(path / "kernels/transpose/cuda"); }
  std::string digest_of(const std::string& code) const {
    std::ofstream(path / "kernels/transpose/cuda/01_naive.cu") << code;
    return code_digest(path, *find_variant("transpose.cuda.01_naive"));
  }
  std::string complaint(const std::string& text) const {
    std::ofstream(path / "queue.csv") << text;
    try {
      read_gpu_queue(path / "queue.csv");
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(GpuQueueFolder, WordsOfAKernelMayChangeAndItsCodeMayNot) {
  const std::string code = "int f(int x) { return x / 2; }  // halves\n";
  const std::string digest = digest_of(code);
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(digest_of("// Halves.\nint f(int x) {\n  return x / 2;  /* of\nx */\n}\n"), digest);
  EXPECT_EQ(digest_of("#include \"kernels/common/moved.h\"\n" + code), digest);
  EXPECT_NE(digest_of("int f(int x) { return x * 2; }"), digest);
  EXPECT_NE(digest_of("auto s = \"a // b\";"), digest_of("auto s = \"a // c\";"));
  std::ofstream(path / "kernels/transpose/tile-inl.h") << "constexpr int kTile = 32;";
  const std::string with = "#include \"kernels/transpose/tile-inl.h\"\n";
  const std::string before = digest_of(with);
  std::ofstream(path / "kernels/transpose/tile-inl.h") << "constexpr int kTile = 64;";
  EXPECT_NE(digest_of(with), before);
  // Headers that rungs of several ops share count, too, by whatever way they are included; the one of all rungs does not.
  fs::create_directories(path / "kernels/common/matmul");
  std::ofstream(path / "kernels/common/matmul/outer.h")
      << "#include \"kernels/common/matmul/inner.h\"\nint a();";
  std::ofstream(path / "kernels/common/matmul/inner.h") << "int b();";
  std::ofstream(path / "kernels/common/cuda.h") << "int c();";
  const std::string shared =
      "#include \"kernels/common/cuda.h\"\n#include \"kernels/common/matmul/outer.h\"\n";
  const std::string first = digest_of(shared);
  std::ofstream(path / "kernels/common/cuda.h") << "int c(int);";
  EXPECT_EQ(digest_of(shared), first);
  std::ofstream(path / "kernels/common/matmul/inner.h") << "int b();  // again";
  EXPECT_EQ(digest_of(shared), first);
  std::ofstream(path / "kernels/common/matmul/inner.h") << "int b(int);";
  EXPECT_NE(digest_of(shared), first);
  fs::remove(path / "kernels/transpose/cuda/01_naive.cu");
  EXPECT_EQ(code_digest(path, *find_variant("transpose.cuda.01_naive")), "");
}

TEST_F(GpuQueueFolder, ABrokenFileIsNamedWithLineAndColumn) {
  const std::string header = "rung,shape,over,predicted,rule,reason\n";
  EXPECT_EQ(complaint(header + "transpose.cuda.02_shared_tile,64 64,transpose.cuda.01_naive,2,r,\"a, b\"\n"),
            "");
  EXPECT_EQ(read_gpu_queue(path / "queue.csv").at(0).reason, "a, b");
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", ":1: the first line has to be"},
           {header + "transpose.cuda.02_shared_tile,64 64\n", ":2: 2 cells, and the header has 6"},
           {header + "transpose.cuda.99_none,64 64,,,timed,new\n", ":2: column rung"},
           {header + "transpose.cpu.01_naive,64 64,,,timed,new\n", ":2: column rung"},
           {header + "transpose.cuda.01_naive,64,,,timed,new\n", ":2: column shape"},
           {header + "transpose.cuda.01_naive,64 many,,,timed,new\n", ":2: column shape"},
           {header + "transpose.cuda.01_naive,64 64,,-1,timed,new\n", ":2: column predicted"}})
    EXPECT_NE(complaint(text).find(part), std::string::npos) << text << complaint(text);
}

TEST(GpuQueue, IntervalsDecideByTheRule) {
  const Waiting line{.rung = "transpose.cuda.02_shared_tile",
                     .shape = {64, 64},
                     .parent = "transpose.cuda.01_naive",
                     .predicted = 2.0,
                     .rule = rule_of(2.0, "transpose.cuda.01_naive"),
                     .reason = "never timed"};
  EXPECT_EQ(line.rule, "over its parent: at least 2");
  Row row{.variant = line.rung, .shape = shape_text(find_op("transpose")->op, line.shape)};
  const auto decided = [&](const Waiting& by) { return decide(by, std::vector<Row>{row}); };
  EXPECT_NE(decided(line).find("parent was not timed"), std::string::npos);
  row.over_parent = Estimate{.value = 2.5, .low = 2.1, .high = 3};
  EXPECT_EQ(decided(line), "held");
  row.over_parent = Estimate{.value = 2.0, .low = 1.9, .high = 2.2};
  EXPECT_EQ(decided(line), "undecided");
  row.over_parent = Estimate{.value = 1.5, .low = 1.4, .high = 1.6};
  EXPECT_EQ(decided(line), "not held");
  Waiting plain = line;
  plain.predicted.reset();
  EXPECT_EQ(decided(plain), "held");
  row.error = "above its ceiling: measurement error";
  EXPECT_NE(decided(line).find("not decided: above its ceiling"), std::string::npos);
  row.shape = "another";
  EXPECT_NE(decided(line).find("no row"), std::string::npos);
}

}  // namespace
}  // namespace klab
