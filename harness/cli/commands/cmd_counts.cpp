// klab counts: compares the counts of CUDA rungs at one small shape per op with those recorded in the tree.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/command.h"
#include "harness/cli/counts_text.h"
#include "harness/cli/gpu_agreement.h"
#include "harness/cli/recorded.h"
#include "harness/core/build_info.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/recorded_counts.h"
#include "harness/report/table.h"
#include "harness/simt/host_workers.h"

namespace klab {
namespace {

struct Options {
  std::vector<std::string> what;
  bool check = false, accept = false, markdown = false;
  std::vector<std::string> gpu;
};

/// The requested rungs of one op, with their present counts.
struct Counted {
  const LabOp* op = nullptr;
  bool whole = true;  // every CUDA rung of the op
  std::vector<RungCounts> rungs;
};

std::vector<Counted> count_all(const std::vector<std::string>& what) {
  std::vector<Counted> list;
  Progress progress;
  for (const Selected& s : select(what, "cuda")) {
    Counted c{
        .op = s.op, .whole = s.variants.size() == variants_of(s.op->op.name, "cuda").size(), .rungs = {}};
    for (const Variant* v : s.variants) {
      progress.show("counting " + v->id);
      c.rungs.push_back(count_rung(*s.op, *v, settings().threads > 0 ? settings().threads : simt::cores()));
    }
    list.push_back(std::move(c));
  }
  return list;
}

std::string asked(const Options& o) {
  std::string text;
  for (const std::string& w : o.what) text += " " + w;
  return text;
}

/// Prints a note if the compilers differ. Other compilers emit other instructions, so their counts may
/// differ.
void say_compiler(const std::set<std::string>& recorded) {
  for (const std::string& compiler : recorded)
    if (compiler != build_info().compiler)
      fmt::print("The recorded counts are of kernels compiled by {}, these of kernels compiled by {}.\n",
                 compiler, build_info().compiler);
}

int print(const std::vector<Counted>& all) {
  for (const Counted& c : all) {
    std::vector<Row> rows;
    for (const RungCounts& rung : c.rungs) {
      Row row{.op = c.op->op.name, .variant = rung.variant, .backend = "cuda", .shape = rung.shape};
      if (rung.shape.empty())
        row.skipped = "the host cannot run it";
      else
        row.counts = rung.places.front().counts;
      rows.push_back(std::move(row));
    }
    fmt::print("{}", counts_text(rows, "one call"));
  }
  if (all.size() != 1 || all[0].rungs.size() != 1) return exit_ok;
  Table table({{"place"}, {"access"}, {"counts"}});
  table.indent(2);
  for (const PlaceCounts& p : all[0].rungs[0].places) {
    std::string counts;
    for (const auto& [metric, count] : p.counts)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, metric);
    table.add({p.where(), p.access, counts});
  }
  fmt::print("\n{}", table.text());
  return exit_ok;
}

int check(const Options& o, const std::vector<Counted>& all) {
  std::vector<CountChange> changes;
  std::set<std::string> compilers;
  size_t rungs = 0;
  for (const Counted& c : all) {
    const auto recorded = read_counts(counts_file(root_or_throw(), c.op->op.name), c.op->op.name);
    if (recorded) compilers.insert(recorded->compiler);
    for (CountChange& change : changes_of(recorded, c.rungs, c.whole)) changes.push_back(std::move(change));
    rungs += c.rungs.size();
  }
  if (changes.empty()) {
    fmt::print("{} rungs count what is recorded\n", rungs);
    return exit_ok;
  }
  for (const CountChange& change : changes) fmt::print("{}\n", change.text());
  say_compiler(compilers);
  fmt::print("{} counts are not as recorded. Where that is wanted: ./klab counts{} --accept\n",
             changes.size(), asked(o));
  return exit_failed;
}

/// Returns the new contents of an op's file. Rungs that were not counted now keep their recorded counts.
OpCounts merged(const Counted& c, const std::optional<OpCounts>& recorded) {
  OpCounts all{.compiler = build_info().compiler, .rungs = {}};
  for (const Variant* v : variants_of(c.op->op.name, "cuda")) {
    const auto now = std::ranges::find(c.rungs, v->id, &RungCounts::variant);
    if (now != c.rungs.end())
      all.rungs.push_back(*now);
    else if (const RungCounts* was = recorded ? recorded->find(v->id) : nullptr; was != nullptr)
      all.rungs.push_back(*was);
  }
  return all;
}

int accept(const std::vector<Counted>& all) {
  size_t changed = 0;
  for (const Counted& c : all) {
    const std::string& op = c.op->op.name;
    const auto file = counts_file(root_or_throw(), op);
    std::optional<OpCounts> recorded;
    try {
      recorded = read_counts(file, op);
    } catch (const RecordedCountsError& e) {
      if (!c.whole) throw;  // the other rungs' counts would be lost
      fmt::print("{}\n", e.what());
    }
    for (const CountChange& change : changes_of(recorded, c.rungs, true)) {
      // Rungs that were not counted now cannot be compared.
      if (!c.whole && std::ranges::find(c.rungs, change.variant, &RungCounts::variant) == c.rungs.end())
        continue;
      fmt::print("{}\n", change.text());
      ++changed;
    }
    const std::string text = counts_csv(merged(c, recorded));
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored) && read_text(file) == text) continue;
    std::filesystem::create_directories(file.parent_path());
    write_file(file, text);
    fmt::print("{} {}\n", inked("recorded:", Ink::bold), file.string());
  }
  fmt::print("{}\n", changed == 0 ? "No count changed." : fmt::format("{} changes accepted.", changed));
  return exit_ok;
}

