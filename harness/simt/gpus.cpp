#include "harness/simt/gpus.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>

#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"

namespace klab::simt {
namespace {

constexpr size_t operator""_KiB(unsigned long long n) { return n * 1024; }

// Returns the name in lower case, without spaces: "rtx4090".
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (c != ' ') text += char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::atomic<const GpuModel*>& chosen() {
  static std::atomic<const GpuModel*> gpu{[] {
    const char* name = std::getenv("KLAB_GPU");
    const GpuModel* found = name != nullptr && *name != '\0' ? find_gpu(name) : nullptr;
    return found != nullptr ? found : find_gpu("h100");
  }()};
  return gpu;
}

}  // namespace

const std::vector<GpuModel>& gpus() {
  static const std::vector<GpuModel> list = {
      {"NVIDIA T4", "t4", 75, 40, 32, 16, 64_KiB, 64_KiB, 0, {320e9, 1.59e9, 64, 512}},
      {"NVIDIA V100", "v100", 70, 80, 64, 32, 96_KiB, 96_KiB, 0, {900e9, 1.53e9, 64, 512, 4, 2048}},
      {"NVIDIA A100", "a100", 80, 108, 64, 32, 164_KiB, 163_KiB, 1_KiB, {2039e9, 1.41e9, 64, 1024, 4, 5120}},
      {"NVIDIA RTX 3090", "3090", 86, 82, 48, 16, 100_KiB, 99_KiB, 1_KiB, {936e9, 1.695e9, 128, 512}},
      {"NVIDIA RTX A6000", "a6000", 86, 84, 48, 16, 100_KiB, 99_KiB, 1_KiB, {768e9, 1.8e9, 128, 512}},
      {"NVIDIA RTX 3070", "3070", 86, 46, 48, 16, 100_KiB, 99_KiB, 1_KiB, {448e9, 1.725e9, 128, 512}},
      {"NVIDIA RTX 4090", "4090", 89, 128, 48, 24, 100_KiB, 99_KiB, 1_KiB, {1008e9, 2.52e9, 128, 512}},
      {"NVIDIA L4", "l4", 89, 58, 48, 24, 100_KiB, 99_KiB, 1_KiB, {300e9, 2.04e9, 128, 512}},
      {"NVIDIA L40S", "l40s", 89, 142, 48, 24, 100_KiB, 99_KiB, 1_KiB, {864e9, 2.52e9, 128, 512}},
      {"NVIDIA H100 SXM", "h100", 90, 132, 64, 32, 228_KiB, 227_KiB, 1_KiB, {3352e9, 1.98e9, 128, 2048}},
      {"NVIDIA H200", "h200", 90, 132, 64, 32, 228_KiB, 227_KiB, 1_KiB, {4800e9, 1.98e9, 128, 2048}},
      {"NVIDIA B200", "b200", 100, 148, 64, 32, 228_KiB, 227_KiB, 1_KiB, {8000e9, 1.965e9, 128, 4096}},
      {"NVIDIA RTX 5090", "5090", 120, 170, 48, 24, 100_KiB, 99_KiB, 1_KiB, {1792e9, 2.407e9, 128, 512}},
  };
  return list;
}

const GpuModel* find_gpu(const std::string& name) {
  const std::string wanted = plain(name);
  if (wanted.empty()) return nullptr;
  for (const GpuModel& g : gpus())
    if (wanted == g.short_name || wanted == plain(g.name)) return &g;
  for (const GpuModel& g : gpus())
    if (plain(g.name).find(wanted) != std::string::npos) return &g;
  return nullptr;
}

const GpuModel* model_of(const std::string& device) {
  const GpuModel* best = nullptr;
  size_t longest = 0;
  for (const GpuModel& g : gpus()) {
    const std::string name = g.short_name;
    if (plain(device).find(name) == std::string::npos || name.size() <= longest) continue;
    best = &g;
    longest = name.size();
  }
  return best;
}

const GpuModel& named_gpu() { return *chosen(); }
void name_gpu(const GpuModel& gpu) { chosen() = &gpu; }

const DeviceLimits& device_limits() {
  thread_local const GpuModel* of = nullptr;
  thread_local DeviceLimits limits{};
  const GpuModel& g = named_gpu();
  const int asked = Session::current().options().multiprocessors;
  const int multiprocessors = asked > 0 ? asked : g.multiprocessors;
  if (of == &g && limits.multiprocessors == multiprocessors) return limits;
  of = &g;
  limits = {.name = g.name,
            .multiprocessors = multiprocessors,
            .shared_per_block = 48_KiB,
            .shared_per_block_optin = g.shared_per_block,
            .shared_per_multiprocessor = g.shared,
            .registers_per_multiprocessor = g.registers,
            .threads_per_multiprocessor = 32 * g.warps,
            .compute_capability = g.compute_capability};
  return limits;
}

std::vector<size_t> carveouts(const GpuModel& gpu) {
  const auto kib = [](std::initializer_list<size_t> list) {
    std::vector<size_t> bytes;
    for (const size_t n : list) bytes.push_back(n * 1_KiB);
    return bytes;
  };
  switch (gpu.compute_capability) {
    case 70:
      return kib({0, 8, 16, 32, 64, 96});
    case 75:
      return kib({32, 64});
    case 80:
      return kib({0, 8, 16, 32, 64, 100, 132, 164});
    case 86:
    case 89:
    case 120:
      return kib({0, 8, 16, 32, 64, 100});
    default:
      return kib({0, 8, 16, 32, 64, 100, 132, 164, 196, 228});
  }
}

namespace {
std::atomic<int> carveout_percent{100};
}  // namespace

void choose_carveout(int percent) { carveout_percent = std::clamp(percent, 0, 100); }
int chosen_carveout() { return carveout_percent; }

size_t carveout(const GpuModel& gpu) {
  for (const size_t bytes : carveouts(gpu))
    if (bytes * 100 >= gpu.shared * size_t(carveout_percent)) return bytes;
  return gpu.shared;
}

Occupancy occupancy(const GpuModel& gpu, unsigned threads, int registers, size_t shared) {
  Occupancy o;
  const int warps = int((threads + 31) / 32);
  if (warps == 0) return o;
  const auto up = [](auto n, auto unit) { return (n + unit - 1) / unit * unit; };
  struct Limit {
    const char* name;
    int blocks;
  };
  std::vector<Limit> limits = {{"threads", gpu.warps / warps}, {"blocks", gpu.blocks}};
  if (registers > 0) {
    const int a_warp = up(registers * 32, gpu.registers_unit);
    limits.push_back({"registers", gpu.registers / a_warp / gpu.warps_unit * gpu.warps_unit / warps});
  }
  const size_t a_block = up(shared + gpu.shared_reserved, gpu.shared_unit);
  if (shared > 0) {
    // A block that needs more than the carve-out gets the next larger one that fits it.
    size_t all = carveout(gpu);
    for (const size_t bytes : carveouts(gpu))
      if (all < a_block && bytes >= a_block) all = bytes;
    limits.push_back({"shared memory", int(all / a_block)});
  }
  const auto least = std::ranges::min_element(limits, {}, &Limit::blocks);
  o.blocks = least->blocks;
  o.warps = o.blocks * warps;
  o.fraction = double(o.warps) / gpu.warps;
  if (o.fraction < 1) o.limits = least->name;
  return o;
}

}  // namespace klab::simt
