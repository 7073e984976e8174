// klab site: lessons, steps, ladders, traces, docs and glossary as a static site.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/site/site_folder.h"
#include "harness/core/select.h"
#include "harness/report/table.h"
#include "harness/simt/host_workers.h"

namespace klab::site_command {
namespace {

struct Options {
  std::string folder, title;
  std::vector<std::string> traced;
  bool no_traces = false;
};

/// Returns the CUDA rungs that the names mean, or all that the host can run. Vendors' libraries are left out: it cannot run these.
std::vector<const Variant*> traced_rungs(const Options& o) {
  std::vector<const Variant*> list;
  if (o.no_traces) return list;
  if (o.traced.empty())
    for (const Lab& lab : labs())
      for (const LabOp& op : lab.ops)
        for (const Variant* v : variants_of(op.op.name, "cuda"))
          if (v->host && !v->peer) list.push_back(v);
  if (!o.traced.empty())
    for (const Selected& s : select(o.traced, "simt"))
      for (const Variant* v : s.variants)
        if (!v->peer) list.push_back(v);
  return list;
}

int run(const Options& o) {
  require_site_folder(o.folder);
  Site site({.title = o.title,
             .traced = traced_rungs(o),
             .threads = settings().threads > 0 ? settings().threads : simt::cores()});
  watch_interrupt();
  Progress progress;
  const auto written = write_site(
      site, o.folder, [&](const std::string& path) { progress.show(path); }, interrupted);
  progress.clear();
  if (!written) {
    fmt::print(stderr, "klab: interrupted: {} is as it was\n", o.folder);
    return exit_interrupted;
  }
  fmt::print(
      "{}/index.html and {} files more ({:.1f} MB): open it in a browser, or put the folder on a server\n",
      o.folder, written->files - 1, double(written->bytes) * 1e-6);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "site",
     .summary = "Lessons, steps, ladders and docs as a static site",
     .details = "klab site out                          and open out/index.html: no server is needed\n"
                "klab site out --trace transpose.cuda   traces of these CUDA rungs only\n"
                "Every step of every ladder is a page, and so is what every CUDA rung moves, line by line. "
                "Times come from\n"
                "reports/recorded, with the machine named. A former site in the folder is replaced at the "
                "end; a folder with\n"
                "anything else in it is left alone. examples/pages has a workflow that publishes it on "
                "GitHub Pages.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("dir", o->folder, "folder to write: new, empty, or a former site")
           ->required()
           ->option_text("DIR");
       app.add_option("--title", o->title, "title of the site (default: klab)");
       auto* trace = app.add_option("--trace", o->traced,
                                    "trace these CUDA rungs only: a lab, op, variant or glob (default: all)")
                         ->option_text("WHAT ...");
       app.add_flag("--no-traces", o->no_traces, "without traces of CUDA rungs")->excludes(trace);
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::site_command