/// Compares with a GPU's record. Accepted results are written to the folder of the first file.
int against_gpu(const Options& o) {
  if (!o.what.empty() && o.accept)
    throw std::invalid_argument("--gpu --accept takes all rungs of a record: name none");
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(o.gpu.front()).parent_path(), kept = folder / "gpu_counters.csv",
                 beside = folder / "gpu_agreement.csv";
  if (o.markdown) {
    fmt::print("{}", agreement_text(read_agreement(read_text(beside), beside.string()), true));
    return exit_ok;
  }
  GpuRecord record;
  for (const std::string& file : o.gpu)
    for (auto& [variant, call] : read_gpu_record(read_text(file), file))
      record[variant] = call;  // later files override earlier ones
  if (!o.what.empty()) {
    std::set<std::string> asked;
    for (const Selected& s : select(o.what, "cuda"))
      for (const Variant* v : s.variants) asked.insert(v->id);
    std::erase_if(record, [&](const auto& call) { return !asked.contains(call.first); });
    if (record.empty()) throw std::invalid_argument("the record has none of these rungs");
  }
  Progress progress;
  const simt::GpuModel* model = nullptr;
  if (const fs::path machine = folder / "machine.json"; fs::exists(machine))
    model = simt::model_of(read_json_file(machine).at("machine").value("gpu", ""));
  const auto list =
      agreements(record, model, [&](const std::string& id) { progress.show("counting " + id); });
  progress.clear();
  if (o.accept) {
    write_file(kept, gpu_record_text(record));
    write_file(beside, agreement_csv(list));
  }
  fmt::print("{}", agreement_text(list, false));
  if (!o.check) return exit_ok;
  auto recorded = read_agreement(read_text(beside), beside.string());
  std::erase_if(recorded, [&](const Agreement& a) { return !record.contains(a.variant); });
  const bool as_recorded = agreement_csv(list) == agreement_csv(recorded);
  if (!as_recorded)
    fmt::print("That is not what {} says. Where that is wanted: ./klab counts --gpu {} --accept\n",
               beside.string(), kept.string());
  return as_recorded ? exit_ok : exit_failed;
}

int run(const Options& o) {
  if (!o.gpu.empty()) return against_gpu(o);
  if (o.markdown) throw std::invalid_argument("--markdown goes with --gpu");
  const std::vector<Counted> all = count_all(o.what);
  if (o.accept) return accept(all);
  return o.check ? check(o, all) : print(all);
}

KLAB_COMMAND(
    {.name = "counts",
     .summary = "Counts of CUDA rungs at a small shape, and whether they are those recorded",
     .details =
         "klab counts transpose                    of all CUDA rungs of an op\n"
         "klab counts transpose.cuda.02_shared_tile    line by line\n"
         "klab counts --check                      exit code 1 where a count is not the recorded one\n"
         "klab counts --accept                     records what differs, reports/recorded/counts/OP.csv\n"
         "klab counts --gpu FILE...                next to what a GPU counted of the same calls: FILE is "
         "what "
         "ncu wrote\n"
         "                                         (klab trace --help), or gpu_counters.csv, which --accept "
         "makes of it\n"
         "The shape is the lab's; the counts do not depend on the machine, but on the compiler.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->what, "labs, ops, variants (default: all)")->option_text("[WHAT...]");
       auto* compare = app.add_flag("--check", o->check, "compare with the recorded counts");
       app.add_flag("--accept", o->accept, "record these counts, and say what changed")->excludes(compare);
       app.add_option("--gpu", o->gpu, "compare with what a GPU counted")->option_text("FILE ...");
       app.add_flag("--markdown", o->markdown, "with --gpu: what is recorded next to that file, as a table");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab
