#include "labs/21_realtime/train/plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "harness/core/registry.h"
#include "labs/21_realtime/train/baked_scene.h"
#include "labs/21_realtime/train/foveation.h"
#include "labs/21_realtime/train/reuse.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/export/bake.h"
#include "labs/radiance/run/fields.h"

namespace klab {
namespace {

/// The plans that are made, by name.
using Chosen = std::vector<std::string>;
bool contains(const Chosen& chosen, const std::string& name) {
  return std::ranges::find(chosen, name) != chosen.end();
}

using DrawFrame = std::function<Picture(const Camera&)>;

/// Draws all pixels of a source, row by row or in squares.
DrawFrame all_pixels(std::shared_ptr<PixelSource> source, bool squares) {
  struct Order {
    int width = 0, height = 0;
    std::vector<int32_t> pixels;
  };
  return [source = std::move(source), squares, order = std::make_shared<Order>()](const Camera& camera) {
    if (order->width != camera.width || order->height != camera.height)
      *order = {camera.width, camera.height,
                squares ? pixels_by_squares(camera.width, camera.height)
                        : pixels_by_rows(camera.width, camera.height)};
    Picture out = Renderer::empty_picture(camera);
    source->draw(camera, order->pixels, out);
    return out;
  };
}

/// Returns a plan of rungs for a model; `march` replaces that of ray_march, unless it is empty.
Plan rungs_for(const FieldModel& model, const FramePlanOptions& o, CallTimes& times,
               const std::string& march = "") {
  const auto calls = model.picture_calls(backend_named("cpu"));
  Plan plan = Plan::named(o.rungs, calls, times, "cpu", picture_unit(model));
  if (!march.empty()) plan.choose("ray_march", {find_variant(march), "of this plan", 0});
  return plan;
}

/// The plan that draws pixels of a source once in some frames. `owner` holds what the source is made of.
FramePlan reuse_of(const std::shared_ptr<PixelSource>& source, std::shared_ptr<const void> owner,
                   const std::string& parent, int every, int64_t bytes) {
  const auto reusing = std::make_shared<ReusingPictures>(*source, every);
  return {.name = "08_reuse",
          .parent = parent,
          .change = fmt::format(
              "computes each pixel once in {} frames, moves it in between; gives up sharpness", every),
          .loss = {.largest = 1, .psnr = 20},
          .draw = [reusing, source, owner = std::move(owner)](const Camera& c) { return reusing->draw(c); },
          .begin = [reusing] { reusing->forget(); },
          .computed = [reusing] { return reusing->computed(); },
          .held_bytes = bytes};
}

/// The plans of a hash field itself.
void add_hash_plans(std::vector<FramePlan>& plans, const Chosen& chosen, const FieldModel& model,
                    const FramePlanOptions& o, CallTimes& times) {
  const Model& hash = *model.as_hash();
  const std::string one_by_one = "ray_march.cpu.01_scalar";
  const auto drawn_by = [&](const Plan& plan, const Model& of, double stop, bool squares) {
    return all_pixels(std::make_shared<HashPixels>(of, plan, stop), squares);
  };
  const double stop = hash.config.early_stop;
  const Plan slow = rungs_for(model, o, times, one_by_one), fast = rungs_for(model, o, times);
  plans.push_back(
      {.name = "01_every_sample",
       .change = "each step of a ray asks its cell; each sample in a cell that is not empty is computed",
       .draw = drawn_by(slow, hash, 0, false),
       .held_bytes = model.held_bytes()});
  // The light behind is at most what is left, and so is the background instead of it.
  plans.push_back(
      {.name = "02_early_stop",
       .parent = "01_every_sample",
       .change = fmt::format("skips samples behind the point where {:g} of the light is left", stop),
       .loss = {.largest = 1.1 * stop + 1e-5},
       .draw = drawn_by(slow, hash, stop, false),
       .held_bytes = model.held_bytes()});
  plans.push_back(
      {.name = "03_empty_space",
       .parent = "02_early_stop",
       .change = "skips steps in empty blocks: the same samples, found by the chosen rung of ray_march",
       .draw = drawn_by(fast, hash, stop, false),
       .held_bytes = model.held_bytes()});
  plans.push_back(
      {.name = "04_squares",
       .parent = "03_empty_space",
       .change = "rays in squares of 8 x 8 pixels: neighbors read the same entries; gives up nothing",
       .loss = {.largest = 1e-4},
       .draw = drawn_by(fast, hash, stop, true),
       .held_bytes = model.held_bytes()});
  const std::pair<Storage, const char*> few[] = {{Storage::f16, "05_half"}, {Storage::int8, "06_int8"}};
  std::string parent = "04_squares";
  for (const auto& [precision, name] : few) {
    const bool reused = precision == Storage::int8 && contains(chosen, "08_reuse");
    if (!reused && !contains(chosen, name)) continue;  // not narrowed for nothing
    const std::shared_ptr<FieldModel> narrow = in_fewer_bits(model, precision);
    const auto source = std::make_shared<HashPixels>(*narrow->as_hash(), rungs_for(*narrow, o, times), stop);
    const DrawFrame draw = all_pixels(source, true);
    plans.push_back(
        {.name = name,
         .parent = std::exchange(parent, name),
         .change = fmt::format("table and networks in {}: gives up bits of each number", name_of(precision)),
         .loss = {.largest = 1, .psnr = precision == Storage::f16 ? 45.0 : 25.0},
         .draw = [narrow, draw](const Camera& camera) { return draw(camera); },
         .held_bytes = narrow->held_bytes()});
    if (reused) plans.push_back(reuse_of(source, narrow, name, o.every, narrow->held_bytes()));
  }
}

/// Returns voxels of floats of any field with a density; voxels as they are.
VoxelModel voxels_of(const FieldModel& model, const FramePlanOptions& o, CallTimes& times) {
  if (const VoxelModel* voxels = model.as_voxels()) return voxels->copy();
  Placement place = model.placement();
  place.yzx = false;  // voxels lie along the grid's axes
  const auto points = field_points(model, rungs_for(model, o, times));
  return baked_voxels(*points, place, {.grid = o.cells, .sh_degree = o.sh_degree, .even = true});
}

/// The plans of a baked scene.
void add_baked_plans(std::vector<FramePlan>& plans, const FieldModel& model, const FramePlanOptions& o,
                     CallTimes& times, const std::function<void(const std::string&)>& say) {
  if (model.placement().far < kNoFar)
    throw std::runtime_error(
        fmt::format("was trained with \"far\" {:g}, and rays through baked voxels have no such end: leave "
                    "07_baked and 09_foveated out, as by --plans {}",
                    model.placement().far, model.as_voxels() != nullptr ? "01" : "02,03,04,05,06,08"));
  if (!model.as_voxels()) say(fmt::format("baking    a grid of {0} x {0} x {0} cells", o.cells));
  const VoxelModel voxels = voxels_of(model, o, times);
  const bool file =
      o.rungs != "best" && o.rungs != "last" && o.rungs != "naive";  // which names rungs of fields
  const Plan plan = Plan::named(file ? "last" : o.rungs,
                                baked_calls(voxels.grid, voxels.rows(), voxels.config.basis()), times);
  const auto scene = std::make_shared<const BakedScene>(baked_scene(voxels, plan));
  const auto source = std::make_shared<BakedPixels>(*scene, plan, o.stop);
  const auto kept = [scene, source](DrawFrame draw) -> DrawFrame {
    return [scene, source, draw = std::move(draw)](const Camera& camera) { return draw(camera); };
  };
  const int64_t bytes = scene->held_bytes();
  plans.push_back(
      {.name = "07_baked",
       .parent = model.as_voxels() != nullptr ? "01_every_sample" : "06_int8",
       .change = fmt::format("reads {0}^3 voxels of bytes in place of table and networks, and jumps by "
                             "distance; gives up detail below a voxel, gloss beyond degree {1}",
                             scene->grid, scene->basis == 4 ? 1 : 0),
       .loss = {.largest = 1, .psnr = 15},
       .draw = kept(all_pixels(source, true)),
       .held_bytes = bytes});
  // Where pixels are cheap, moving them costs as much as drawing them: voxels show that, and a hash field reuses its own.
  if (model.as_voxels() != nullptr) plans.push_back(reuse_of(source, scene, "07_baked", o.every, bytes));
  const auto fovea = std::make_shared<Fovea>();
  const auto draw = [source, fovea, o](const Camera& camera) {
    if (fovea->width != camera.width || fovea->height != camera.height)
      *fovea =
          fovea_of(camera.width, camera.height, o.gaze[0] * camera.width, o.gaze[1] * camera.height, o.share);
    return draw_foveated(*source, camera, *fovea);
  };
  plans.push_back(
      {.name = "09_foveated",
       .parent = "07_baked",
       .change = fmt::format("computes {:.0f} % of the pixels, densest where you look; gives up the others' "
                             "detail",
                             100 * o.share),
       .loss = {.largest = 1, .psnr = 15},
       .draw = kept(draw),
       .computed =
           [fovea] {
             return double(fovea->computed.size()) /
                    std::max(1.0, double(fovea->width) * double(fovea->height));
           },
       .held_bytes = bytes});
}

/// Whether an option means a plan: by its number, its name, or both.
bool means(const std::string& option, const std::string& plan) {
  const size_t end_of_number = plan.find('_');
  return option == plan || option == plan.substr(0, end_of_number) ||
         option == plan.substr(end_of_number + 1);
}

}  // namespace

std::vector<std::string> frame_plan_names(const std::string& field, const FramePlanOptions& o) {
  if ((o.cells & (o.cells - 1)) != 0)
    throw std::invalid_argument(fmt::format("--cells {}: must be a power of two", o.cells));
  if (o.every < 1 || o.every > 16 || !std::has_single_bit(unsigned(o.every)))
    throw std::invalid_argument(fmt::format("--every {}: must be 1, 2, 4, 8 or 16", o.every));
  Chosen known;
  if (field == "hash")
    known = {"01_every_sample", "02_early_stop", "03_empty_space", "04_squares", "05_half",
             "06_int8",         "07_baked",      "08_reuse",       "09_foveated"};
  else if (field == "voxels")
    known = {"01_every_sample", "07_baked", "08_reuse", "09_foveated"};
  else
    throw std::runtime_error(fmt::format(
        "holds a field of {}, which no plan of this lab draws: name one of hash or voxels", field));
  if (o.only.empty()) return known;
  for (const std::string& option : o.only)
    if (std::ranges::none_of(known, [&](const std::string& plan) { return means(option, plan); }))
      throw std::invalid_argument(
          fmt::format("--plans {}: this field has {}", option, fmt::join(known, ", ")));
  Chosen chosen = {known.front()};
  for (const std::string& plan : known)
    if (plan != known.front() &&
        std::ranges::any_of(o.only, [&](const std::string& option) { return means(option, plan); }))
      chosen.push_back(plan);
  return chosen;
}

std::vector<FramePlan> frame_plans(const FieldModel& model, const FramePlanOptions& o, CallTimes& times,
                                   const std::function<void(const std::string&)>& say) {
  const Chosen chosen = frame_plan_names(model.field(), o);
  std::vector<FramePlan> plans;
  if (model.as_hash() != nullptr) {
    add_hash_plans(plans, chosen, model, o, times);
  } else {
    const Plan plan = rungs_for(model, o, times);
    plans.push_back({.name = "01_every_sample",
                     .change = "each cell that a ray crosses until it is opaque, in floats",
                     .draw = model.renderer(plan, backend_named("cpu"), Renderer::kRays),
                     .held_bytes = model.held_bytes()});
  }
  const bool hash = model.as_hash() != nullptr;
  if (contains(chosen, "07_baked") || contains(chosen, "09_foveated") ||
      (!hash && contains(chosen, "08_reuse")))
    add_baked_plans(plans, model, o, times, say);
  std::erase_if(plans, [&](const FramePlan& plan) { return !contains(chosen, plan.name); });
  std::ranges::sort(plans, {}, &FramePlan::name);
  return plans;
}

}  // namespace klab
