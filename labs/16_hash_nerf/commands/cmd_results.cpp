// klab results: prints recorded runs of train and fit-image as one Markdown table.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/core/registry.h"
#include "harness/records/input.h"
#include "harness/records/refused.h"
#include "labs/radiance/field/config.h"

namespace klab::results_command {
namespace {

using nlohmann::json;

// Describes the field, its bits if they are fewer, and whether its table grows. Records older than the choice
// have one field.
std::string how_held(const json& r) {
  std::string text = r.value("field", "hash");
  if (const std::string precision = r.value("precision", "f32"); precision != "f32") text += ", " + precision;
  if (r.contains("config") && r.at("config").value("table", "fixed") == "adaptive") text += ", adaptive";
  if (const std::string backend = r.value("backend", "cpu"); backend != "cpu")
    text += ", --backend " + backend;
  constexpr int64_t kUsual = 1 << 15;
  if (const int64_t batch = r.value("batch_samples", kUsual);
      r.value("field", "hash") == "hash" && batch != kUsual && batch > 0)
    text += fmt::format(", batches of {} samples", batch);
  return text;
}

// Lists fields of a hash field's config that differ from the recipe, "background random, log2_table 19".
// Leaves out those in how_held() and those that the recorded run did not know.
std::string other_than_recipe(const json& r) {
  if (r.value("field", "hash") != "hash" || !r.contains("config")) return "";
  const json recipe = json::parse(config_to_json(Config()));
  std::vector<std::string> others;
  for (const auto& [name, value] : r.at("config").items()) {
    if (name == "batch_samples" || name == "table" || !recipe.contains(name) || recipe.at(name) == value)
      continue;
    others.push_back(
        name + " " +
        (value.is_string() ? value.get<std::string>() : fmt::format("{:g}", value.get<double>())));
  }
  return fmt::format("{}", fmt::join(others, ", "));
}

/// How the test views of a scene were scored. If results of a scene differ in it (views of another size),
/// letters distinguish them.
class Protocols {
 public:
  void add(const json& r) {
    if (!r.contains("score")) return;
    of_[r.at("scene").get<std::string>()].insert(r.at("score").at("protocol").get<std::string>());
  }

  /// Returns "lego_400" or "lego_400 (b)".
  std::string scene(const json& r) const {
    const std::string name = r.at("scene").get<std::string>();
    const std::set<std::string>& all = of_.at(name);
    const auto at = all.find(r.at("score").at("protocol").get<std::string>());
    return name + letter(all, size_t(std::distance(all.begin(), at)));
  }

  std::string list() const {
    std::string text;
    for (const auto& [scene, all] : of_)
      for (size_t i = 0; const std::string& protocol : all)
        text += fmt::format("- {}{}: {}\n", scene, letter(all, i++), protocol);
    return text;
  }

 private:
  static std::string letter(const std::set<std::string>& all, size_t i) {
    return all.size() < 2 ? "" : i < 26 ? fmt::format(" ({})", char('a' + i)) : fmt::format(" (a{})", i);
  }

