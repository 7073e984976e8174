#include "labs/radiance/run/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "harness/core/registry.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/inference.h"

namespace klab {
namespace {

constexpr Range kScores{1, 1000};
constexpr Range kTries{1, 1000};
constexpr Range kBatches{256, 1 << 24};
constexpr const char* kBackendsOfOptions[] = {"cpu", "simt", "cuda"};

bool contains(const std::vector<std::string>& list, const std::string& value) {
  return std::ranges::find(list, value) != list.end();
}

/// Returns why no plan of a field's training has a rung of that unit; empty if one may.
std::string no_rung_of(Unit unit, const char* name, const FieldSettings& settings,
                       const std::string& backend) {
  FieldSettings there = settings;
  there.on_a_gpu = backend != "cpu";
  const std::string ladder = there.on_a_gpu ? "cuda" : "cpu";
  for (const PlannedCall& call : run_calls(there, 1, ladder))
    for (const Variant* v : variants_of(call.op, ladder))
      if (!v->peer && v->numerics.unit == unit) return "";
  return fmt::format("no op of --field {} has a rung with {} on --backend {}", settings.field, name, backend);
}

std::vector<DeclaredOption> make_options() {
  return {
      {.command = "train",
       .name = "--memory",
       .topic = "memory",
       .unit = "bytes",
       .values = "4GB, 500MB, ...",
       .default_text = "what is free",
       .meaning = "what the run may take: pictures, batch and table are chosen to fit"},
      {.command = "train",
       .name = "--pressure",
       .topic = "memory",
       .unit = "percent",
       .values = "LOW:HIGH, off",
       .default_text = "5:25",
       .meaning = "share of memory that is free: with less than LOW caches go and then the batch of a hash "
                  "field is halved, with more than HIGH it grows back"},
      {.command = "train",
       .name = "--reserve",
       .topic = "memory",
       .unit = "bytes",
       .values = "500MB, 2GB, ...",
       .default_text = "0",
       .meaning =
           "memory that stays free, of the host and of a GPU: the plan leaves it out, and with less than it "
           "memory is short"},
      {.command = "train",
       .name = "--least-batch",
       .topic = "memory",
       .unit = "samples",
       .range = kBatches,
       .default_text = "1024",
       .meaning = "samples of a step where memory is short, at least: the run ends where fewer are needed",
       .fields = {"hash"},
       .why = "changes its batch while it trains"},
      {.command = "train",
       .name = "--most-batch",
       .topic = "memory",
       .unit = "samples",
       .range = kBatches,
       .default_text = "no more than planned",
       .meaning = "samples of a step to which the batch doubles while memory is plentiful, at most",
       .fields = {"hash"},
       .why = "changes its batch while it trains"},
      {.command = "train",
       .name = "--resident",
       .topic = "memory",
       .unit = "pictures",
       .range = range::frames,
       .default_text = "as many as fit",
       .meaning = "pictures in memory at a time, in turns",
       .fields = {"hash"},
       .why = "learns from pictures that take turns"},
      {.command = "train",
       .name = "--workers",
       .topic = "memory",
       .unit = "threads",
       .range = range::threads,
       .default_text = "1",
       .meaning = "threads that read pictures that take turns; refused where all stay in memory",
       .fields = {"hash"},
       .why = "learns from pictures that take turns"},
      {.command = "train",
       .name = "--prefetch",
       .topic = "memory",
       .unit = "pictures",
       .range = range::frames,
       .default_text = "2",
       .meaning = "pictures that they read ahead; refused where all stay in memory",
       .fields = {"hash"},
       .why = "learns from pictures that take turns"},
      {.command = "train",
       .name = "--recompute",
       .topic = "memory",
       .unit = "",
       .values = "given or not",
       .default_text = "not",
       .meaning = "do not keep features of the encoding for the gradients, look them up again: less memory, "
                  "the same steps",
       .fields = {"hash"},
       .why = "keeps features of an encoding"},
      {.command = "train",
       .name = "--parts",
       .topic = "memory",
       .unit = "parts",
       .range = range::threads,
       .default_text = "one for each process",
       .meaning = "parts of a step's batch, computed one after the other or by several processes: their "
                  "gradients are added up",
       .fields = {"hash", "frequency", "voxels"},
       .why = "has a batch that can be divided"},
      {.command = "train",
       .name = "--precision",
       .topic = "precision",
       .unit = "",
       .values = "f32, bf16, f16",
       .default_text = "f32",
       .meaning = "bf16: the best plan may take rungs with bfloat16 factors; f16: what is stored between ops "
                  "is rounded to half precision, with a loss scale. Parameters stay float"},
      {.command = "train",
       .name = "--precision bf16",
       .topic = "precision",
       .unit = "",
       .values = "a value of --precision",
       .default_text = "",
       .meaning = "where a rung of the field's ops has bfloat16 factors",
       .remedy = "take f32",
       .idle_because =
           [](const FieldSettings& s, const std::string& backend) {
             return no_rung_of(Unit::bf16, "bfloat16 factors", s, backend);
           }},
      {.command = "train",
       .name = "--precision f16",
       .topic = "precision",
       .unit = "",
       .values = "a value of --precision",
       .default_text = "",
       .meaning = "where there is a loss scale",
       .fields = {"hash"},
       .why = "is trained with a loss scale",
       .remedy = "take f32"},
      {.command = "train",
       .name = "--loss-scale",
       .topic = "precision",
       .unit = "",
       .values = "dynamic, or a number",
       .default_text = "dynamic with f16, else 1",
       .meaning = "what the loss is multiplied by",
       .fields = {"hash"},
       .why = "is trained with a loss scale"},
      {.command = "train",
       .name = "--scale-start",
       .topic = "precision",
       .unit = "",
       .range = range::loss_scale,
       .default_text = "65536",
       .meaning = "where a dynamic scale begins",
       .fields = {"hash"},
       .why = "is trained with a loss scale"},
      {.command = "train",
       .name = "--scale-after",
       .topic = "precision",
       .unit = "steps",
       .range = range::steps_of_scale,
       .default_text = "2000",
       .meaning = "finite steps after which it doubles; it halves where one is not",
       .fields = {"hash"},
       .why = "is trained with a loss scale"},
      {.command = "train",
       .name = "--eval-every",
       .topic = "watching",
       .unit = "seconds or steps",
       .values = "10, 500steps, ...",
       .default_text = "never",
       .meaning =
           "seconds of training, or steps, between two scores on a few test views, chosen so that they "
           "take at most 3 % of the time"},
      {.command = "train",
       .name = "--plateau",
       .topic = "watching",
       .unit = "scores",
       .range = kScores,
       .default_text = "off",
       .meaning = "--eval-every: halve the learning rates after this number of scores without a gain"},
      {.command = "train",
       .name = "--patience",
       .topic = "watching",
       .unit = "scores",
       .range = kScores,
       .default_text = "off",
       .meaning = "--eval-every: end the run after this number of scores without a gain"},
      {.command = "train",
       .name = "--metrics-every",
       .topic = "watching",
       .unit = "seconds",
       .range = range::seconds,
       .default_text = "1",
       .meaning = "between two lines of metrics.csv"},
      {.command = "train",
       .name = "--on-nan",
       .topic = "watching",
       .unit = "",
       .values = "stop, retry",
       .default_text = "stop",
       .meaning = "after a step that is not finite: stop, or retry from the last checkpoint with half the "
                  "learning rates"},
      {.command = "train",
       .name = "--retries",
       .topic = "watching",
       .unit = "tries",
       .range = kTries,
       .default_text = "5",
       .meaning = "--on-nan retry: how often"},
      {.command = "eval",
       .name = "--precision",
       .topic = "pictures of a model",
       .unit = "",
       .values = "f32, bf16, f16, int8",
       .default_text = "",
       .meaning = kPrecisionHelp,
       .fields = {"hash", "frequency", "voxels"},
       .why = "holds its numbers in fewer bits"},
      {.command = "eval",
       .name = "--batch",
       .topic = "pictures of a model",
       .unit = "pixels",
       .values = "auto, or a number",
       .default_text = "",
       .meaning = kBatchHelp,
       .fields = {"hash", "frequency", "voxels"},
       .why = "is drawn in pieces"},
      {.command = "eval",
       .name = "--memory",
       .topic = "pictures of a model",
       .unit = "bytes",
       .values = "500MB, 2GB, ...",
       .default_text = "",
       .meaning = kMemoryHelp,
       .fields = {"hash", "frequency", "voxels"},
       .why = "is drawn in pieces"},
  };
}

}  // namespace

std::string DeclaredOption::help() const {
  const bool says = unit[0] == 0 || !range || meaning.starts_with(unit);
  const std::string of_unit = says ? "" : fmt::format("{}: ", unit);
  return default_text.empty() ? of_unit + meaning
                              : fmt::format("{}{} (default {})", of_unit, meaning, default_text);
}

const std::vector<DeclaredOption>& declared_options() {
  static const std::vector<DeclaredOption> list = make_options();
  return list;
}

const DeclaredOption& declared_option(const std::string& command, const std::string& name) {
  for (const DeclaredOption& each : declared_options())
    if (command == each.command && name == each.name) return each;
  throw std::logic_error(fmt::format("klab {}: {} is not declared", command, name));
}

std::string refusal_of(const DeclaredOption& option, const FieldSettings& settings,
                       const std::string& backend) {
  if (!option.fields.empty() && !contains(option.fields, settings.field))
    return fmt::format("only --field {} {}, and this is {}; {}", fmt::join(option.fields, " or "), option.why,
                       settings.field, option.remedy);
  if (!option.backends.empty() && !contains(option.backends, backend))
    return fmt::format("only --backend {} has it, and this is {}; {}", fmt::join(option.backends, " or "),
                       backend, option.remedy);
  const std::string idle =
      option.idle_because != nullptr ? option.idle_because(settings, backend) : std::string();
  return idle.empty() ? "" : fmt::format("{}; {}", idle, option.remedy);
}

void require_option(const std::string& option, const FieldSettings& settings, const std::string& backend) {
  if (const std::string why = refusal_of(declared_option("train", option), settings, backend); !why.empty())
    throw std::runtime_error(fmt::format("{}: {}", option, why));
}

void require_option_of_field(const std::string& option, const std::string& field) {
  FieldSettings settings;
  settings.field = field;
  require_option(option, settings, "cpu");
}

std::string options_page(const std::vector<std::string>& fields) {
  std::string text, topic, refusals;
  for (const DeclaredOption& option : declared_options()) {
    if (topic != option.topic) {
      topic = option.topic;
      text += fmt::format(
          "\n## Options: {}\n\n| option | meaning | unit | values | default | {} |\n"
          "|---|---|---|---|---|",
          topic, fmt::join(fields, " | "));
      for (size_t i = 0; i < fields.size(); ++i) text += "---|";
      text += "\n";
    }
    text += fmt::format("| `{}` | {} | {} | {} | {} |", option.name, option.meaning, option.unit,
                        option.range ? text_of(*option.range) : option.values, option.default_text);
    for (const std::string& field : fields) {
      FieldSettings settings;
      settings.field = field;
      std::vector<std::string> applies;
      std::string last;
      for (const char* backend : kBackendsOfOptions) {
        const std::string why = refusal_of(option, settings, backend);
        if (why.empty()) applies.emplace_back(backend);
        if (why.empty() || why == last) continue;
        last = why;
        refusals += fmt::format("| `{}` of {} | {} | {} |\n", option.name,
                                std::string(option.command) == "eval" ? "pictures" : "training", field, why);
      }
      text += applies.empty() ? " |"
              : applies.size() == std::size(kBackendsOfOptions)
                  ? " yes |"
                  : fmt::format(" {} |", fmt::join(applies, ", "));
    }
    text += "\n";
  }
  return text +
         "\n## Refused options\n\nA command that is given one of these ends with the reason, before it "
         "begins.\n\n"
         "| option | field | reason |\n|---|---|---|\n" +
         refusals;
}

}  // namespace klab
