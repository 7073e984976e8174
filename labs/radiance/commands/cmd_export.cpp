// klab export: a trained field for others: a page that draws it in a browser, a mesh, points, Gaussians, a snapshot.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/export/bake.h"
#include "labs/radiance/export/page.h"
#include "labs/radiance/export/surface.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/named_model.h"
#include "labs/radiance/run/trained_on.h"
#include "labs/radiance/splat/gaussian_model.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/splat_file.h"

namespace klab::export_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kStill = 600;           // pixels along a side of the still picture
constexpr size_t kMost = 40'000'000;  // bytes of a page that can still be sent around

struct ExportValues {
  std::string model, scene, html, mesh, points, gaussians, ingp;
  std::string plan = "last";  // one picture takes less than choosing rungs for it
  PageView view;
  bool small = false;
  BakeOptions bake;
  SurfaceOptions surface;
  std::vector<double> box;  // low, then high
  int64_t number = 100000;  // of points
  int spz_version = 3;
  std::vector<std::string> outputs() const {
    std::vector<std::string> list;
    for (const std::string& each : {html, mesh, points, gaussians, ingp})
      if (!each.empty()) list.push_back(each);
    return list;
  }
};

/// Returns the result of the run that a model belongs to; null if there is none.
json result_of(const fs::path& model) {
  const fs::path file = model.parent_path() / "result.json";
  std::error_code error;
  if (model.filename() != "model.safetensors" || !fs::exists(file, error)) return nullptr;
  json result = read_json_file(file);
  if (!result.is_object())
    throw std::runtime_error(fmt::format(
        "{}: is no object with the result of a run: remove it to export the model without its score",
        file.string()));
  return result;
}

const json* found(const json& in, std::initializer_list<const char*> path) {
  const json* at = &in;
  for (const char* key : path) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &at->at(key);
  }
  return at;
}

/// A field packed for its shader, and a sentence about it.
struct Packed {
  PageField field;
  std::string words, remedy;  // remedy: what makes its page smaller
};

/// Throws std::runtime_error for fields that no shader draws.
Packed packed(const fs::path& file, const FieldModel& model) {
  if (const GaussianModel* gaussians = model.as_gaussians())
    return {page_field(*gaussians),
            fmt::format("{} Gaussians, harmonics of degree {}", gaussians->set.n, gaussians->set.degree),
            "give --small, or train with a lower \"most\" in the config"};
  if (const Model* hash = model.as_hash()) {
    const Config& c = hash->config;
    if (hash->placement.yzx)
      throw std::runtime_error(fmt::format(
          "{}: is a field in the axes of instant-ngp, which no page draws: give --small, which makes "
          "voxels of it",
          file.string()));
    if (c.directions != "harmonics")
      throw std::runtime_error(fmt::format(
          "{}: its \"directions\" is {}, and a page reads spherical harmonics: give --small, which makes "
          "voxels of it, or train with \"directions\" \"harmonics\"",
          file.string(), c.directions));
    return {page_field(*hash),
            fmt::format("hash table of {} levels, {} entries of {} numbers; two networks, {} units wide",
                        c.levels, hash->entries_in_use(), c.features, c.width),
            "give --small, or train with a lower \"log2_table\" in the config"};
  }
  if (const VoxelModel* voxels = model.as_voxels())
    return {page_field(*voxels),
            fmt::format("voxels, {} cells along an edge, {} vertices of {} numbers", voxels->grid,
                        voxels->rows(), 1 + 3 * voxels->config.basis()),
            "train with a lower \"grid\" or \"sh_degree\" in the config"};
  throw std::runtime_error(
      fmt::format("{}: holds a field of {}; a page can draw hash, voxels and gaussians: give --small, which "
                  "makes voxels of it",
                  file.string(), model.field()));
}

