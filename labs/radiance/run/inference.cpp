#include "labs/radiance/run/inference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "harness/core/bytes.h"
#include "labs/radiance/field/codec.h"
#include "labs/radiance/field/field.h"
#include "labs/radiance/train/frequency_passes.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/matmul/matmul.h"
#include "reference/matmul_bf16/matmul_bf16.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {

PieceOptions piece_options(const std::string& batch, const std::string& memory) {
  PieceOptions options;
  if (!batch.empty() && batch != "auto") {
    constexpr int64_t kMost = 1 << 20;
    const auto end = batch.data() + batch.size();
    const auto [at, error] = std::from_chars(batch.data(), end, options.pixels);
    if (error != std::errc() || at != end || options.pixels < PiecewisePictures::kLeast ||
        options.pixels > kMost)
      throw std::invalid_argument(fmt::format("--batch {}: auto, or {} to {} pixels", batch.substr(0, 40),
                                              PiecewisePictures::kLeast, kMost));
  }
  if (memory.empty()) return options;
  try {
    options.memory = bytes_from(memory);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(std::string("--memory ") + e.what());
  }
  return options;
}

double most_gained(const Profile& pictures, double seconds) {
  static constexpr std::array<std::string_view, 5> kReaders = {HashgridFwd::name, HashtableFwd::name,
                                                               MlpFwd::name, VoxelShFwd::name, Matmul::name};
  double reading = 0;
  for (const auto& [stage, took] : pictures.seconds()) {
    const auto calls = pictures.calls().find(stage);
    const std::string& op = calls == pictures.calls().end() ? stage : calls->second.op;
    if (std::ranges::find(kReaders, op) != kReaders.end()) reading += took;
  }
  return seconds / std::max(seconds - reading, 1e-3 * seconds);
}

std::string held_text(const FieldModel& model, const Plan& plan) {
  if (model.precision() == Storage::f32) return "";
  std::vector<std::string> short_factors;
  if (multiplies_pairs(plan)) short_factors.emplace_back(MatmulBf16::name);
  const bool bytes = model.precision() == Storage::int8 && multiplies_bytes(plan);
  for (const auto& [op, choice] : plan.choices())
    if (bits_of(choice.variant->numerics.unit) < 32 && !(bytes && op == MlpNarrowFwd::name))
      short_factors.push_back(op);
  return fmt::format(
      "precision {}: tables and weights take {:.2f} MB in memory, {:.2f} MB as floats; {}\n",
      name_of(model.precision()), double(model.held_bytes()) * 1e-6, double(4 * model.numbers()) * 1e-6,
      bytes                   ? "factors of mlp_int8_fwd have 8 bits"
      : short_factors.empty() ? "products are in float"
                              : fmt::format("factors of {} have 16 bits", fmt::join(short_factors, ", ")));
}

}  // namespace klab
