// Work between the batches of a step: the occupancy grid, the optimizer, the average of the weights.
#include <algorithm>

#include "labs/radiance/train/step.h"
#include "reference/clip_norm/clip_norm.h"
#include "reference/ema/ema.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/occupancy_bits/occupancy_bits.h"
#include "reference/occupancy_choose/occupancy_choose.h"
#include "reference/occupancy_place/occupancy_place.h"
#include "reference/occupancy_update/occupancy_update.h"

namespace klab {

// Cells are chosen in the whole grid, then evaluated in groups as large as one pass has room for, through its
// tensors: evaluating few samples reads as much of the table as evaluating many. Several trainers choose the
// same cells and take turns with groups, so that each call is exactly one that a single trainer makes.
void TrainStep::list_occupancy() {
  const int64_t cells = cascades_ * c_.grid * c_.grid * c_.grid, room = cells_of_look();
  const std::string stage = "occupancy";
  t.all_cells = arena.choice("all cells", 1);
  t.chosen = arena.tensor<int32_t>("chosen", 1, cells);
  t.chosen_count = arena.tensor<int32_t>("chosen count", 1, 1);
  const int64_t chosen = arena.count("chosen", t.chosen_count, 0, cells);
  occupancy.add<OccupancyChoose>(stage, {.cells = cells, .first = 0, .grid_cells = cells, .all = t.all_cells},
                                 {.seed = numbers(&StepNumbers::seed),
                                  .step = numbers(&StepNumbers::step),
                                  .values = t.values,
                                  .bits = t.bits,
                                  .occupied = t.occupied,
                                  .share = number(&StepNumbers::grid_share),
                                  .chosen = t.chosen,
                                  .count = t.chosen_count});
  copy_parameters(occupancy);
  const Look& look = looks_.front();
  const Seen& seen = seen_.front();
  const int64_t first_own = part_.rank * room;
  if (first_own >= cells)  // more trainers than passes: values decay here, too
    occupancy.add<OccupancyUpdate>(stage, {.cells = cells, .samples = 0, .decays = 1},
                                   {.chosen = t.chosen,
                                    .raw = seen.geometry,
                                    .decay = number(&StepNumbers::grid_decay),
                                    .step_size = number(&StepNumbers::smallest_step),
                                    .values = t.values});
  for (int64_t first = first_own; first < cells; first += part_.ranks * room) {
    const int64_t samples = arena.part("looked at", chosen, first, std::min(room, cells - first));
    occupancy.add<OccupancyPlace>(stage,
                                  {.samples = samples, .grid = c_.grid, .cascades = cascades_, .first = 0},
                                  {.seed = numbers(&StepNumbers::seed),
                                   .step = numbers(&StepNumbers::step),
                                   .chosen = t.chosen + first,
                                   .positions = look.positions});
    look_up(occupancy, stage, samples, look.positions, seen.features);
    occupancy.add<MlpFwd>(stage, density_shape(c_, samples),
                          {.x = seen.features, .weights = used_[size_t(Part::density)], .y = seen.geometry});
    occupancy.add<OccupancyUpdate>(stage, {.cells = cells, .samples = samples, .decays = first == first_own},
                                   {.chosen = t.chosen + first,
                                    .raw = seen.geometry,
                                    .decay = number(&StepNumbers::grid_decay),
                                    .step_size = number(&StepNumbers::smallest_step),
                                    .values = t.values});
  }
  occupancy_bits.add<OccupancyBits>(stage, {.cells = cells},
                                    {.values = t.values,
                                     .threshold = number(&StepNumbers::grid_threshold),
                                     .bits = t.bits,
                                     .occupied = t.occupied});
}

void TrainStep::list_update() {
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const int64_t all = size_of(part);
    const Stretch own = part == Part::table ? part_.of(0, all) : Stretch{0, all};
    if (c_.clip_norm > 0 && part != Part::table)
      update.add<ClipNorm>("clip_norm", {.n = all},
                           {.limit = number(&StepNumbers::clip),
                            .gradient = t.gradient[p],
                            .norm = numbers(&StepNumbers::norm) + (part == Part::color)});
    move(update, part == Part::table ? &StepNumbers::table : &StepNumbers::networks, own, group_of(part),
         {t.parameters[p], t.gradient[p], t.m[p], t.v[p], t.steps[p]});
    for (float* moment : {t.m[p], t.v[p]})
      round(update, "round moments", formats_.moments, moment + own.begin, moment + own.begin, 1, own.count(),
            number(&StepNumbers::one), numbers(&StepNumbers::not_counted));
    if (c_.ema > 0 && own.count() > 0)
      average.add<Ema>("ema", {.n = own.count()},
                       {.keep = number(&StepNumbers::keep),
                        .now = t.parameters[p] + own.begin,
                        .average = t.average[p] + own.begin});
  }
}

}  // namespace klab