/// Returns what the panel shows: the field, and score and protocol of the run.
PageText text_of(const fs::path& file, const std::string& words) {
  const json result = result_of(file);
  PageText text{.title = as_utf8(file.stem().string()), .facts = {}};
  const auto add = [&](const char* name, const std::string& value) { text.facts.emplace_back(name, value); };
  if (const json* scene = found(result, {"scene"}); scene != nullptr && scene->is_string())
    text.title = scene->get<std::string>();
  add("Field", words);
  const json* psnr = found(result, {"score", "psnr"});
  const json* ssim = found(result, {"score", "ssim"});
  const json* protocol = found(result, {"score", "protocol"});
  const json* steps = found(result, {"steps"});
  const json* seconds = found(result, {"seconds_training"});
  if (psnr != nullptr && psnr->is_number()) add("PSNR", fmt::format("{:.2f} dB", psnr->get<double>()));
  if (ssim != nullptr && ssim->is_number()) add("SSIM", fmt::format("{:.4f}", ssim->get<double>()));
  if (protocol != nullptr && protocol->is_string()) add("Protocol", protocol->get<std::string>());
  if (steps != nullptr && steps->is_number() && seconds != nullptr && seconds->is_number())
    add("Training", fmt::format("{} steps in {:.1f} s", steps->get<int64_t>(), seconds->get<double>()));
  if (psnr == nullptr) add("PSNR", "not known: the model has no result.json of its run next to it");
  add("Here", "numbers in float16, evaluated by the browser");
  return text;
}

/// Returns the difference of two pictures of one size, in dB.
double psnr_between(const Picture& a, const Picture& b) {
  double squares = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i)
    squares += std::pow(double(std::clamp(a.rgb[i], 0.0F, 1.0F)) - std::clamp(b.rgb[i], 0.0F, 1.0F), 2);
  return -10 * std::log10(std::max(squares / double(a.rgb.size()), 1e-10));
}

/// Returns a field that takes less time to draw, and in most cases fewer bytes: voxels of one with a density, or Gaussians with
/// plain colors.
std::unique_ptr<FieldModel> small_model(const ExportValues& v, const fs::path& file, const FieldModel& model,
                                        const Plan& plan) {
  if (const GaussianModel* gaussians = model.as_gaussians()) return field_model(plain_gaussians(*gaussians));
  if ((v.bake.grid & (v.bake.grid - 1)) != 0)
    throw std::invalid_argument(fmt::format("--cells {}: must be a power of two", v.bake.grid));
  Placement place = model.placement();
  place.yzx = false;  // voxels lie along the grid's axes
  try {
    return field_model(baked_voxels(*field_points(model, plan), place, v.bake));
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: {}: train it longer", file.string(), e.what()));
  }
}

void write_page(const ExportValues& v, const fs::path& file, const FieldModel& model) {
  CallTimes times = times_here();
  const BackendChoice where = backend_named("cpu");
  const PictureMaker maker(model, v.plan, where, times);
  const Camera camera = v.view.camera(kStill);
  const Picture still = maker.render()(camera);
  std::unique_ptr<FieldModel> small;
  std::string loss;
  if (v.small) {
    small = small_model(v, file, model, maker.plan());
    const PictureMaker small_maker(*small, "last", where, times);
    loss = fmt::format("{:.1f} dB between its first view and the model's",
                       psnr_between(still, small_maker.render()(camera)));
  }
  Packed field = packed(file, small ? *small : model);
  if (small)
    field.remedy = small->as_voxels() != nullptr ? "give --cells a lower number"
                                                 : "train with a lower \"most\" in the config";
  PageText text = text_of(file, field.words);
  if (small) text.facts.emplace_back("Small form", "the scores are the model's; " + loss);
  const std::string page = page_html(field.field, v.view, still, model.placement().black, text);
  if (page.size() > kMost)
    throw std::runtime_error(fmt::format("{}: its page would have {:.1f} MB, over {:.0f}: {}", file.string(),
                                         double(page.size()) * 1e-6, double(kMost) * 1e-6, field.remedy));
  write_file(v.html, page);
  fmt::print("{}  {:.2f} MB{}\n", v.html, double(page.size()) * 1e-6, small ? ", " + loss : "");
}

/// Where the model lies in its world, and a word on it.
struct World {
  WorldPlace place;
  std::string said;
};

