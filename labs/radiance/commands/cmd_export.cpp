// klab export: a trained field as a page that draws it in a browser.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/export/page.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/run.h"

namespace klab::export_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kStill = 600;           // pixels along a side of the still picture
constexpr size_t kMost = 40'000'000;  // bytes of a page that can still be sent around

struct ExportValues {
  std::string model, html, plan = "last";  // one picture takes less than choosing rungs for it
  PageView view;
};

/// Returns the model's file. Throws std::runtime_error for a folder without one, and for a file that is missing or damaged.
fs::path model_of_run(const std::string& given) {
  const fs::path file = model_file(given);
  std::error_code error;
  if (fs::is_directory(given, error) && !fs::exists(file, error))
    throw std::runtime_error(
        fs::exists(fs::path(given) / "checkpoint.safetensors", error)
            ? fmt::format("{}: holds no model.safetensors, because its training has not ended: klab train "
                          "--resume {} ends it",
                          given, given)
            : fmt::format("{}: holds no model.safetensors: name the folder of a run of klab train", given));
  if (!fs::exists(file, error))
    throw std::runtime_error(fmt::format(
        "{}: no such file: name a model.safetensors or the folder of a run of klab train", given));
  try {
    const TensorFile opened(file);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: copy it again, or train it again", e.what()));
  }
  return file;
}

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
  if (const Model* hash = model.as_hash()) {
    const Config& c = hash->config;
    return {page_field(*hash),
            fmt::format("hash table of {} levels, {} entries of {} numbers; two networks, {} units wide",
                        c.levels, hash->entries_in_use(), c.features, c.width),
            "train with a lower \"log2_table\" in the config"};
  }
  if (model.field() == "voxels") {
    const VoxelModel voxels = VoxelModel::load(file);
    return {page_field(voxels),
            fmt::format("voxels, {} cells along an edge, {} vertices of {} numbers", voxels.grid,
                        voxels.rows(), 1 + 3 * voxels.config.basis()),
            "train with a lower \"grid\" or \"sh_degree\" in the config"};
  }
  throw std::runtime_error(fmt::format(
      "{}: holds a field of {}; a page can draw fields of hash and voxels: train with --field hash",
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
  add("Here", "tables in float16, evaluated by the browser");
  return text;
}

int export_page(const ExportValues& v) {
  const fs::path file = model_of_run(v.model);
  std::error_code error;
  if (fs::equivalent(file, v.html, error))
    throw std::invalid_argument(fmt::format("--html {}: is the model itself: name another file", v.html));
  require_writable_file(v.html);
  const auto model = load_field_model(file);
  const Packed field = packed(file, *model);
  const PageText text = text_of(file, field.words);
  CallTimes times = times_here();
  const PictureMaker maker(*model, v.plan, backend_named("cpu"), times);
  const Picture still = maker.render()(v.view.camera(kStill));
  const std::string page = page_html(field.field, v.view, still, model->placement().black, text);
  if (page.size() > kMost)
    throw std::runtime_error(fmt::format("{}: its page would have {:.1f} MB, over {:.0f}: {}", file.string(),
                                         double(page.size()) * 1e-6, double(kMost) * 1e-6, field.remedy));
  write_file(v.html, page);
  fmt::print("{}  {:.2f} MB\n", v.html, double(page.size()) * 1e-6);
  return exit_ok;
}

std::function<int()> setup_export(CLI::App& app) {
  auto v = std::make_shared<ExportValues>();
  app.add_option("model", v->model, "model.safetensors, or the folder of a run")->required();
  app.add_option("--html", v->html, "page to write: one file that draws the field in any browser with WebGL2")
      ->required();
  add_number(app, "--height", v->view.height, range::elevation, "of the first view: sine of its elevation");
  add_number(app, "--distance", v->view.distance, range::distance,
             "from the center, in sides of the unit cube");
  add_number(app, "--fov", v->view.fov, range::degrees, "field of view along the shorter side, degrees");
  app.add_option("--plan", v->plan, "of the still picture: last (default), best, naive, or a JSON file");
  return [v] { return export_page(*v); };
}

KLAB_COMMAND({.name = "export",
              .summary = "A trained field as one page that draws it in a browser",
              .details = "The page evaluates the field itself, in a shader: a hash table in float16 and both "
                         "networks, or voxels; "
                         "occupancy bits skip\nempty space. It loads nothing from elsewhere, and shows a "
                         "still picture where the "
                         "browser has no WebGL2.",
              .setup = setup_export});

}  // namespace
}  // namespace klab::export_command
