#include "harness/core/tile_unit.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "harness/core/timing_question.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace klab {
namespace {

thread_local bool model_held = false;

#if defined(__x86_64__) && defined(__linux__)

constexpr uint64_t kTileConfig = uint64_t(1) << 17, kTileData = uint64_t(1) << 18;  // components of XSAVE

uint64_t extended_control(uint32_t which) {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(which));
  return uint64_t(high) << 32 | low;
}

TileAnswers ask() {
  constexpr int kRequestPermission = 0x1023, kTileDataNumber = 18;  // arch_prctl(2)
  constexpr uint32_t kSystemSaves = 1U << 27, kBf16 = 1U << 22, kTiles = 1U << 24, kInt8 = 1U << 25;
  TileAnswers answers;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSystemSaves) == 0) return answers;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return answers;
  answers.tiles = (d & kTiles) != 0;
  answers.bf16 = (d & kBf16) != 0;
  answers.int8 = (d & kInt8) != 0;
  if (!answers.tiles) return answers;
  answers.saved = (extended_control(0) & (kTileConfig | kTileData)) == (kTileConfig | kTileData);
  if (answers.saved && syscall(SYS_arch_prctl, kRequestPermission, kTileDataNumber) != 0)
    answers.error = errno;
  return answers;
}

/// Returns whether XGETBV tells which components are in use.
bool tells_use() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xD, 1, &a, &b, &c, &d) != 0 && (a & 4U) != 0;
}

bool unit_holds() {
  static const bool tells = tile_unit().state == TileUnit::State::usable && tells_use();
  return tells && (extended_control(1) & (kTileConfig | kTileData)) != 0;
}

void release_unit() { __asm__ volatile(".byte 0xC4, 0xE2, 0x78, 0x49, 0xC0" : : : "memory"); }  // tilerelease

#else

TileAnswers ask() { return {}; }
bool unit_holds() { return false; }
void release_unit() {}

#endif

TileAnswers asked() {
  const char* pretended = std::getenv("KLAB_PRETEND_TILES");
  const std::string text = pretended == nullptr ? "" : pretended;
  if (text == "absent") return {.pretended = true};
  if (text == "refused") return {.tiles = true, .bf16 = true, .int8 = true, .saved = true, .error = EPERM};
  return ask();
}

}  // namespace

TileUnit tile_unit_from(const TileAnswers& answers) {
  using State = TileUnit::State;
  const std::string needs = "needs a processor with AMX (Intel Xeon of the 4th generation or later)";
  if (answers.pretended)
    return {.state = State::absent,
            .why = needs + "; KLAB_PRETEND_TILES=absent hides whether this one has it"};
  if (!answers.tiles) return {.state = State::absent, .why = needs};
  if (!answers.saved)
    return {.state = State::refused,
            .why =
                "the system does not save AMX tiles (XCR0): needs Linux 5.16 or later, or a virtual machine "
                "whose host passes AMX on"};
  if (answers.error != 0)
    return {.state = State::refused,
            .why = std::string("the system refuses AMX tiles (arch_prctl ARCH_REQ_XCOMP_PERM: ") +
                   std::strerror(answers.error) + "): needs " +
                   (answers.error == ENOSPC  // arch/x86/kernel/fpu/xstate.c
                        ? "alternate signal stacks that have room for 8 KB more of state"
                        : "Linux 5.16 or later, and a container whose seccomp profile allows the call")};
  // Rungs take either format for granted where there are tiles, as processors have both.
  if (!answers.bf16 || !answers.int8)
    return {.state = State::refused,
            .why = std::string("AMX tiles without ") + (answers.bf16 ? "AMX-INT8" : "AMX-BF16") +
                   ": needs a virtual machine whose host passes on all of AMX"};
  return {.state = State::usable, .bf16 = answers.bf16, .int8 = answers.int8, .why = ""};
}

const TileUnit& tile_unit() {
  static const TileUnit unit = tile_unit_from(asked());
  return unit;
}

std::string why_no_tiles() {
  const TileUnit& unit = tile_unit();
  if (unit.state == TileUnit::State::absent && !asked_for_timing()) return "";
  return unit.why;
}

bool holds_tiles() { return model_held || unit_holds(); }

void release_tiles() {
  model_held = false;
  if (unit_holds()) release_unit();
}

void model_holds_tiles(bool held) { model_held = held; }

}  // namespace klab
