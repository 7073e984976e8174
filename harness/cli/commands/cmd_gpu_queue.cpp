// klab gpu-queue: what waits for a GPU, and what a GPU's times decide of it. reports/gpu_queue.sh runs the queue.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

#include "harness/check/cases.h"
#include "harness/cli/command.h"
#include "harness/cli/gpu_queue.h"
#include "harness/cli/recorded.h"
#include "harness/core/lab.h"
#include "harness/records/atomic_file.h"
#include "harness/report/ladder_view.h"
#include "harness/report/table.h"

namespace klab::gpu_queue_command {
namespace {

struct Options {
  bool write = false, check = false, plan = false, sources = false;
  std::vector<std::string> decide;
};

int show(const std::vector<Waiting>& lines, const std::vector<Row>* rows) {
  Table table({{"rung"}, {"size"}, {"predicted", Column::Kind::right}, {rows ? "decided" : "waits since"}});
  table.indent(2);
  for (const Waiting& line : lines) {
    const LabOp* op = find_op(find_variant(line.rung)->op);
    table.add({line.rung, size_text(*op, line.shape),
               line.predicted ? three_digits(*line.predicted) + "x" : "",
               rows ? decide(line, *rows) : line.reason});
  }
  fmt::print("{}", table.text());
  return exit_ok;
}

int run(const Options& o) {
  const std::filesystem::path root = root_or_throw(), file = root / "reports/gpu_queue.csv";
  if (o.sources) {
    fmt::print("{}", gpu_sources_csv(root));
    return exit_ok;
  }
  if (o.plan || !o.decide.empty()) {
    const std::vector<Waiting> lines = read_gpu_queue(file);
    if (o.plan) {
      // For a script: one line a rung, its parent and its sizes.
      for (const Waiting& line : lines) {
        std::string sizes;
        for (const int64_t size : line.shape) sizes += fmt::format(" {}", size);
        fmt::print("{} {}{}\n", line.rung, line.parent.empty() ? "-" : line.parent, sizes);
      }
      return exit_ok;
    }
    std::vector<Row> rows;
    for (const std::string& name : o.decide)
      for (Row& row : read_csv(name, true).rows) rows.push_back(std::move(row));
    return show(lines, &rows);
  }
  const std::vector<Waiting> lines = waiting_for_gpu(root);
  if (o.write) {
    write_file(file, gpu_queue_csv(lines));
    fmt::print("{} lines in {}\n", lines.size(), file.string());
    return exit_ok;
  }
  if (o.check) {
    const std::vector<Waiting> there = read_gpu_queue(file);
    int differ = 0;
    for (const Waiting& line : lines)
      if (std::ranges::find(there, line) == there.end())
        ++differ, fmt::print("not in the queue: {}, {}\n", line.rung, line.reason);
    for (const Waiting& line : there)
      if (std::ranges::find(lines, line) == lines.end())
        ++differ, fmt::print("waits no more, or otherwise: {}\n", line.rung);
    if (differ == 0)
      fmt::print("{} lines, as they should be\n", there.size());
    else
      fmt::print("klab gpu-queue --write makes the file again\n");
    return differ == 0 ? exit_ok : exit_failed;
  }
  if (lines.empty()) fmt::print("Nothing waits for a GPU: every CUDA rung was timed as it is.\n");
  return lines.empty() ? exit_ok : show(lines, nullptr);
}

KLAB_COMMAND(
    {.name = "gpu-queue",
     .summary = "What waits for a GPU: CUDA rungs that none has timed as they are",
     .details =
         "Without an option: the rungs, computed from the records in reports/recorded. reports/gpu_queue.sh\n"
         "checks and times what reports/gpu_queue.csv lists, on a machine that has a GPU.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_flag("--write", o->write, "write reports/gpu_queue.csv");
       app.add_flag("--check", o->check, "compare that file with what waits; exit code 1 where they differ");
       app.add_flag("--plan", o->plan, "print that file for a script: rung, parent, sizes");
       app.add_option("--decide", o->decide, "apply the rules of that file to these rows")
           ->type_name("ROWS.csv");
       app.add_flag("--sources", o->sources, "print the digest of every CUDA rung's code");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::gpu_queue_command