  std::map<std::string, std::set<std::string>> of_;  // protocols by scene
};

// Returns a line of the table. A result of fit-image has an image and no views.
std::string line_of(const json& r, const Protocols& protocols, const std::string& note) {
  if (r.contains("image"))
    return fmt::format(
        "| {} (one image, {:.2f} parameters per pixel) | hash | {:.0f} s | {} | - | {:.2f} dB | - | - | - "
        "|\n",
        r.at("image").get<std::string>(), r.at("parameters").get<double>() / r.at("pixels").get<double>(),
        r.at("seconds").get<double>(), r.at("steps").get<int64_t>(), r.at("psnr").get<double>());
  const json& score = r.at("score");
  return fmt::format("| {} | {} | {:.0f} s | {} | {:.2f} M | {:.2f} dB | {:.4f} | {:.2f} s | {:.2f} GB |\n",
                     protocols.scene(r), how_held(r) + note, r.at("seconds_training").get<double>(),
                     r.at("steps").get<int64_t>(), r.at("samples_per_second").get<double>() * 1e-6,
                     score.at("psnr").get<double>(), score.at("ssim").get<double>(),
                     score.at("seconds_per_view").get<double>(), r.at("peak_memory").get<double>() * 1e-9);
}

/// Returns the refusal of a file that lacks a field, or has one of another type: the library's message quotes the field, if any.
Refused not_a_result(const std::string& file, const std::string& command, const json::exception& e) {
  const std::string what = e.what();
  const size_t begin = what.find('\''), end = what.find('\'', begin + 1);
  const std::string field = begin < end && end != std::string::npos
                                ? '"' + excerpt(what.substr(begin + 1, end - begin - 1)) + '"'
                                : "a field";
  const bool missing = what.find("not found") != std::string::npos;
  return {
      file, field,
      fmt::format("is no result of {}: {} {}", command, field, missing ? "is missing" : "has another type"),
      "name the result.json of a run"};
}

/// Calls `use` for each result; the error for a missing field names the file.
void each(const std::vector<std::string>& files, const std::vector<json>& read,
          const std::function<void(const json&)>& use) {
  for (size_t i = 0; i < read.size(); ++i) try {
      use(read[i]);
    } catch (const json::exception& e) {
      throw not_a_result(files[i], "klab train or fit-image", e);
    }
}

/// Returns, for each field, the rung of each op that the most of its runs on the processor chose, the first of those that
/// are equal. Rungs that this program does not have are left out.
json plans_of(const std::vector<std::string>& files, const std::vector<json>& read,
              std::vector<std::string>& used) {
  std::map<std::string, std::map<std::string, std::vector<std::pair<std::string, int>>>> counts;
  for (size_t i = 0; i < read.size(); ++i) try {
      const json& r = read[i];
      if (r.value("backend", "cpu") != "cpu" || !r.contains("plan") || !r.contains("field")) continue;
      used.push_back(files[i]);
      for (const auto& [op, id] : r.at("plan").items()) {
        const std::string now = current_id(id.get<std::string>());
        if (find_variant(now) == nullptr) continue;
        auto& list = counts[r.at("field").get<std::string>()][op];
        const auto at = std::ranges::find(list, now, &std::pair<std::string, int>::first);
        if (at == list.end())
          list.emplace_back(now, 1);
        else
          ++at->second;
      }
    } catch (const json::exception& e) {
      throw not_a_result(files[i], "klab train", e);
    }
  json fields = json::object();
  for (const auto& [field, ops] : counts)
    for (const auto& [op, list] : ops)
      fields[field][op] = std::ranges::max_element(list, {}, &std::pair<std::string, int>::second)->first;
  return fields;
}

/// Prints the plan file of a machine: what klab ships with for its instruction set.
int plans(const std::string& machine_file, const std::vector<std::string>& files) {
  const json machine = read_json_file(machine_file);
  std::vector<json> read;
  for (const std::string& file : files) read.push_back(read_json_file(file));
  std::vector<std::string> used;
  const json fields = plans_of(files, read, used);
  if (fields.empty())
    throw std::runtime_error(
        "none of these results has the plan of a run on the processor: record trainings with klab train");
  try {
    const json& facts = machine.contains("machine") ? machine.at("machine") : machine;
    const auto threads = facts.at("threads").get<int>();
    fmt::print("{}\n",
               json{{"instruction_set", facts.at("instruction_set")},
                    {"machine", fmt::format("{}, {} thread{}", facts.at("processor").get<std::string>(),
                                            threads, threads == 1 ? "" : "s")},
                    {"from", used},
                    {"fields", fields}}
                   .dump(2));
  } catch (const json::exception& e) {
    throw std::runtime_error(fmt::format("{}: describes no machine ({}): write it with klab doctor --json",
                                         machine_file, e.what()));
  }
  return exit_ok;
}

int results(const std::vector<std::string>& files) {
  std::string text =
      "| scene | field | trained | steps | samples per second | PSNR | SSIM | time per view | memory "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  std::vector<json> read;
  for (const std::string& file : files) read.push_back(read_json_file(file));
  Protocols protocols;
  each(files, read, [&](const json& r) { protocols.add(r); });
  std::vector<std::string> recipes;
  each(files, read, [&](const json& r) {
    std::string note;
    if (const std::string recipe = other_than_recipe(r); !recipe.empty()) {
      const auto at = std::ranges::find(recipes, recipe);
      note = fmt::format(" ({})", at - recipes.begin() + 1);
      if (at == recipes.end()) recipes.push_back(recipe);
    }
    text += line_of(r, protocols, note);
  });
  fmt::print("{}", text);
  if (!recipes.empty()) fmt::print("\nOther than the recipe:\n\n");
  for (size_t i = 0; i < recipes.size(); ++i) fmt::print("- ({}): {}\n", i + 1, recipes[i]);
  if (const std::string list = protocols.list(); !list.empty()) fmt::print("\n{}", list);
  return exit_ok;
}

KLAB_COMMAND({.name = "results",
              .summary = "recorded training results as a Markdown table",
              .details = "Files are result.json of `klab train` and what `klab fit-image --json` prints.",
              .setup = [](CLI::App& app) -> std::function<int()> {
                auto files = std::make_shared<std::vector<std::string>>();
                auto machine = std::make_shared<std::string>();
                app.add_option("files", *files, "results, in the order of the table")->required();
                app.add_option(
                    "--plans", *machine,
                    "instead of a table print the rungs that these runs chose, as reports/plans.sh keeps "
                    "them for their machine: its machine.json, of klab doctor --json");
                return
                    [files, machine] { return machine->empty() ? results(*files) : plans(*machine, *files); };
              }});

}  // namespace
}  // namespace klab::results_command