/// The model knows its scale and offset; its scene also knows the turn and the origin.
World world_of(const ExportValues& v, const fs::path& file, const FieldModel& model) {
  World world{{.scale = model.placement().scale, .offset = model.placement().offset}, "in the scene's world"};
  const std::optional<Scene> scene = world_of_model(file, v.scene, settings().seed);
  if (!scene) return world;
  world.place.turn = scene->turn, world.place.origin = scene->origin;
  if (scene->far_away()) world.said += ", in coordinates around the offset " + position_text(scene->origin);
  return world;
}

/// Returns the surface, or the points of Gaussians, in the grid.
Mesh surface_of(const ExportValues& v, const fs::path& file, const FieldModel& model, bool for_points) {
  if (const GaussianModel* gaussians = model.as_gaussians()) {
    if (!for_points)
      throw std::runtime_error(fmt::format(
          "{}: holds Gaussians, which have no density to make a --mesh of: take --points or --gaussians",
          file.string()));
    Mesh points = points_of_gaussians(gaussians->set);
    if (points.positions.empty())
      throw std::runtime_error(fmt::format(
          "{}: none of its Gaussians absorbs half of the light, so --points has none", file.string()));
    return points;
  }
  require_memory(surface_bytes(v.surface),
                 fmt::format("a surface of {} cells along an edge", v.surface.resolution),
                 "give --resolution a lower number");
  CallTimes times = times_here();
  const BackendChoice where = backend_named("cpu");
  const Plan plan = Plan::named(v.plan, model.picture_calls(where), times, where.ladder);
  const auto field = field_points(model, plan);
  try {
    return field_surface(*field, v.surface);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), e.what()));
  }
}

void write_surface(const ExportValues& v, const fs::path& file, const FieldModel& model) {
  const World world = world_of(v, file, model);
  const auto in_world_as = [&](Mesh mesh, const std::string& to, const std::string& what) {
    move_to_world(mesh, world.place);
    if (fs::path(to).extension() == ".glb")
      save_mesh_glb(to, mesh);
    else
      save_mesh_ply(to, mesh);
    fmt::print("{}  {}, {}\n", to, what, world.said);
  };
  const bool own_points = model.as_gaussians() != nullptr;
  std::optional<Mesh> surface;
  if (!v.mesh.empty() || !own_points) surface = surface_of(v, file, model, false);
  if (!v.points.empty()) {
    Mesh points =
        own_points ? surface_of(v, file, model, true) : points_on(*surface, v.number, settings().seed);
    const std::string what = fmt::format("{} points", points.positions.size());
    in_world_as(std::move(points), v.points, what);
  }
  if (v.mesh.empty()) return;
  const std::string what =
      fmt::format("{} triangles, {} vertices", surface->triangles.size(), surface->positions.size());
  in_world_as(std::move(*surface), v.mesh, what);
}

/// Prints a note if the form that was asked for loses that opacities are antialiased.
void note_lost_antialiasing(const ExportValues& v, const GaussianSet& set) {
  if (set.antialiased && fs::path(v.gaussians).extension() == ".splat")
    fmt::print(
        "note      {}: a .splat cannot say that opacities are antialiased, so viewers show thin Gaussians "
        "too bright: write a .ply, .spz or .sog\n",
        v.gaussians);
}

void write_gaussians(const ExportValues& v, const fs::path& file, const FieldModel& model) {
  const GaussianModel* gaussians = model.as_gaussians();
  if (gaussians == nullptr)
    throw std::runtime_error(fmt::format(
        "{}: holds a field of {}, no Gaussians to write with --gaussians: train with --field gaussians",
        file.string(), model.field()));
  const World world = world_of(v, file, model);
  note_lost_antialiasing(v, gaussians->set);
  save_gaussians(v.gaussians, gaussians->set, world.place, &gaussians->placement, v.spz_version);
  fmt::print("{}  {} Gaussians, {}\n", v.gaussians, gaussians->set.n, world.said);
}

/// Returns whether Gaussians are to be written as Gaussians and nothing else, and no one has said where they lie.
bool only_converts(const ExportValues& v, const fs::path& file) {
  return is_gaussian_file(file) && v.scene.empty() && v.outputs().size() == 1 && !v.gaussians.empty() &&
         !(file.extension() == ".ply" && place_in_ply(file));
}

