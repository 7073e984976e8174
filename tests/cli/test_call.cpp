// klab call: a variant on tensors of a file, and every way in which such a file can be wrong.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "harness/records/tensor_file.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class Call : public ::testing::Test {
 protected:
  Call() {
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(i) - 3;
    for (size_t i = 0; i < b.size(); ++i) b[i] = 0.5F * float(i) - 2;
  }

  struct Said {
    int code;
    std::string text;
  };
  Said call(const std::string& variant, const std::string& in, const std::string& more = "") const {
    const std::string command = std::string(KLAB_PROGRAM) + " call " + variant + " --in " +
                                (folder / in).string() + " --out " + (folder / "out.safetensors").string() +
                                " " + more + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    Said said{0, ""};
    for (char part[512]; fgets(part, sizeof part, pipe) != nullptr;) said.text += part;
    said.code = WEXITSTATUS(pclose(pipe));
    return said;
  }
  void refused(const std::string& variant, const std::string& in, const std::vector<std::string>& parts,
               const std::string& more = "") const {
    const Said said = call(variant, in, more);
    EXPECT_EQ(said.code, 2) << said.text;
    for (const std::string& part : parts)
      EXPECT_NE(said.text.find(part), std::string::npos) << part << " in: " << said.text;
    EXPECT_FALSE(fs::exists(folder / "out.safetensors"));
  }
  void save(const std::string& file, const std::vector<TensorView>& tensors) const {
    save_tensors(folder / file, tensors, {});
  }

  const TempFolder own;
  const fs::path folder = own.path();
  std::vector<float> a = std::vector<float>(3 * 4), b = std::vector<float>(4 * 2);
  std::vector<double> wide = std::vector<double>(3 * 4);
};

TEST_F(Call, RunsForwardAndBackwardOnTheHostAndOnTheExecutor) {
  save("x", {{"a", "F32", {3, 4}, a.data()}, {"b", "F32", {4, 2}, b.data()}});
  for (const char* variant : {"matmul.cpu.01_naive", "matmul.cpu.06_threads", "matmul.cuda.01_naive"}) {
    const Said said = call(variant, "x");
    ASSERT_EQ(said.code, 0) << said.text;
    float c[6];
    TensorFile(folder / "out.safetensors").read("c", "F32", {3, 2}, c);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j) {
        float sum = 0;
        for (int p = 0; p < 4; ++p) sum += a[size_t(i * 4 + p)] * b[size_t(p * 2 + j)];
        EXPECT_FLOAT_EQ(c[i * 2 + j], sum) << variant;
      }
  }
  const std::vector<float> d_c(6, 1);
  save("g",
       {{"a", "F32", {3, 4}, a.data()}, {"b", "F32", {4, 2}, b.data()}, {"d_c", "F32", {3, 2}, d_c.data()}});
  ASSERT_EQ(call("matmul_bwd.cpu.01_naive", "g").code, 0);
  float d_a[12];
  TensorFile(folder / "out.safetensors").read("d_a", "F32", {3, 4}, d_a);
  EXPECT_FLOAT_EQ(d_a[1], b[2] + b[3]);
}

TEST_F(Call, ReportsTheErrorOfAFile) {
  const TensorView left{"a", "F32", {3, 4}, a.data()}, right{"b", "F32", {4, 2}, b.data()};
  const std::string variant = "matmul.cpu.01_naive";
  save("x", {left, right});
  save("missing", {left});
  refused(variant, "missing", {"missing", "no tensor \"b\"", "takes a, b"});
  save("extra", {left, right, {"bias", "F32", {2}, b.data()}});
  refused(variant, "extra", {"extra", "'bias'", "takes a, b"});
  save("output", {left, right, {"c", "F32", {3, 2}, b.data()}});
  refused(variant, "output", {"\"c\" is an output", "leave it out"});
  save("type", {{"a", "F64", {3, 4}, wide.data()}, right});
  refused(variant, "type", {"\"a\" is F64", "takes F32"});
  save("shape", {left, {"b", "F32", {2, 4}, b.data()}});
  refused(variant, "shape", {"\"b\" is [2,4]", "must be [4,4]"});
  refused(variant, "nowhere", {"nowhere", "no such file"});
  std::ofstream(folder / "text") << "this is not a tensor file at all";
  refused(variant, "text", {"text", "no safetensors file"});
  fs::copy_file(folder / "x", folder / "cut");
  fs::resize_file(folder / "cut", fs::file_size(folder / "cut") - 5);
  refused(variant, "cut", {"is cut short"});
  refused("matmul.cpu.01_niave", "x", {"did you mean matmul.cpu.01_naive"});
  refused(variant, "x", {"--shape has 2 numbers"}, "--shape 3,2");
  refused(variant, "x", {"'q'"}, "--shape q=3");
  refused(variant, "x", {"'m3'"}, "--shape m=m3");
  refused(variant, "x", {"must be [5,4]"}, "--shape m=5");
  save("unsaid", {{"x", "F32", {12}, a.data()}});
  refused("activation_fwd.cpu.01_naive", "unsaid", {"add --shape kind=..."});
  refused("activation_fwd.cpu.01_naive", "unsaid", {"is no shape"}, "--shape kind=77");
  EXPECT_EQ(call("activation_fwd.cpu.01_naive", "unsaid", "--shape kind=0").code, 0);
}

}  // namespace
}  // namespace klab
