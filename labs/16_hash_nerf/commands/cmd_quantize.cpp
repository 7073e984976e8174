// klab quantize: stores a trained model in fewer bits.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/report/table.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/stored.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/named_model.h"

namespace klab::quantize_command {
namespace {

namespace fs = std::filesystem;

/// Loads a model of floats; only the hash field can be stored in fewer bits.
Model model_of_floats(const fs::path& path) {
  if (is_snapshot_file(path)) return load_snapshot(path);
  const TensorFile file(path);
  if (const std::string field = field_of(file); field != "hash")
    throw std::runtime_error(fmt::format("{}: holds a field of {}; only hash fields are stored in fewer bits",
                                         path.string(), field));
  if (const Storage storage = storage_in(file); storage != Storage::f32)
    throw std::runtime_error(
        fmt::format("{}: is stored as {} already: what it lost does not come back; name the model of floats",
                    path.string(), name_of(storage)));
  return Model::load(path);
}

int quantize(const std::string& from, const std::string& format, const std::string& out) {
  const Storage storage = storage_named(format);
  if (storage == Storage::f32)
    throw std::invalid_argument(
        "--format f32: the model is that already; take f16, bf16, int8, int4 or e2m1");
  const fs::path file = model_of_run(from);
  const Model model = model_of_floats(file);
  std::error_code error;
  if (fs::equivalent(file, out, error))
    throw std::invalid_argument(
        fmt::format("--out {}: is the model itself; name another file, so that the floats stay", out));
  const std::vector<StoredError> errors = save_stored(model, storage, out);
  Table table({{"tensor", Column::Kind::left},
               {"rms", Column::Kind::right},
               {"rms of error", Column::Kind::right},
               {"relative", Column::Kind::right},
               {"worst", Column::Kind::right}});
  for (const StoredError& e : errors)
    table.add({e.tensor, fmt::format("{:.3g}", e.rms_of_values), fmt::format("{:.2g}", e.rms),
               fmt::format("{:.3g} %", 100 * e.rms / std::max(e.rms_of_values, 1e-300)),
               fmt::format("{:.2g}", e.worst)});
  const auto before = double(fs::file_size(file)), after = double(fs::file_size(out));
  fmt::print("{}\n{:.2f} MB as {}, {:.2f} MB before: {:.1f} %\nwritten   {}\n", table.text(), after * 1e-6,
             format, before * 1e-6, 100 * after / before, out);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "quantize",
     .summary = "Write a trained model in fewer bits",
     .details =
         "eval and render take the file as they take the model. Scales of int8 are one a row of a matrix "
         "and one a feature of\neach level of the table, those of int4 and e2m1 one for each 32 "
         "numbers, chosen by the least squared error.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       struct Values {
         std::string model, format, out;
       };
       auto v = std::make_shared<Values>();
       app.add_option("model", v->model,
                      "model.safetensors, the folder of a run, or a snapshot of instant-ngp, .ingp")
           ->required();
       app.add_option("--format", v->format, "f16, bf16, int8, int4 or e2m1")->required();
       app.add_option("--out", v->out, "file to write")->required();
       return [v] { return quantize(v->model, v->format, v->out); };
     }});

}  // namespace
}  // namespace klab::quantize_command