/// Writes Gaussians of another program in another format, in the world that they are in.
void convert_gaussians(const ExportValues& v, const fs::path& file) {
  std::vector<std::string> notes;
  const GaussianSet set = load_gaussians(file, {}, &notes);
  for (const std::string& note : notes) fmt::print("note      {}\n", note);
  note_lost_antialiasing(v, set);
  save_gaussians(v.gaussians, set, {}, nullptr, v.spz_version);
  fmt::print("{}  {} Gaussians, in the world of {}\n", v.gaussians, set.n, file.string());
}

void write_snapshot(const ExportValues& v, const fs::path& file, const FieldModel& model) {
  const Model* hash = model.as_hash();
  if (hash == nullptr)
    throw std::runtime_error(fmt::format(
        "{}: holds a field of {}, and a snapshot of instant-ngp holds a hash field: train with --field hash",
        file.string(), model.field()));
  const json result = result_of(file);
  const json* steps = found(result, {"steps"});
  save_snapshot(v.ingp, *hash,
                {.source = file,
                 .view = v.view.camera(kStill),
                 .steps = steps != nullptr && steps->is_number_integer() ? steps->get<int64_t>() : 0});
  fmt::print("{}  {:.2f} MB, numbers in half precision\n", v.ingp, double(fs::file_size(v.ingp)) * 1e-6);
}

/// Refuses what cannot be written, before anything is computed.
void require_outputs(const ExportValues& v, const fs::path& file) {
  if (v.outputs().empty())
    throw std::invalid_argument(
        "nothing to write is named: give --html, --mesh, --points, --gaussians or --ingp a file");
  const auto ending = [](const char* option, const std::string& name,
                         std::initializer_list<const char*> known) {
    if (name.empty()) return;
    const std::string found = fs::path(name).extension().string();
    if (std::ranges::find(known, found) == known.end())
      throw std::invalid_argument(
          fmt::format("{} {}: must end in {}", option, name, fmt::join(known, " or ")));
  };
  ending("--mesh", v.mesh, {".ply", ".glb"});
  ending("--points", v.points, {".ply"});
  ending("--gaussians", v.gaussians, {".ply", ".splat", ".spz", ".sog"});
  ending("--ingp", v.ingp, {".ingp"});
  for (const std::string& each : v.outputs()) {
    std::error_code error;
    if (fs::equivalent(file, each, error))
      throw std::invalid_argument(fmt::format("{}: is the model itself: name another file to write", each));
    require_writable_file(each);
  }
}

/// Reads the six numbers of --box.
void set_box(ExportValues& v) {
  if (v.box.empty()) return;
  const auto point = [&](size_t k) {
    return Vec3{float(v.box[k]), float(v.box[k + 1]), float(v.box[k + 2])};
  };
  v.surface.low = point(0), v.surface.high = point(3);
  for (size_t k = 0; k < 3; ++k)
    if (!(float(v.box[k]) < float(v.box[k + 3])))
      throw std::invalid_argument(
          fmt::format("--box: the low corner must be below the high one, found {:g} and {:g} along {}",
                      v.box[k], v.box[k + 3], "xyz"[k]));
}

/// Loads the model: Gaussians into the box of the scene that was named, or, for a page and nothing else, into one of their own. Prints what
/// their reader notes.
std::unique_ptr<FieldModel> load_for_export(const ExportValues& v, const fs::path& file) {
  std::optional<Scene> scene;
  std::vector<std::string> notes;
  if (is_gaussian_file(file) && !v.scene.empty()) {
    scene = cameras_of_scene(v.scene, settings().seed);
    notes = scene->notes;
  }
  const bool only_page = v.outputs().size() == 1 && !v.html.empty();
  const bool lone =
      is_gaussian_file(file) && !scene && only_page && !(file.extension() == ".ply" && place_in_ply(file));
  auto model = lone ? load_lone_gaussians(file, &notes)
                    : load_field_model(file, scene ? &*scene : nullptr, Storage::f32, &notes);
  if (lone)
    notes.emplace_back(
        "no scene says where these Gaussians lie: the page shows nine tenths of them, with y pointing down; "
        "--scene DIR names the scene");
  for (const std::string& note : notes) fmt::print("note      {}\n", note);
  return model;
}

