// klab trace: what a CUDA variant does to memory, line by line, without a GPU.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/atomic_file.h"
#include "harness/check.h"
#include "harness/cli/command.h"
#include "harness/cli/trace_text.h"
#include "harness/select.h"
#include "harness/simt/gpus.h"
#include "harness/table.h"

namespace klab {
namespace {

struct Options {
  std::string variant;
  std::vector<int64_t> shape;
  std::string html;
  std::string gpu;
  bool json = false;
};

/// By id, or by what comes after the op where that is enough: "transpose.cuda.02".
const Variant& variant_named(const std::string& name) {
  if (const Variant* v = find_variant(name); v != nullptr) {
    if (v->backend == "cuda") return *v;
    throw std::invalid_argument(
        v->id + " runs on the processor; klab trace is for CUDA variants" +
        (variants_of(v->op, "cuda").empty() ? "" : ", such as " + variants_of(v->op, "cuda").front()->id));
  }
  std::vector<std::string> names;
  const Variant* begins = nullptr;
  int many = 0;
  for (const Variant& v : variants()) {
    if (v.backend != "cuda") continue;
    names.push_back(v.id);
    if (v.id.starts_with(name)) begins = &v, ++many;
  }
  if (many == 1) return *begins;
  throw NotFound(not_found_text("CUDA variant", name, names));
}

void require_shape(const Op& op, const std::vector<int64_t>& shape) {
  std::string dims;
  for (const std::string& d : op.dims) dims += (dims.empty() ? "" : ",") + d;
  if (shape.size() != op.dims.size())
    throw std::invalid_argument(fmt::format("--shape has {} numbers but {} takes {} ({})", shape.size(),
                                            op.name, op.dims.size(), dims));
  if (!op.valid(shape))
    throw std::invalid_argument(fmt::format("--shape is not legal for {} ({})", op.name, dims));
}

void choose_gpu(const std::string& name) {
  if (name.empty()) return;
  const simt::GpuModel* gpu = simt::find_gpu(name);
  if (gpu == nullptr) {
    std::vector<std::string> names;
    for (const simt::GpuModel& g : simt::gpus()) names.emplace_back(g.short_name);
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    throw NotFound(not_found_text("GPU", name, names) + "\nThere are: " + all);
  }
  simt::name_gpu(*gpu);
}

int run(const Options& o) {
  choose_gpu(o.gpu);
  const Variant& variant = variant_named(o.variant);
  const LabOp& op = *find_op(variant.op);
  const std::vector<int64_t> shape = o.shape.empty() ? shape_for_counting(op) : o.shape;
  require_shape(op.op, shape);
  Progress progress;
  progress.show("counting " + variant.id);
  TraceView view{.op = &op, .variant = &variant, .run = count_run(op, variant, shape, settings().seed)};
  if (view.run.findings.empty() && view.run.error.empty()) view.hints = hints_of(op, view.run);
  for (const KernelResources& r : kernel_resources(&view.no_resources))
    if (r.variant == variant.id) view.resources.push_back(r);
  progress.clear();
  if (!o.html.empty()) write_file(o.html, trace_html(view));
  if (o.json)
    fmt::print("{}\n", trace_json(view).dump(2));
  else
    fmt::print("{}", trace_text(view));
  if (!o.html.empty() && !o.json) fmt::print("{} {}\n", inked("The same as a page:", Ink::bold), o.html);
  return view.run.findings.empty() && view.run.error.empty() ? exit_ok : exit_failed;
}

KLAB_COMMAND(
    {.name = "trace",
     .summary = "Count what a CUDA variant moves, line by line, without a GPU",
     .details = "klab trace transpose.cuda.01_naive               at a shape of the lab, made small\n"
                "klab trace transpose.cuda.01_naive --shape 1024,512 --html trace.html\n"
                "Sectors are pieces of 32 bytes; a request is a warp's turn at one load or store. In "
                "brackets: as few as\n"
                "would do. Exit code 1: the executor found something illegal; 2: bad input.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("variant", o->variant, "a CUDA variant, e.g. transpose.cuda.02_shared_tile")
           ->required()
           ->option_text("VARIANT");
       app.add_option("--shape", o->shape, "this shape, e.g. 256,256")->delimiter(',');
       app.add_option("--html", o->html, "write a page to this file as well");
       app.add_option("--gpu", o->gpu, "whose limits hold: h100 (default), a100, 3090, 4090, ...");
       app.add_flag("--json", o->json, "for programs");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab
