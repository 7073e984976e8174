// Libraries behind peers: which kernels are older than the processor, and that a peer with these is no mark to reach.
#include <gtest/gtest.h>

#include <string>

#include "harness/cli/ladder_text.h"
#include "harness/core/registry.h"
#include "harness/records/rows.h"
#include "harness/timing/peer_libraries.h"

namespace klab {
namespace {

using I = Instructions;

TEST(PeerLibraries, KnowsKernelsOlderThanTheProcessor) {
  const auto held = [](I kernels, I processor, I most) {
    return judged({.name = "made up", .kernels = "", .held_back = ""}, kernels, processor, most).held_back;
  };
  EXPECT_EQ(held(I::avx2, I::avx512, I::avx512), "its kernels use AVX2, and the processor has AVX-512");
  EXPECT_EQ(held(I::avx512, I::amx, I::amx), "its kernels use AVX-512, and the processor has AMX");
  EXPECT_EQ(held(I::avx512, I::amx, I::avx512), "") << "its op has no use for tiles";
  EXPECT_EQ(held(I::avx512, I::avx512, I::amx), "");
  EXPECT_EQ(held(I::avx512, I::avx2, I::amx), "");
  EXPECT_EQ(held(I::unknown, I::amx, I::amx), "") << "nobody knows";
}

TEST(PeerLibraries, KnowsCoresAndInstructionSetsByName) {
  EXPECT_EQ(instructions_of_core("SkylakeX"), I::avx512);
  EXPECT_EQ(instructions_of_core("SapphireRapids"), I::avx512);
  EXPECT_EQ(instructions_of_core("Haswell"), I::avx2);
  EXPECT_EQ(instructions_of_core("Zen"), I::avx2);
  EXPECT_EQ(instructions_of_core("Prescott"), I::sse);
  EXPECT_EQ(instructions_of_core("Next"), I::unknown);
  EXPECT_EQ(isa_of_onednn(0xE7), (std::pair<std::string, I>("avx512_core_bf16", I::avx512)));
  EXPECT_EQ(isa_of_onednn(0x3E7), isa_of_onednn(0xFEF)) << "AMX in versions 2 and 3";
  EXPECT_EQ(isa_of_onednn(0x12345), (std::pair<std::string, I>("isa 0x12345", I::unknown)));
}

TEST(PeerLibraries, SaysNothingOfRungs) {
  const Variant* rung = find_variant("matmul.cpu.01_naive");
  ASSERT_NE(rung, nullptr);
  EXPECT_EQ(peer_library(*rung).name, "");
}

/// A ladder of matmul with both libraries, in made-up times.
Ladder two_peers(double openblas, double onednn) {
  Ladder l;
  l.op = "matmul";
  l.shape = {.name = "made up", .shape = {64, 64, 64}};
  l.cost = find_op("matmul")->op.cost(l.shape.shape);
  l.threads = 1;
  l.cache = "hot";
  l.series = {{.variant = "matmul.cpu.01_naive"},
              {.variant = "matmul.cpu.90_openblas"},
              {.variant = "matmul.cpu.91_onednn"}};
  for (int i = 0; i < 9; ++i) {
    l.series[0].seconds.push_back(1);
    l.series[1].seconds.push_back(openblas);
    l.series[2].seconds.push_back(onednn);
  }
  return l;
}

std::string text_of(const Ladder& ladder) {
  return ladder_text(ladder, rows_of(*lab_of("matmul"), ladder, this_machine()));
}

TEST(PeerLibraries, ComparesWithAPeerThatIsNotHeldBack) {
  const PeerLibrary old{"OpenBLAS 0.3.21", "Haswell", "its kernels use AVX2, and the processor has AVX-512"},
      current{"oneDNN 3.2.0", "avx512_core", ""};
  const auto peer = [](const Ladder& l) { return rows_of(*lab_of("matmul"), l, this_machine())[0].peer; };
  {
    const GivenPeerLibraries given({{"matmul.cpu.90_openblas", old}, {"matmul.cpu.91_onednn", current}});
    EXPECT_EQ(peer(two_peers(0.1, 0.2)), "matmul.cpu.91_onednn") << "though it takes longer";
    const std::string text = text_of(two_peers(0.1, 0.2));
    EXPECT_NE(text.find("cpu.90_openblas is OpenBLAS 0.3.21 with kernels Haswell: held back, its kernels use "
                        "AVX2, and the processor has AVX-512"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("cpu.91_onednn is oneDNN 3.2.0 with kernels avx512_core\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("best"), std::string::npos) << text;
  }
  {
    const GivenPeerLibraries given({{"matmul.cpu.90_openblas", old}, {"matmul.cpu.91_onednn", old}});
    EXPECT_EQ(peer(two_peers(0.1, 0.2)), "matmul.cpu.90_openblas") << "no other one is better";
    const std::string text = text_of(two_peers(0.1, 0.2));
    EXPECT_EQ(text.find("best"), std::string::npos) << text;
    EXPECT_NE(text.find("held back"), std::string::npos) << text;
  }
  const GivenPeerLibraries given({});
  EXPECT_EQ(peer(two_peers(0.1, 0.2)), "matmul.cpu.90_openblas");
  EXPECT_EQ(text_of(two_peers(0.1, 0.2)).find("held back"), std::string::npos);
}

}  // namespace
}  // namespace klab