int export_model(ExportValues& v) {
  const fs::path file = model_of_run(v.model);
  require_outputs(v, file);
  set_box(v);
  if (only_converts(v, file)) return convert_gaussians(v, file), exit_ok;
  const auto model = load_for_export(v, file);
  if (!v.html.empty()) write_page(v, file, *model);
  if (!v.mesh.empty() || !v.points.empty()) write_surface(v, file, *model);
  if (!v.gaussians.empty()) write_gaussians(v, file, *model);
  if (!v.ingp.empty()) write_snapshot(v, file, *model);
  return exit_ok;
}

std::function<int()> setup_export(CLI::App& app) {
  auto v = std::make_shared<ExportValues>();
  app.add_option("model", v->model,
                 "model.safetensors, the folder of a run, a snapshot of instant-ngp (.ingp), or Gaussians as "
                 ".ply, .splat, .spz or .sog")
      ->required();
  auto* html = app.add_option("--html", v->html,
                              "page to write: one file that draws the field in any browser with WebGL2");
  auto* small =
      app.add_flag("--small", v->small,
                   "the page draws voxels made of the field, or Gaussians with plain colors: less work "
                   "for the browser");
  small->needs(html);
  add_number(app, "--cells", v->bake.grid, Range{16, 256},
             "of these voxels along an edge, a power of two (default 128)")
      ->needs(small);
  auto* mesh =
      app.add_option("--mesh", v->mesh, "closed surface to write, a .ply or .glb, with normals and colors");
  auto* points =
      app.add_option("--points", v->points, "points on that surface, or the middles of Gaussians, a .ply");
  auto* gaussians = app.add_option("--gaussians", v->gaussians, "Gaussians as a .ply, .splat, .spz or .sog");
  add_number(app, "--spz-version", v->spz_version, Range{3, 4},
             "of a .spz: 3 (default), which all its readers know, or 4")
      ->needs(gaussians);
  app.add_option("--ingp", v->ingp, "a hash field as a snapshot of instant-ngp, an .ingp");
  app.add_option("--scene", v->scene,
                 "the scene in whose world files are written (default: that of the run)");
  auto* level = add_number(app, "--level", v->surface.level, Range{1e-6, 1e9},
                           "of the surface: density per side of the unit cube (default 20)");
  auto* resolution = add_number(app, "--resolution", v->surface.resolution, Range{8, 2048},
                                "of the surface: cells along the box's longest edge (default 256)");
  auto* box =
      app.add_option("--box", v->box,
                     "of the surface: x y z of the low and of the high corner, in the grid, whose unit "
                     "cube is the default")
          ->expected(6)
          ->check(number_within<double>(range::place));
  auto* number =
      add_number(app, "--number", v->number, Range{1, 1e8}, "of points on the surface (default 100000)");
  number->needs(points);
  add_number(app, "--height", v->view.height, range::elevation, "of the first view: sine of its elevation");
  add_number(app, "--distance", v->view.distance, range::distance,
             "from the center, in sides of the unit cube");
  add_number(app, "--fov", v->view.fov, range::degrees, "field of view along the shorter side, degrees");
  app.add_option("--plan", v->plan, "of the still picture: last (default), best, naive, or a JSON file");
  return [v, mesh, points, level, resolution, box] {
    for (const CLI::Option* each : {level, resolution, box})
      if (each->count() > 0 && mesh->count() + points->count() == 0)
        throw std::invalid_argument(each->get_name() +
                                    ": is about a surface: give --mesh or --points a file, too");
    return export_model(*v);
  };
}

KLAB_COMMAND(
    {.name = "export",
     .summary = "A trained field for others: a page that draws it, a mesh, points, Gaussians, a snapshot",
     .details = "The page evaluates the field itself, in a shader: a hash table in float16 and both "
                "networks, or voxels; occupancy bits skip\nempty space. Gaussians are sorted and blended. "
                "The page loads nothing from elsewhere, and shows a still picture where the\nbrowser has no "
                "WebGL2.",
     .setup = setup_export});

}  // namespace
}  // namespace klab::export_command
