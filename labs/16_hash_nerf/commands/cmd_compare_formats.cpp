// klab compare-formats: holds one model in every format, and compares size, quality and speed. A hash field is stored in them, too.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <numeric>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/gpu/gpu.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/report/page.h"
#include "harness/report/table.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/stored.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/inference.h"
#include "labs/radiance/run/named_model.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/stop.h"

namespace klab::compare_formats_command {
namespace {

namespace fs = std::filesystem;

struct Values {
  std::string model, scene, out = "formats", backend = "cpu";
  std::vector<std::string> formats;
  SceneOptions reading;
  int views = 100000;
};

/// A format, its file, and the scores of its pictures.
struct Row {
  std::string format;
  fs::path file;
  double bytes = 0, held = 0;   // of the file, 0 without one, and of tables and weights in memory
  double psnr = 0, ssim = 0;    // means over the views
  std::vector<double> seconds;  // for each view
  std::unique_ptr<FieldModel> model;
  std::unique_ptr<PictureMaker> maker;
};

/// Returns the formats to compare, floats first, because the others are compared with them. Throws std::invalid_argument for one
/// that the field does not have.
std::vector<Storage> formats_of(const Values& v, const FieldModel& model) {
  const bool files = model.as_hash() != nullptr;
  std::vector<Storage> formats = {Storage::f32};
  for (const std::string& name : v.formats)
    if (!files && !is_precision(storage_named(name)))
      throw std::invalid_argument(
          fmt::format("--formats {}: is a format of hash fields' files; {} are held in bf16, f16 and int8",
                      name, model.field()));
  for (const Storage s : kStorages) {
    const bool asked = v.formats.empty() || std::ranges::find(v.formats, name_of(s)) != v.formats.end();
    if (s != Storage::f32 && asked && (files || is_precision(s))) formats.push_back(s);
  }
  return formats;
}

/// Reads a hash field from a file of each format, as eval and render do, and holds another field in each.
std::vector<Row> held_in_all(const Values& v, std::unique_ptr<FieldModel> model) {
  std::vector<Row> rows;
  const std::vector<Storage> formats = formats_of(v, *model);
  for (const Storage format : formats) {
    Row& row = rows.emplace_back();
    row.format = name_of(format);
    row.file = fs::path(v.out) / fmt::format("model_{}.safetensors", row.format);
    if (const Model* hash = model->as_hash()) {
      if (format == Storage::f32)
        hash->save(row.file);
      else
        save_stored(*hash, format, row.file);
      row.model = load_field_model(row.file, nullptr, load_precision("", row.file));
    } else if (format != Storage::f32) {
      row.model = in_fewer_bits(*model, format);
    } else {
      model->save(row.file);
      row.model = load_field_model(row.file);
    }
    const bool stored = model->as_hash() != nullptr || format == Storage::f32;
    if (stored) row.bytes = double(fs::file_size(row.file));
    row.held = double(row.model->held_bytes());
  }
  return rows;
}

/// Renders a view in all formats before the next one, so that other load on the machine hits all alike.
void score(std::vector<Row>& rows, std::span<const View> views, const fs::path& folder) {
  Progress progress;
  for (size_t i = 0; i < views.size() && !stop_requested; ++i) {
    progress.show(fmt::format("view {} of {}", i + 1, views.size()));
    for (Row& row : rows) {
      const auto each = [&](const View& view, const Picture& picture, const ViewScore&) {
        if (i == 0)
          save_comparison(folder / fmt::format("view_{}.png", row.format), view, picture,
                          row.model->placement().black);
      };
      const Score s = evaluate(row.maker->render(), row.model->placement().black, views.subspan(i, 1), each);
      const double share = 1 / double(views.size());
      row.psnr += share * s.psnr;
      row.ssim += share * s.ssim;
      row.seconds.push_back(s.seconds);
    }
  }
  progress.clear();
}

/// Uses the median, so that a view disturbed by another program does not count.
double frames_per_second(std::vector<double> seconds) {
  const auto middle = seconds.begin() + std::ptrdiff_t(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return 1 / *middle;
}

/// Speed over floats: the median over the views, which all formats draw one after the other.
double over_floats(const Row& row, const Row& floats) {
  std::vector<double> ratios;
  for (size_t i = 0; i < row.seconds.size(); ++i) ratios.push_back(floats.seconds[i] / row.seconds[i]);
  return 1 / frames_per_second(ratios);
}

/// The most that fewer bits could gain, by the shares of time of the pictures in floats; 1 for a row whose numbers are floats.
double at_most(const Row& row, const Row& floats) {
  if (row.model->precision() == Storage::f32) return 1;
  return most_gained(floats.maker->profile(),
                     std::accumulate(floats.seconds.begin(), floats.seconds.end(), 0.0));
}

const std::vector<std::string> kHeads = {"format",   "memory",   "file",    "of f32",   "held",    "of f32",
                                         "frames/s", "over f32", "at most", "PSNR, dB", "dB lost", "SSIM"};

std::vector<std::string> cells_of(const Row& row, const Row& floats) {
  return {row.format,
          name_of(row.model->precision()),
          row.bytes > 0 ? fmt::format("{:.0f}", row.bytes) : "-",
          row.bytes > 0 ? fmt::format("{:.1f} %", 100 * row.bytes / floats.bytes) : "-",
          fmt::format("{:.0f}", row.held),
          fmt::format("{:.1f} %", 100 * row.held / floats.held),
          fmt::format("{:.2f}", frames_per_second(row.seconds)),
          fmt::format("{:.2f}x", over_floats(row, floats)),
          fmt::format("{:.2f}x", at_most(row, floats)),
          fmt::format("{:.3f}", row.psnr),
          fmt::format("{:.3f}", floats.psnr - row.psnr),
          fmt::format("{:.4f}", row.ssim)};
}

void write_rows(const fs::path& file, const std::vector<Row>& rows, size_t views) {
  std::string text =
      "format,bytes,memory,held_bytes,frames_per_second,psnr,db_lost,ssim,views,over_f32,at_most\n";
  for (const Row& row : rows)
    text +=
        fmt::format("{},{},{},{:.0f},{:.4f},{:.4f},{:.4f},{:.5f},{},{:.4f},{:.4f}\n", row.format,
                    row.bytes > 0 ? fmt::format("{:.0f}", row.bytes) : "", name_of(row.model->precision()),
                    row.held, frames_per_second(row.seconds), row.psnr, rows.front().psnr - row.psnr,
                    row.ssim, views, over_floats(row, rows.front()), at_most(row, rows.front()));
  write_file(file, text);
}

void write_page(const Values& v, const std::vector<std::vector<std::string>>& cells,
                const std::vector<Row>& rows) {
  Page page("Formats compared: " + v.model);
  page.text(
      rows.back().bytes > 0
          ? "One model, stored in each format, read back and rendered; halves, bfloat16s and bytes stay so "
            "in "
            "memory, numbers of four bits become floats. Left in each picture the model, right the truth."
          : "One model, held in memory in each format and rendered. Left in each picture the model, right "
            "the "
            "truth.");
  page.table(kHeads, cells);
  std::vector<Curve> points;  // no line: formats are no sequence
  const bool files = rows.back().bytes > 0;
  for (const Row& row : rows)
    points.push_back({row.format, {{(files ? row.bytes : row.held) * 1e-6, row.psnr}}});
  page.curves(points, files ? "MB of the file" : "MB in memory", "PSNR, dB", true, false, "What bytes buy.");
  for (const Row& row : rows)
    page.picture((fs::path(v.out) / fmt::format("view_{}.png", row.format)).string(), 800, row.format);
  write_file(fs::path(v.out) / "formats.html", page.html());
}

int compare(Values& v) {
  for (const std::string& format : v.formats) storage_named(format);  // throws for an unknown one
  const BackendChoice where = backend_named(v.backend);
  const OnGpu on_a_gpu(v.backend == "cuda");
  const fs::path file = model_of_run(v.model);
  const bool snapshot = is_snapshot_file(file);
  if (is_gaussian_file(file) || (!snapshot && field_of(TensorFile(file)) == "gaussians"))
    throw std::runtime_error(file.string() + ": Gaussians are held as floats only: name another field");
  if (!snapshot && storage_in(TensorFile(file)) != Storage::f32)
    throw std::runtime_error(file.string() + ": is no field of floats: name the model that klab train wrote");
  std::unique_ptr<FieldModel> model = load_field_model(file);
  formats_of(v, *model);
  v.reading.seed = settings().seed;
  Scene scene = load_scene_visibly(v.scene, v.reading);
  if (scene.test.empty()) throw std::runtime_error(v.scene + ": has no test view: give --holdout");
  if (int(scene.test.size()) > v.views) scene.test.resize(size_t(v.views));
  make_folder(v.out);
  const StopSignals signals;
  std::vector<Row> rows = held_in_all(v, std::move(model));
  CallTimes times = times_here();
  for (Row& row : rows) {
    // The same plan for all whose numbers are floats.
    const bool floats = row.model->precision() == Storage::f32;
    const std::optional<Plan> plan =
        floats && rows.front().maker ? std::optional(rows.front().maker->plan()) : std::nullopt;
    row.maker = std::make_unique<PictureMaker>(*row.model, "best", where, times, plan);
    fmt::print("{}", held_text(*row.model, row.maker->plan()));
  }
  score(rows, scene.test, v.out);
  if (stop_requested) {
    stop_heeded();
    fmt::print("interrupted: no table\n");
    return 130;
  }
  std::vector<Column> columns;
  for (const std::string& head : kHeads)
    columns.push_back({head, columns.empty() ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    cells.push_back(cells_of(row, rows.front()));
    table.add({cells.back().begin(), cells.back().end()});
  }
  write_rows(fs::path(v.out) / "formats.csv", rows, scene.test.size());
  write_page(v, cells, rows);
  fmt::print(
      "{}\n{} test views of {}, view by view in all formats; held: bytes of tables and weights in memory; "
      "at most: if reading and multiplying them took no time\n"
      "written   {}\n",
      table.text(), scene.test.size(), v.scene, (fs::path(v.out) / "formats.csv").string());
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "compare-formats",
     .summary = "Hold a trained model in every format: bytes, frames/s, dB",
     .details =
         "Writes the models, formats.csv with a row for each, and formats.html with their pictures. Hash "
         "fields have files\nin every format; voxels and frequency fields are held in bf16, f16 and int8, "
         "and Gaussians in none.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto v = std::make_shared<Values>();
       app.add_option("model", v->model, "model.safetensors, or the folder of a run")->required();
       app.add_option("scene", v->scene, "the scene it was trained on")->required();
       app.add_option("--formats", v->formats,
                      "these next to f32 (default: all that the field has of f16, bf16, int8, int4, e2m1)")
           ->delimiter(',');
       add_backend(app, v->backend);
       add_number(app, "--views", v->views, range::frames, "number of test views (default: all)");
       add_number(app, "--downscale", v->reading.downscale, range::downscale, "as in training");
       add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
       app.add_option("--out", v->out, "folder to write (default formats)");
       return [v] { return compare(*v); };
     }});

}  // namespace
}  // namespace klab::compare_formats_command
