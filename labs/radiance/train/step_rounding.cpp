// A step with tensors stored in fewer bits: which are rounded where, and how gradients lose the loss's scale.
#include <stdexcept>

#include "labs/radiance/field/rays.h"
#include "labs/radiance/train/step.h"
#include "reference/all_finite/all_finite.h"
#include "reference/cast/cast.h"
#include "reference/round_narrow/round_narrow.h"
#include "reference/unscale/unscale.h"

namespace klab {

void TrainStep::declare_copies() {
  const std::array formats = {formats_.table, formats_.density, formats_.color};
  constexpr std::array names = {"table in fewer bits", "density in fewer bits", "color in fewer bits"};
  for (const Part part : kParts) {
    const auto p = size_t(part);
    used_[p] = formats[p] == nullptr ? t.parameters[p] : arena.tensor<float>(names[p], 1, size_of(part));
  }
  // Lists are made after all symbols.
  const int64_t encoded = c_.levels * c_.features, color_in = color_shape(c_, 0).in;
  const auto product = [&](int64_t rows, int64_t of) { products_[{rows, of}] = arena.product(rows, of); };
  for (const int64_t rows :
       {int64_t{1}, int64_t{3}, c_.geometry_features, encoded, color_in - c_.geometry_features})
    product(rows, t.samples);
  for (const Look& look : looks_)
    for (const int64_t rows : {c_.geometry_features, encoded}) product(rows, look.samples);
  if (formats_.half_table && plain_)
    table_half_ = arena.tensor<uint16_t>("table in halves", 1, size_of(Part::table));
}

void TrainStep::round(OpList& list, const std::string& stage, const NarrowFormat* format, const float* from,
                      float* to, int64_t rows, int64_t columns, const float* factor, int32_t* lost) const {
  if (format == nullptr) return;
  const int64_t number = RoundNarrow::number_of(*format);
  if (number < 0)
    throw std::invalid_argument("no tensor of a step is stored as " + std::string(format->name));
  const int64_t n = Arena::is_symbol(columns) ? products_.at({rows, columns}) : rows * columns;
  list.add<RoundNarrow>(stage, {.n = n, .format = number},
                        {.x = from, .factor = factor, .y = to, .lost = lost});
}

// Copies parameters before they are used, and after every change: a checkpoint has the masters only.
void TrainStep::copy_parameters(OpList& list) const {
  const std::array formats = {formats_.table, formats_.density, formats_.color};
  for (const Part part : kParts) {
    const auto p = size_t(part);
    round(list, "round parameters", formats[p], t.parameters[p], used_[p], 1, size_of(part),
          number(&StepNumbers::one), numbers(&StepNumbers::not_counted));
  }
  if (table_half_ != nullptr)
    list.add<Cast>("cast", {.n = size_of(Part::table), .format = Cast::f16},
                   {.x = t.parameters[size_t(Part::table)],
                    .scale = number(&StepNumbers::one),
                    .out = reinterpret_cast<uint8_t*>(table_half_)});
}

void TrainStep::round_activation(OpList& list, float* values, int64_t rows, int64_t columns) const {
  round(list, "round activations", formats_.activations, values, values, rows, columns,
        number(&StepNumbers::one), numbers(&StepNumbers::not_counted));
}

// Rounds a gradient. Gradients that come directly from the loss, which is in float, are also multiplied by
// its scale (`scaled`).
void TrainStep::round_gradient(OpList& list, float* values, int64_t rows, int64_t columns,
                               bool scaled) const {
  round(list, "round gradients", formats_.gradients, values, values, rows, columns,
        number(scaled ? &StepNumbers::scale : &StepNumbers::one), numbers(&StepNumbers::lost));
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
