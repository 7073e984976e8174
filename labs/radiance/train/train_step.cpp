// The step of the hash field from top to bottom: draw rays, march, look for what is visible, shade, compare, and back; then the
// optimizer, and what happens every few steps. Tensors are declared at the end (lab 16, section 2).
#include "labs/radiance/train/train_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "labs/radiance/field/rays.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/cast/cast.h"
#include "reference/clip_norm/clip_norm.h"
#include "reference/ema/ema.h"
#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/occupancy_bits/occupancy_bits.h"
#include "reference/occupancy_choose/occupancy_choose.h"
#include "reference/occupancy_place/occupancy_place.h"
#include "reference/occupancy_update/occupancy_update.h"
#include "reference/ray_march/ray_march.h"
#include "reference/round_narrow/round_narrow.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "reference/unscale/unscale.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

constexpr auto kTable = size_t(Part::table), kDensity = size_t(Part::density), kColor = size_t(Part::color);

}  // namespace

// ---- The step. ----

void TrainStep::loss_and_gradient(Ops& ops) const {
  find_samples(ops);
  learn_from_samples(ops);
}

void TrainStep::find_samples(Ops& ops) const {
  copy_parameters(ops);
  draw_and_march(ops);
  find_visible(ops);
}

void TrainStep::learn_from_samples(Ops& ops) const {
  shade(ops);
  loss(ops, loss_kind(c_.loss));
  propagate(ops);
  add_points(ops);
  check_gradients(ops);
}

void TrainStep::picture(Ops& ops) const {
  find_samples(ops);
  shade(ops);
  composite(ops);
}

// ---- Forward. ----

void TrainStep::draw_and_march(Ops& ops) const {
  draw(ops, {c_.background, c_.pixel_point});
  ops.call<RayMarch>({.rays = rays,
                      .grid = c_.grid,
                      .cascades = cascades_,
                      .max_samples = c_.max_samples_per_ray,
                      .capacity = room.marched},
                     {.origins = origins,
                      .directions = directions,
                      .jitter = jitter,
                      .steps = several(&StepNumbers::march),
                      .occupancy = bits,
                      .ray_begin = ray_begin,
                      .t = t,
                      .delta = delta});
}

// Evaluates the samples of rays from the front, until each ray is opaque. What was computed for the samples that count is kept:
// their features, and their geometry as the last inputs of the color network.
void TrainStep::find_visible(Ops& ops) const {
  begin_passes(ops);
  for (size_t k = 0; k < passes.size(); ++k) {
    place(ops, passes[k]);
    encode(ops, passes[k].samples, passes[k].positions, evaluated_[k].features);
    round_activation(ops, evaluated_[k].features, encoded_, passes[k].samples);
    density_network(ops, passes[k].samples, evaluated_[k].features, evaluated_[k].geometry, " density");
    round_activation(ops, evaluated_[k].geometry, c_.geometry_features, passes[k].samples);
    limit(ops, passes[k], evaluated_[k].geometry);
  }
  keep_visible(ops, c_.max_samples_per_ray);
  const auto keep = [&](const Pass& pass, int64_t rows, const Handle<float>& from, const Handle<float>& to) {
    ops.call<VisibleCompact>({.rays = rays,
                              .rows = rows,
                              .looked = pass.samples,
                              .samples = samples,
                              .first = pass.first,
                              .most = pass.most},
                             {.begin = pass.begin, .visible_begin = begin, .source = from, .target = to});
  };
  for (size_t k = 0; k < passes.size(); ++k) {
    if (!sizes.recompute) keep(passes[k], encoded_, evaluated_[k].features, features_);
    keep(passes[k], c_.geometry_features, evaluated_[k].geometry, raw);
  }
}

void TrainStep::shade(Ops& ops) const {
  if (c_.directions == "octaves")
    ops.call<FrequencyFwd>({.n = samples, .dim = 3, .octaves = c_.direction_octaves},
                           {.positions = sample_directions, .features = color_in_});
  else
    ops.call<ShFwd>({.n = samples, .degree = c_.sh_degree},
                    {.directions = sample_directions, .basis = color_in_});
  round_activation(ops, color_in_, color_inputs_ - c_.geometry_features, samples);
  network(ops, Part::color, color_shape(c_, samples), color_in_, rgb, " color");
  round_activation(ops, rgb, 3, samples);
}

// ---- Backward: the parameters' gradients from those of densities and colors. ----

void TrainStep::propagate(Ops& ops) const {
  round_gradient(ops, d_rgb, 3, samples, true);
  round_gradient(ops, d_raw, 1, samples, true);
  ops.call<MlpBwd>(color_shape(c_, samples),
                   {.x = color_in_,
                    .weights = used_[kColor],
                    .d_y = d_rgb,
                    .d_x = d_color_in_,
                    .d_weights = gradient[kColor]},
                   " color");
  // The first geometry output feeds both the density and the color network: its two gradients add up.
  const Handle<float> d_geometry = d_color_in_.row(color_inputs_ - c_.geometry_features);
  ops.call<Axpy>({.n = samples}, {.a = number(&StepNumbers::one), .x = d_raw, .y = d_geometry});
  round_gradient(ops, d_geometry, c_.geometry_features, samples);
  if (sizes.recompute) {
    encode(ops, samples, positions, features_);
    round_activation(ops, features_, encoded_, samples);
  }
  density_back(ops, samples, features_, d_geometry, d_features_, " density");
  round_gradient(ops, d_features_, encoded_, samples);
  // The table's gradient is large and mostly zero; values that are not finite come from these gradients.
  require_finite(ops, d_features_, samples.times(encoded_), 2);
  unscale(ops, d_features_, samples.times(encoded_), 2);
  close_levels(ops, samples, d_features_);
  scatter(ops, samples, positions, d_features_);
}

void TrainStep::add_points(Ops& ops) const {
  constexpr int64_t n = 4 * kTermPoints;
  const auto forward = [&] {
    encode(ops, n, point_positions, point_features_);
    density_network(ops, n, point_features_, point_raw);
  };
  const auto backward = [&] {
    round_gradient(ops, d_point_raw, c_.geometry_features, n, true);
    density_back(ops, n, point_features_, d_point_raw, d_point_features_);
    round_gradient(ops, d_point_features_, encoded_, n);
    if (formats_.gradients != nullptr) require_finite(ops, d_point_features_, encoded_ * n, 2);
    unscale(ops, d_point_features_, encoded_ * n, 2);
    close_levels(ops, n, d_point_features_);
    scatter(ops, n, point_positions, d_point_features_);
  };
  loss_at_points(ops, forward, backward);
}

void TrainStep::check_gradients(Ops& ops) const {
  for (const Part part : {Part::density, Part::color}) {
    const Handle<float>& own = gradient[size_t(part)];
    const int check = part == Part::color;
    round_gradient(ops, own, 1, size_of(part));
    require_finite(ops, own, size_of(part), check);
    unscale(ops, own, size_of(part), check);
  }
}

// ---- The optimizer. ----

void TrainStep::update(Ops& ops) const {
  const double corners = 8.0 * double(c_.levels * samples.usual());  // of cells, which samples look up
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const int64_t all = size_of(part);
    const Stretch own = part == Part::table ? part_.of(0, all) : Stretch{0, all};
    if (c_.clip_norm > 0 && part != Part::table)
      ops.call<ClipNorm>({.n = all}, {.limit = number(&StepNumbers::clip),
                                      .gradient = gradient[p],
                                      .norm = several(&StepNumbers::norm).from(part == Part::color)});
    adam(ops, part == Part::table ? &StepNumbers::table : &StepNumbers::networks, own, group_of(part),
         {parameters[p], gradient[p], m[p], v[p], steps[p]}, untouched_percent(all, group_of(part), corners));
    for (const Handle<float>& all_moments : {m[p], v[p]}) {
      const Handle<float> moments = all_moments.from(own.begin);
      round(ops, "round moments", formats_.moments, moments, moments, 1, own.count(),
            number(&StepNumbers::one), several(&StepNumbers::not_counted));
    }
  }
}

void TrainStep::update_average(Ops& ops) const {
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const Stretch own = part == Part::table ? part_.of(0, size_of(part)) : Stretch{0, size_of(part)};
    if (!(c_.ema > 0) || own.count() == 0) continue;
    ops.call<Ema>({.n = own.count()}, {.keep = number(&StepNumbers::keep),
                                       .now = parameters[p].from(own.begin),
                                       .average = average[p].from(own.begin)});
  }
}

// ---- The occupancy grid. ----

// Cells are chosen in the whole grid, then evaluated in groups as large as one pass has room for, through its
// tensors: evaluating few samples reads as much of the table as evaluating many. Several trainers choose the
// same cells and take turns with groups, so that each call is exactly one that a single trainer makes.
void TrainStep::occupancy(Ops& ops) const {
  {
    const auto stage = ops.within("occupancy");
    ops.call<OccupancyChoose>({.cells = cells_, .first = 0, .grid_cells = cells_, .all = all_cells},
                              {.seed = several(&StepNumbers::seed),
                               .step = several(&StepNumbers::step),
                               .values = cell_values,
                               .bits = bits,
                               .occupied = occupied,
                               .share = number(&StepNumbers::grid_share),
                               .chosen = chosen,
                               .count = chosen_count});
  }
  copy_parameters(ops);
  const auto stage = ops.within("occupancy");
  const Handle<float>&at = passes.front().positions, &features = evaluated_.front().features,
        &geometry = evaluated_.front().geometry;
  const auto take_over = [&](int64_t first, const Count& count, bool decays) {
    ops.call<OccupancyUpdate>({.cells = cells_, .samples = count, .decays = decays},
                              {.chosen = chosen.from(first),
                               .raw = geometry,
                               .decay = number(&StepNumbers::grid_decay),
                               .step_size = number(&StepNumbers::smallest_step),
                               .values = cell_values});
  };
  const int64_t most = cells_of_pass(), first_own = part_.rank * most;
  if (first_own >= cells_) take_over(0, 0, true);  // more trainers than passes: values decay here, too
  for (int64_t first = first_own; first < cells_; first += part_.ranks * most) {
    const Count count = chosen_cells_.part(first, std::min(most, cells_ - first));
    ops.call<OccupancyPlace>({.samples = count, .grid = c_.grid, .cascades = cascades_, .first = 0},
                             {.seed = several(&StepNumbers::seed),
                              .step = several(&StepNumbers::step),
                              .chosen = chosen.from(first),
                              .positions = at});
    encode(ops, count, at, features);
    density_network(ops, count, features, geometry);
    take_over(first, count, first == first_own);
  }
}

void TrainStep::occupancy_bits(Ops& ops) const {
  const auto stage = ops.within("occupancy");
  ops.call<OccupancyBits>({.cells = cells_}, {.values = cell_values,
                                              .threshold = number(&StepNumbers::grid_threshold),
                                              .bits = bits,
                                              .occupied = occupied});
}

// ---- The field: the table and the density network, forward and backward. ----

void TrainStep::encode(Ops& ops, const Count& n, const Handle<float>& at, const Handle<float>& to) const {
  if (formats_.held >= 0)
    ops.call<HashtableNarrowFwd>(narrow_table_shape(c_, cascades_, n, formats_.held),
                                 {.positions = at,
                                  .scales = scales,
                                  .sizes = level_sizes,
                                  .halves = halves[kTable],
                                  .bytes = bytes[kTable],
                                  .factors = factors[kTable],
                                  .features = to});
  else if (plain_)
    ops.call<HashgridFwd>(
        hash_shape(c_, cascades_, n),
        {.positions = at, .table = used_[kTable], .table_half = table_half_, .features = to});
  else
    ops.call<HashtableFwd>(
        table_shape(c_, cascades_, n),
        {.positions = at, .scales = scales, .sizes = level_sizes, .table = used_[kTable], .features = to});
}

void TrainStep::density_network(Ops& ops, const Count& n, const Handle<float>& from, const Handle<float>& to,
                                std::string_view suffix) const {
  network(ops, Part::density, density_shape(c_, n), from, to, suffix);
}

void TrainStep::network(Ops& ops, Part part, const MlpFwd::Shape& s, const Handle<float>& x,
                        const Handle<float>& y, std::string_view suffix) const {
  const auto p = size_t(part);
  if (formats_.held < 0)
    ops.call<MlpFwd>(s, {.x = x, .weights = used_[p], .y = y}, suffix);
  else
    ops.call<MlpNarrowFwd>({s.n, s.in, s.width, s.hidden, s.out, s.logistic, formats_.held},
                           {.x = x, .halves = halves[p], .bytes = bytes[p], .factors = factors[p], .y = y},
                           suffix);
}

void TrainStep::density_back(Ops& ops, const Count& n, const Handle<float>& x, const Handle<float>& d_y,
                             const Handle<float>& d_x, std::string_view suffix) const {
  ops.call<MlpBwd>(
      density_shape(c_, n),
      {.x = x, .weights = used_[kDensity], .d_y = d_y, .d_x = d_x, .d_weights = gradient[kDensity]}, suffix);
}

// Features of levels that are closed stay as small as they begin.
void TrainStep::close_levels(Ops& ops, const Count& n, const Handle<float>& d_values) const {
  if (c_.open_until <= 0) return;
  const int64_t closed = int64_t(closed_levels) * c_.features;
  ops.fill("closed levels", d_values.row(encoded_ - closed), 0, closed * n.now() * int64_t(sizeof(float)));
}

void TrainStep::scatter(Ops& ops, const Count& n, const Handle<float>& at,
                        const Handle<float>& d_values) const {
  if (plain_)
    ops.call<HashgridBwd>(hash_shape(c_, cascades_, n),
                          {.positions = at, .d_features = d_values, .d_table = gradient[kTable]});
  else
    ops.call<HashtableBwd>(table_shape(c_, cascades_, n), {.positions = at,
                                                           .scales = scales,
                                                           .sizes = level_sizes,
                                                           .d_features = d_values,
                                                           .d_table = gradient[kTable]});
}

// ---- Tensors stored in fewer bits: which are rounded, and how gradients lose the loss's scale. ----

// Copies parameters before they are used, and after every change: a checkpoint has the masters only.
void TrainStep::copy_parameters(Ops& ops) const {
  const std::array formats = {formats_.table, formats_.density, formats_.color};
  for (const Part part : kParts)
    round(ops, "round parameters", formats[size_t(part)], parameters[size_t(part)], used_[size_t(part)], 1,
          size_of(part), number(&StepNumbers::one), several(&StepNumbers::not_counted));
  if (table_half_.exists())
    ops.call<Cast>(
        {.n = size_of(Part::table), .format = Cast::f16},
        {.x = parameters[kTable], .scale = number(&StepNumbers::one), .out = table_half_.as<uint8_t>()});
}

void TrainStep::round(Ops& ops, std::string_view stage, const NarrowFormat* format, const Handle<float>& from,
                      const Handle<float>& to, int64_t rows, const Count& columns,
                      const Handle<float>& factor, const Handle<int32_t>& lost) const {
  if (format == nullptr) return;
  const int64_t number = RoundNarrow::number_of(*format);
  if (number < 0)
    throw std::invalid_argument("no tensor of a step is stored as " + std::string(format->name));
  const auto own = ops.within(stage);
  ops.call<RoundNarrow>({.n = columns.times(rows), .format = number},
                        {.x = from, .factor = factor, .y = to, .lost = lost});
}

void TrainStep::round_activation(Ops& ops, const Handle<float>& values, int64_t rows,
                                 const Count& columns) const {
  round(ops, "round activations", formats_.activations, values, values, rows, columns,
        number(&StepNumbers::one), several(&StepNumbers::not_counted));
}

// Rounds a gradient. Gradients that come directly from the loss, which is in float, are also multiplied by
// its scale (`scaled`).
void TrainStep::round_gradient(Ops& ops, const Handle<float>& values, int64_t rows, const Count& columns,
                               bool scaled) const {
  round(ops, "round gradients", formats_.gradients, values, values, rows, columns,
        number(scaled ? &StepNumbers::scale : &StepNumbers::one), several(&StepNumbers::lost));
}

void TrainStep::require_finite(Ops& ops, const Handle<float>& values, const Count& n, int check) const {
  const auto own = ops.within({});
  ops.call<AllFinite>({.n = n}, {.p = values, .first = several(&StepNumbers::not_finite).from(check)});
}

void TrainStep::unscale(Ops& ops, const Handle<float>& values, const Count& n, int check) const {
  if (formats_.gradients == nullptr) return;
  const auto own = ops.within({});
  ops.call<Unscale>({.n = n}, {.scale = number(&StepNumbers::scale),
                               .first = several(&StepNumbers::not_finite).from(check),
                               .gradient = values});
}

// ---- Tensors and sizes. ----

StepNumbers marching_numbers(const Config& c, const Placement& place) {
  StepNumbers n;
  n.volume[0] = place.side();
  n.smallest_step = std::sqrt(3.0F) / float(c.steps_per_diagonal);
  const float march[5] = {place.near, n.smallest_step, n.smallest_step * n.volume[0],
                          place.cascades > 1 ? float(c.cone) : 0.0F, place.far};
  std::copy(march, march + 5, n.march);
  n.stop = float(-std::log(std::max(c.early_stop, 1e-30)));
  return n;
}

RayStep::Room TrainStep::room_of(const Config& c) {
  return {.rays = ray_capacity(c),
          .marched = march_capacity(c),
          .samples = sample_capacity(c),
          .points = has_terms(c, Term::on_own_points) ? kTermPoints : 0,
          .usual_rays = usual_rays(c.batch_samples),
          .usual_samples = c.batch_samples};
}

int64_t TrainStep::size_of(Part part) const {
  if (part == Part::density) return density_shape(c_, 0).weights();
  if (part == Part::color) return color_shape(c_, 0).weights();
  return table_room(c_, cascades_) * c_.features;
}

int64_t TrainStep::factors_of(Part part) const {
  if (part == Part::table) return c_.levels * c_.features;
  const MlpFwd::Shape s = part == Part::density ? density_shape(c_, 0) : color_shape(c_, 0);
  return s.hidden * s.width + s.out;
}

TrainStep::TrainStep(Memory& memory, const Config& config, int cascades, const Data& views_data,
                     const StepSizes& step_sizes, const StepFormats& formats, StepPart part)
    : RayStep(memory, room_of(config), config, views_data, step_sizes),
      c_(config),
      cascades_(cascades),
      plain_(has_plain_table(config)),
      formats_(formats),
      part_(std::move(part)),
      encoded_(config.levels * config.features),
      color_inputs_(color_shape(config, 0).in),
      cells_(cascades * config.grid * config.grid * config.grid) {
  const std::array names = {"table", "density", "color"};
  const std::array narrow = {formats_.table, formats_.density, formats_.color};
  for (const Part each : kParts) {
    const auto p = size_t(each);
    const int64_t n = size_of(each), group = group_of(each);
    const std::string name = names[p];
    parameters[p] = memory.tensor<float>(name, 1, n);
    gradient[p] = memory.tensor<float>("d_" + name, 1, n);
    m[p] = memory.tensor<float>(name + ".m", 1, n);
    v[p] = memory.tensor<float>(name + ".v", 1, n);
    steps[p] = memory.tensor<int32_t>(name + ".steps", 1, (n + group - 1) / group);
    if (c_.ema > 0) average[p] = memory.tensor<float>(name + ".average", 1, n);
    used_[p] = narrow[p] == nullptr ? parameters[p] : memory.tensor<float>(name + " in fewer bits", 1, n);
    if (formats_.held < 0) continue;
    if (formats_.held == narrow_format::int8) {
      bytes[p] = memory.tensor<int8_t>(name + " in bytes", 1, n);
      factors[p] = memory.tensor<float>(name + ".factors", 1, factors_of(each));
    } else {
      halves[p] = memory.tensor<uint16_t>(name + " in 16 bits", 1, n);
    }
  }
  if (formats_.half_table && plain_)
    table_half_ = memory.tensor<uint16_t>("table in halves", 1, size_of(Part::table));
  const bool layout_is_data = !plain_ || formats_.held >= 0;
  if (layout_is_data) scales = memory.tensor<float>("table.scales", 1, c_.levels);
  if (layout_is_data) level_sizes = memory.tensor<int64_t>("table.sizes", 1, c_.levels);
  cell_values = memory.tensor<float>("grid.values", 1, cells_);
  bits = memory.tensor<uint8_t>("grid.bits", 1, cells_ / 8);
  occupied = memory.tensor<int32_t>("grid.occupied", 1, 1);
  all_cells = memory.choice("all cells");
  closed_levels = memory.choice("closed levels");
  chosen = memory.tensor<int32_t>("chosen", 1, cells_);
  chosen_count = memory.tensor<int32_t>("chosen count", 1, 1);
  chosen_cells_ = memory.count("chosen", chosen_count, 0, cells_, room.usual_samples);

  for (const Pass& pass : passes) {
    const std::string name = fmt::format("pass {}", evaluated_.size());
    const bool shares = sizes.recompute && !evaluated_.empty();  // a pass's features are not read after it
    evaluated_.push_back(
        {.features = shares ? evaluated_.front().features
                            : memory.tensor<float>(name + " features", encoded_, pass.samples),
         .geometry = memory.tensor<float>(name + " geometry", c_.geometry_features, pass.samples)});
  }
  const auto of_samples = [&](const char* name, int64_t rows) {
    return memory.tensor<float>(name, rows, samples);
  };
  features_ = sizes.recompute ? evaluated_.front().features : of_samples("features", encoded_);
  color_in_ = of_samples("color input", color_inputs_);
  raw = color_in_.row(color_inputs_ - c_.geometry_features);
  d_color_in_ = of_samples("d_color input", color_inputs_);
  d_features_ = of_samples("d_features", encoded_);
  const int64_t points = 4 * room.points;
  point_features_ = memory.tensor<float>("features of points", encoded_, points);
  point_raw = memory.tensor<float>("geometry of points", c_.geometry_features, points);
  d_point_raw = memory.tensor<float>("d_geometry of points", c_.geometry_features, points);
  d_point_features_ = memory.tensor<float>("d_features of points", encoded_, points);
}

}  // namespace klab
