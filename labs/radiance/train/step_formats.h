// Formats of the tensors of a step between its ops. Ops compute in float, as tensor cores do after factors of
// 16 bits; so does everything after the last gradient: masters, moments and the optimizer.
#pragma once

#include <optional>

#include "harness/program/loss_scale.h"
#include "reference/formats.h"

namespace klab {

/// By kind of tensor; null: floats. Parameters are copied from float masters before they are used.
struct StepFormats {
  const NarrowFormat* table = nullptr;  // what the encoding reads
  /// A copy of a plain table in half precision in addition to the masters, for rungs that read 2 bytes a
  /// number.
  bool half_table = false;
  const NarrowFormat* density = nullptr;  // matrices of the networks
  const NarrowFormat* color = nullptr;    //
  const NarrowFormat* activations =
      nullptr;  // features, what the density network gives, what the color network reads and gives
  const NarrowFormat* gradients =
      nullptr;  // of all these, and of the matrices; the table's is added up in float
  const NarrowFormat* moments = nullptr;  // Adam's, all of them
  /// Format of a picture's parameters in memory, which are not copied from masters (reference/narrow_numbers.h); -1: floats.
  int64_t held = -1;

  bool any() const {
    return half_table || table != nullptr || density != nullptr || color != nullptr ||
           activations != nullptr || gradients != nullptr || moments != nullptr;
  }
};

/// How a trainer stores its tensors, and its factor on the loss. Without a factor, values that are not finite
/// end the run; with one the step is skipped.
struct StepPrecision {
  StepFormats formats = {};
  std::optional<LossScaleSettings> scale = std::nullopt;
};

/// Returns the formats of --precision f16 on a processor: the networks in half precision, the table in float.
/// Rounding the features costs one product, but copying the whole table each step would cost more than the
/// step.
inline StepFormats half_formats() {
  return {.density = &kF16, .color = &kF16, .activations = &kF16, .gradients = &kF16};
}

/// Returns the formats for CUDA rungs. The table is read in half precision: its copy takes the time of one
/// kernel. Rungs that multiply halves round their inputs, so that activations need no pass for it; gradients
/// have one, which counts the lost values.
inline StepFormats half_formats_on_a_gpu() {
  return {.half_table = true, .density = &kF16, .color = &kF16, .gradients = &kF16};
}

}  // namespace klab
