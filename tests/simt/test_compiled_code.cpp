// Reading the output of nvdisasm: the loads and stores of each line, their width, their loop. The text is in
// its form.
// ctest: sanitized
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "harness/simt/compiled_code.h"

namespace klab::simt {
namespace {

std::string kernel(const std::string& mangled, const std::string& lines) {
  return "//--------------------- .text." + mangled + " --------------------------\n\t.section\t.text." +
         mangled + "\n" + mangled + ":\n" + lines;
}
std::string at(int line) { return "\t//## File \"a/k.cu\", line " + std::to_string(line) + "\n"; }
std::string inlined(const std::string& file, int line, int outer) {
  return "\t//## File \"" + file + "\", line " + std::to_string(line) + " inlined at \"a/k.cu\", line " +
         std::to_string(outer) + "\n" + at(outer);
}
std::string run(const std::string& instruction) {
  return "        /*0010*/                   " + instruction + " ;\n";
}

const CompiledAccess* find(const CompiledKernel& k, int line, Space space, bool write) {
  for (const CompiledAccess& a : k.accesses)
    if (a.line == line && a.space == space && a.write == write) return &a;
  return nullptr;
}

TEST(CompiledCode, WidthsAndNumbersByLine) {
  const CompiledCode code = read_disassembly(
      kernel("_Z1kPf",
             at(3) + run("LDS.128 R4, [R2]") + run("LDS.128 R8, [R2+0x10]") + run("@!P0 LDS.64 R8, [R2]") +
                 at(4) + run("LDG.E.U16.CONSTANT R4, desc[UR4][R2.64]") + run("STG.E desc[UR4][R2.64], R4") +
                 run("RED.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4") + run("LDL R0, [R1]") +
                 run("STL.64 [R1], R0") + run("FADD R1, R2, R3")),
      "a");
  ASSERT_EQ(code.kernels.size(), 1U);
  const CompiledKernel& k = code.kernels[0];
  EXPECT_EQ(k.name, "k");
  EXPECT_EQ(k.local_loads, 1);
  EXPECT_EQ(k.local_stores, 1);
  const CompiledAccess* loads = find(k, 3, Space::shared, false);
  ASSERT_NE(loads, nullptr);
  EXPECT_EQ(loads->file, "k.cu");
  EXPECT_EQ(loads->instructions, 3);
  EXPECT_EQ(loads->bytes, 40U);
  EXPECT_EQ(loads->widths[4], 2);
  EXPECT_EQ(loads->widths[3], 1);
  EXPECT_EQ(loads->depth, 0);
  const CompiledAccess* halves = find(k, 4, Space::global, false);
  ASSERT_NE(halves, nullptr);
  EXPECT_TRUE(halves->constant);
  EXPECT_EQ(halves->widths[1], 1);
  int atomics = 0;
  for (const CompiledAccess& a : k.accesses) {
    atomics += a.atomic;
    EXPECT_EQ(a.atomics, a.atomic ? kReduction : 0);
  }
  EXPECT_EQ(atomics, 1);
}

TEST(CompiledCode, ReadsCopiesProductsAndBarriersOfHopper) {
  const CompiledCode code = read_disassembly(
      kernel("_Z1kPf", at(3) + run("SYNCS.EXCH.64 URZ, [UR7], UR4") + run("FENCE.VIEW.ASYNC.S") + at(4) +
                           run("UTMALDG.2D [UR8], [UR4], desc[URZ]") +
                           run("@P0 UTMALDG.2D [UR16], [UR4], desc[URZ]") +
                           run("UBLKCP.S.G [UR6], [UR4], UR8") + at(5) + run("UBLKCP.G.S [UR4], [UR6], UR8") +
                           run("UTMASTG.2D [UR8], [UR4]") + at(6) + run("UTMAREDG.2D.ADD [UR8], [UR4]") +
                           at(7) + run("HGMMA.64x128x16.F32 R24, gdesc[UR8], !UPT") +
                           run("HGMMA.64x128x16.F32 R24, gdesc[UR12], R24") +
                           run("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4") + at(8) +
                           run("ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, desc[UR6][R6.64], R17")),
      "a");
  const CompiledKernel& k = code.kernels.at(0);
  const auto unit = [&](int line, const std::string& name) {
    const auto at = std::ranges::find_if(
        k.units, [&](const CompiledUnit& u) { return u.line == line && u.name == name; });
    return at == k.units.end() ? 0 : at->instructions;
  };
  EXPECT_EQ(unit(3, "SYNCS.EXCH.64"), 1);
  EXPECT_EQ(unit(3, "FENCE.VIEW.ASYNC.S"), 1);
  EXPECT_EQ(unit(4, "UTMALDG.2D"), 2);
  EXPECT_EQ(unit(7, "HGMMA.64x128x16.F32"), 2);
  EXPECT_EQ(k.units.size(), 8U);
  const auto engine = [&](int line, bool write, bool atomic) {
    return std::ranges::count_if(k.accesses, [&](const CompiledAccess& a) {
      return a.engine && a.line == line && a.write == write && a.atomic == atomic;
    });
  };
  EXPECT_EQ(engine(4, false, false), 1);
  EXPECT_EQ(engine(5, true, false), 1);
  EXPECT_EQ(engine(6, true, true), 1);
  for (const CompiledAccess& a : k.accesses)
    if (a.atomic && !a.engine && a.space == Space::global) {
      EXPECT_EQ(a.atomics, a.line == 7 ? kReduction : kAtomicResult);
    }
}

TEST(CompiledCode, LoopsAreBranchesBack) {
  const CompiledCode code = read_disassembly(
      kernel("_Z1kPf", at(1) + run("LDG.E R1, [R2.64]") + ".L_x_0:\n" + at(2) + run("LDG.E R1, [R2.64]") +
                           ".L_x_1:\n" + at(3) + run("LDG.E.64 R1, [R2.64]") + run("@P0 BRA `(.L_x_1)") +
                           at(3) + run("LDG.E R1, [R2.64]") + run("@P1 BRA `(.L_x_0)") + run("EXIT") +
                           ".L_x_2:\n" + run("BRA `(.L_x_2)")),
      "a");
  const CompiledKernel& k = code.kernels.at(0);
  EXPECT_EQ(find(k, 1, Space::global, false)->depth, 0);
  EXPECT_EQ(find(k, 2, Space::global, false)->depth, 1);
  // For a line in several loops the one that moves most counts.
  EXPECT_EQ(find(k, 3, Space::global, false)->depth, 2);
  EXPECT_EQ(find(k, 3, Space::global, false)->bytes, 8U);
  EXPECT_EQ(find(k, 3, Space::global, false)->instructions, 2);
}

TEST(CompiledCode, CountsLinesOfTheProgramNotOfTheToolkit) {
  const CompiledCode code = read_disassembly(
      kernel("_Z1kPf", inlined("/opt/cuda/include/crt/mma.hpp", 99, 12) + run("LDSM.16.M88.4 R4, [R2]") +
                           inlined("a/part.cuh", 5, 13) + run("LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64]")),
      "a");
  const CompiledKernel& k = code.kernels.at(0);
  const CompiledAccess* matrix = find(k, 12, Space::shared, false);
  ASSERT_NE(matrix, nullptr);
  EXPECT_TRUE(matrix->matrix);
  EXPECT_EQ(matrix->bytes, 16U);
  const CompiledAccess* from = find(k, 5, Space::global, false);
  const CompiledAccess* to = find(k, 5, Space::shared, true);
  ASSERT_TRUE(from != nullptr && to != nullptr);
  EXPECT_EQ(from->file, "part.cuh");
  EXPECT_EQ(to->widths[4], 1);
}

TEST(CompiledCode, KernelsAreFoundByNameAndByTemplate) {
  const CompiledCode code = read_disassembly(
      kernel("_Z5tiledILi0EEvPf", at(1) + run("EXIT")) + kernel("_Z5tiledILi1EEvPf", at(1) + run("EXIT")) +
          kernel("_ZN4klab59_GLOBAL__N__0a1b_5_a_cu_17423onePf", at(1)),
      "a");
  ASSERT_NE(code.find("tiled<1>"), nullptr);
  EXPECT_EQ(code.find("tiled<1>")->name, "tiled<1>");
  EXPECT_EQ(code.find("tiled<2>"), nullptr);  // two are like it
  EXPECT_EQ(code.find("other"), nullptr);
}

TEST(CompiledCode, RefusesTextThatIsNoDisassembly) {
  EXPECT_THROW(read_disassembly("", "a"), std::runtime_error);
  EXPECT_THROW(read_disassembly("nvdisasm fatal: no such file\n", "a"), std::runtime_error);
  try {
    read_disassembly("hello", "x.sass");
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(std::string(e.what()).find("x.sass: "), 0U);
  }
}

}  // namespace
}  // namespace klab::simt
