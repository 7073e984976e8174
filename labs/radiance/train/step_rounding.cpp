// Of a step whose tensors are stored in fewer bits: what is rounded where, and how gradients get rid of the loss's scale.
#include "labs/radiance/train/step.h"
#include "reference/all_finite/all_finite.h"
#include "reference/unscale/unscale.h"

namespace klab {

void TrainStep::declare_copies() {
  const std::array formats = {formats_.table, formats_.density, formats_.color};
  constexpr std::array names = {"table in fewer bits", "density in fewer bits", "color in fewer bits"};
  for (const Part part : kParts) {
    const auto p = size_t(part);
    used_[p] = formats[p] == nullptr ? t.parameters[p] : arena.tensor<float>(names[p], 1, size_of(part));
  }
}

// Before they are used, and after every change: a checkpoint has the masters only.
void TrainStep::copy_parameters(OpList& list) const {
  const std::array formats = {formats_.table, formats_.density, formats_.color};
  for (const Part part : kParts) {
    const auto p = size_t(part);
    list.round("round parameters", formats[p], t.parameters[p], used_[p], 1, size_of(part));
  }
}

void TrainStep::round_activation(OpList& list, float* values, int64_t rows, int64_t columns) const {
  list.round("round activations", formats_.activations, values, values, rows, columns);
}

// Where gradients come from the loss, which is in float, they are multiplied by its scale; `scaled` says so.
void TrainStep::round_gradient(OpList& list, float* values, int64_t rows, int64_t columns,
                               bool scaled) const {
  list.round("round gradients", formats_.gradients, values, values, rows, columns,
             scaled ? number(&StepNumbers::scale) : nullptr, true);
}

void TrainStep::unscale(OpList& list, float* gradient, int64_t n, int check) const {
  if (formats_.gradients == nullptr) return;
  list.add<Unscale>("unscale", {.n = n},
                    {.scale = number(&StepNumbers::scale),
                     .first = numbers(&StepNumbers::not_finite) + check,
                     .gradient = gradient});
}

void TrainStep::check_gradients(OpList& list) const {
  for (const Part part : {Part::density, Part::color}) {
    float* const gradient = t.gradient[size_t(part)];
    const int check = part == Part::color;
    round_gradient(list, gradient, 1, size_of(part));
    list.add<AllFinite>("all_finite", {.n = size_of(part)},
                        {.p = gradient, .first = numbers(&StepNumbers::not_finite) + check});
    unscale(list, gradient, size_of(part), check);
  }
}

}  // namespace klab
