// How a finding names its place.
#include <gtest/gtest.h>

#include "harness/simt/finding.h"

namespace klab {
namespace {

std::string describe_at(const std::string& file) {
  simt::Finding finding;
  finding.kernel = "sum";
  finding.file = file;
  finding.line = 7;
  finding.text = "read";
  return finding.describe();
}

TEST(Finding, ShortensPathsOfTheTree) {
  EXPECT_NE(
      describe_at("/any/klab/kernels/matmul/cuda/01_naive.cu").find(", kernels/matmul/cuda/01_naive.cu:7"),
      std::string::npos);
  EXPECT_NE(describe_at("kernels/matmul/cuda/01_naive.cu").find(", kernels/matmul/cuda/01_naive.cu:7"),
            std::string::npos);
  EXPECT_NE(describe_at("/any/klab/tests/simt/kernels.cu").find(", tests/simt/kernels.cu:7"),
            std::string::npos);
}

TEST(Finding, KeepsPathsWithFoldersThatOnlyEndSo) {
  EXPECT_NE(describe_at("/any/cuda-kernels/reduce/sum.cu").find(", /any/cuda-kernels/reduce/sum.cu:7"),
            std::string::npos);
  EXPECT_NE(describe_at("mytests/sum.cu").find(", mytests/sum.cu:7"), std::string::npos);
}

}  // namespace
}  // namespace klab
