#include "harness/core/instruction_sets.h"

#include <hwy/targets.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// The linker's names for the ends of the section; null in a program without files with vectors.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const klab::VectorCode __start_klab_vectors[];
[[gnu::weak, gnu::visibility("hidden")]] extern const klab::VectorCode __stop_klab_vectors[];
}

namespace klab {
namespace {

/// Targets of Highway without vectors.
constexpr int64_t one_lane = HWY_SCALAR | HWY_EMU128;
/// Targets that kernels are built for on some processor (cmake/KlabIsas.cmake); SSSE3 is none of them.
constexpr int64_t vectors = HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON;

std::span<const VectorCode> files_of_this_program() {
  if (__start_klab_vectors == nullptr) return {};
  return {__start_klab_vectors, size_t(__stop_klab_vectors - __start_klab_vectors)};
}

/// Runs before the constructors of the program's own objects, which have no priority.
[[gnu::constructor(101)]] void end_on_another_processor() {
  int64_t processor = hwy::SupportedTargets();
  if (const char* best = std::getenv("KLAB_PRETEND_ISA"); best != nullptr)
    processor = pretend_best(processor, best);
  const int64_t missing = missing_targets(files_of_this_program(), processor);
  if (missing == 0) return;
  std::fprintf(stderr, "klab: %s\n", built_for_another_processor(missing).c_str());
  _exit(2);
}

}  // namespace

int64_t missing_targets(std::span<const VectorCode> files, int64_t processor) {
  for (const VectorCode& file : files) {
    if (file.targets == 0) continue;
    if ((file.targets & processor) == 0) return file.targets;
    const bool has_vectors = (file.targets & vectors) != 0, could = (processor & vectors) != 0;
    if (has_vectors && could && (file.targets & processor & vectors) == 0) return file.targets;
  }
  return 0;
}

int64_t common_targets(std::span<const VectorCode> files) {
  int64_t common = -1, any = 0;
  for (const VectorCode& file : files) {
    if (file.targets == 0 || file.fixed != 0) continue;
    common &= file.targets;
    any |= file.targets;
  }
  return (common & any) != 0 ? common & any : any;
}

int64_t buildable_targets() { return HWY_AVX3 | HWY_AVX2 | HWY_SSE4; }

int64_t built_targets() { return common_targets(files_of_this_program()); }

std::string target_names(int64_t targets) {
  std::string names;
  for (; targets != 0; targets &= targets - 1)
    names += (names.empty() ? "" : ", ") + std::string(hwy::TargetName(targets & -targets));
  return names;
}

int64_t target_of_name(const std::string& name) {
  for (int bit = 0; bit < 63; ++bit)
    if (name != "Unknown" && name == hwy::TargetName(int64_t(1) << bit)) return int64_t(1) << bit;
  return 0;
}

int64_t pretend_best(int64_t processor, const std::string& name) {
  const int64_t best = target_of_name(name);
  // Better targets have lower bits.
  return best == 0 ? processor : processor & ~(best - 1);
}

std::string built_for_another_processor(int64_t targets) {
  // What has vectors names the processor; those of one lane run everywhere.
  const int64_t named = (targets & ~one_lane) != 0 ? targets & ~one_lane : targets;
  std::string names = target_names(named);
  if (named == HWY_AVX3) names += " (AVX-512)";
  return "this program was built for " + names +
         ", which this processor does not have: build it again here, or with -DKLAB_ISAS=all";
}

}  // namespace klab
