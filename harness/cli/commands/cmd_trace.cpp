// klab trace: the memory accesses of a CUDA variant, line by line, without a GPU.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/cli/command.h"
#include "harness/cli/gpu_counters.h"
#include "harness/cli/json_option.h"
#include "harness/cli/machine_code.h"
#include "harness/cli/number_option.h"
#include "harness/cli/program_run.h"
#include "harness/cli/shape_option.h"
#include "harness/cli/trace_pictures.h"
#include "harness/cli/trace_text.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/gpu/gpu_run.h"
#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "harness/report/ladder_view.h"
#include "harness/report/table.h"
#include "harness/simt/gpus.h"
#include "harness/simt/host_workers.h"
#include "harness/simt/modules.h"
#include "harness/step/compile.h"
#include "harness/step/compiler_text.h"
#include "harness/step/process.h"
#include "harness/step/step.h"
#include "harness/step/work_file.h"
#include "harness/timing/bench_inputs.h"

namespace klab::trace_command {
namespace {

struct Options {
  std::vector<std::string> names;  // a variant, or the files of a program, followed by -- and its arguments
  std::string variant;
  std::vector<std::string> compiler;
  std::string share;  // of the blocks; empty: all, up to the limit
  double limit = 0;   // seconds; 0: the program's own
  double seconds = 600;
  int64_t memory = 0;  // MB
  int carveout = 100;
  std::vector<int64_t> shape;
  std::string html;
  std::string pictures;  // folder
  std::string perfetto;  // file
  std::string gpu, on;
  std::string counters;  // file of a GPU's counters to compare with
  bool metrics = false;
  bool on_gpu = false;
  bool json = false;
  bool no_compiled = false;
  bool stop_at_first = false;
  bool records() const { return !pictures.empty() || !perfetto.empty(); }
};

/// Finds a variant by id, or by an unambiguous part after the op: "transpose.cuda.02".
const Variant& variant_named(const std::string& name) {
  if (const Variant* v = find_variant(name); v != nullptr) {
    if (v->backend == "cuda") return *v;
    throw std::invalid_argument(v->id + " runs on the processor; klab trace is for CUDA variants" +
                                (variants_of(v->op, "cuda").empty()
                                     ? ""
                                     : ", for example " + variants_of(v->op, "cuda").front()->id));
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

/// Returns the step of a learner's own file, by its name ("03.cuda.03") or path; null for other names.
const Step* step_called(const std::string& name) {
  std::error_code error;
  for (const Step& s : steps())
    if (s.cuda() && (s.name == name || std::filesystem::equivalent(work_path(s), name, error))) return &s;
  return nullptr;
}

/// Returns the variant in a work file, compiled into `folder`, which must outlive it, and loaded.
const Variant& variant_in_work(const Step& step, const std::filesystem::path& folder) {
  const std::filesystem::path file = work_path(step);
  if (!std::filesystem::exists(file))
    throw std::invalid_argument(fmt::format("there is no {}: klab step {} begins it; {} is klab's own",
                                            file.string(), step.name, step.own->id));
  const Compiled compiled = compile_work(step, file, folder);
  if (!compiled.good)
    throw std::runtime_error(file.string() + " does not compile:\n" + first_error(compiled.message));
  simt::load_traced_variants();
  for (size_t k = 0; k < compiled.modules.size(); ++k)
    simt::load_module(compiled.modules[k].string(), k == 1);
  const Variant* const v = find_variant(work_id(step));
  if (v == nullptr || v->op != step.op->op.name)
    throw std::runtime_error(file.string() + " registers no variant of " + step.op->op.name +
                             ": it must end with KLAB_VARIANT(...), as its parent does");
  return *v;
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

/// Calls the variant once for a profiler, on the same inputs as those that are counted on the host. If there
/// are several variants, each is announced with its number, on the GPU and in a printed line.
void call_on_gpu(const LabOp& op, const Variant& variant, const std::vector<int64_t>& shape, int number) {
  std::string why;
  if (gpu(&why) == nullptr)
    throw std::invalid_argument(fmt::format("{} cannot run on a GPU here: {}", variant.id, why));
  if (!variant.device)
    throw std::invalid_argument(variant.id +
                                " was not compiled for a GPU: build with the preset cuda or bundle");
  if (const std::string reason = variant.supported(shape, this_host()); !reason.empty())
    throw std::invalid_argument(fmt::format("{} cannot run on this GPU: {}", variant.id, reason));
  const BenchInputs inputs(op, shape, Cache::hot, settings().seed);
  CrashGuard guard;
  guard.doing(variant.id + " on the GPU at " + shape_text(op.op, shape));
  const auto call = gpu_bind(variant.id, shape, inputs.pointers(0));
  if (number > 0) {
    fmt::print("{}\n", AnnouncedVariant{number, variant.id, shape_text(op.op, shape)}.line());
    std::fflush(stdout);
    gpu()->announce(number);
  }
  call();
  fmt::print("{} ran once on {} at {}\n", variant.id, gpu()->name, shape_text(op.op, shape));
}

int compare(const Options& o, const LabOp& op, const Variant& variant, const CountedRun& counted) {
  const std::string text = read_text(o.counters);
  const auto sums = counters_of(op, counted, text, o.counters);
  auto list = compare_counters(counted, sums, o.counters);
  compare_bound(work_of(counted, variant), simt::named_gpu(), sums, list);
  if (o.json)
    fmt::print("{}\n", with_schema("trace_counters", compared_json(counted.variant, list)).dump(2));
  else
    fmt::print("{}", compared_text(counted.variant, list));
  return std::ranges::all_of(list, [](const auto& c) { return !c.judged() || c.agrees(); }) ? exit_ok
                                                                                            : exit_failed;
}

/// Handles several variants in one profiler run: prints the metrics to request, or makes the calls.
int of_several(const Options& o) {
  if (!o.on_gpu && !o.metrics)
    throw std::invalid_argument("one variant at a time: " + o.names[1] +
                                " is one too many (--on-gpu and --metrics take several)");
  if (!o.shape.empty()) throw std::invalid_argument("--shape is for one variant");
  if (o.records()) throw std::invalid_argument("--pictures and --perfetto are for one variant");
  if (o.metrics) {
    fmt::print("{}\n", fmt::join(all_metrics(), ","));
    return exit_ok;
  }
  int number = 0, failed = 0;
  for (const std::string& name : o.names) {
    const Variant& variant = variant_named(name);
    const LabOp& op = *find_op(variant.op);
    const std::vector<int64_t> shape = shape_for_counting(op);
    try {
      call_on_gpu(op, variant, shape, ++number);
    } catch (const std::exception& error) {
      if (gpu() == nullptr) throw;
      ++failed;
      fmt::print(stderr, "klab: {}: {}\n", variant.id, error.what());
    }
  }
  return failed == 0 ? exit_ok : exit_failed;
}

/// Parses "5%" as 0.05.
double share_of(const std::string& text) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || (*end != '\0' && std::string(end) != "%") || !(percent > 0) || percent > 100)
    throw std::invalid_argument("--blocks " + text +
                                ": a share of the blocks, more than 0% and at most 100%, for example 5%");
  return percent / 100;
}

int trace_program(const Options& o) {
  if (o.on_gpu || o.metrics || !o.counters.empty() || !o.shape.empty() || !o.on.empty() || o.records())
    throw std::invalid_argument(
        "--shape, --metrics, --counters, --pictures, --perfetto, --on and --on-gpu are for klab's "
        "variants; " +
        o.names[0] + " is a program");
  ProgramOptions p{.compiler = o.compiler, .seed = settings().seed};
  if (!o.share.empty()) p.share = share_of(o.share), p.limit = 0;
  if (o.limit > 0) p.limit = o.limit;
  p.compiled = !o.no_compiled;
  p.stop_at_first = o.stop_at_first;
  p.threads = settings().threads;
  p.limits.seconds = o.seconds;
  p.limits.bytes = o.memory * 1'000'000;
  p.files = o.names;
  p.arguments = settings().rest;
  for (const std::string& f : p.files)
    if (!is_program(f)) throw std::invalid_argument(f + ": no file of a program; its arguments go behind --");
  const ProgramRun run = run_program(p, o.json);
  if (!o.html.empty()) write_file(o.html, program_html(run));
  if (o.json)
    fmt::print("{}\n", with_schema("trace_program", program_json(run)).dump(2));
  else
    fmt::print("{}", program_text(run));
  if (!o.html.empty() && !o.json) fmt::print("{} {}\n", inked("The same as a page:", Ink::bold), o.html);
  return run.illegal() ? exit_failed : run.exit_code == 0 ? exit_ok : exit_failed;
}

/// Returns nvcc's machine code for the variant's file, or the reason why it is not known.
MachineCode machine_code(const Options& o, const Step* step, const Variant& variant, Progress& progress) {
  MachineCode none;
  if (o.no_compiled || o.metrics) return none.why = "--no-compiled", none;
  const std::filesystem::path file = step != nullptr ? work_path(*step) : source_root() / variant.file;
  if (!std::filesystem::exists(file)) return none.why = file.string() + " is not here", none;
  progress.show("nvcc " + file.filename().string());
  return machine_code_of({file.string()}, nvcc_options(source_root()));
}

/// The pictures of a run.
struct Drawn {
  std::vector<TracePicture> pictures;
  std::vector<std::string> left_out;
  size_t recorded = 0;  // bytes
};

/// Starts a recording where one is asked for. For a page alone, a shape that is too large is no error: `why_not` says so.
void record(const Options& o, const LabOp& op, ShapeView shape, std::optional<simt::Recording>& recording,
            std::string& why_not) {
  if (!o.records() && o.html.empty()) return;
  try {
    require_recordable(op, shape);
  } catch (const std::exception& error) {
    if (o.records()) throw;
    why_not = error.what();
    return;
  }
  if (!o.pictures.empty()) require_picture_folder(o.pictures);
  recording.emplace();
}

Drawn drawn(const LabOp& op, const CountedRun& run, const simt::Recording& recording) {
  Drawn d{.pictures = {}, .left_out = {}, .recorded = recording.bytes()};
  d.pictures = trace_pictures({.op = &op, .run = &run, .recording = &recording}, d.left_out);
  return d;
}

std::string pictures_text(const Options& o, const Drawn& d) {
  std::string text = fmt::format(
      "{} {}: {} with their numbers; recorded {:.1f} MB, at most {} MB\n", inked("Pictures in", Ink::bold),
      o.pictures,
      d.pictures.size() == 1 ? std::string("one picture") : fmt::format("{} pictures", d.pictures.size()),
      double(d.recorded) * 1e-6, simt::kMostRecordedBytes / 1'000'000);
  for (const TracePicture& p : d.pictures) text += fmt::format("  {}.svg  {}\n", p.name, p.title);
  for (const std::string& what : d.left_out) text += fmt::format("  left out: {}\n", what);
  return text;
}

int run(Options o) {
  choose_gpu(o.on.empty() ? o.gpu : o.on);
  simt::choose_carveout(o.carveout);
  if (is_program(o.names[0])) return trace_program(o);
  if (!settings().rest.empty()) throw std::invalid_argument("only programs take arguments behind --");
  if (o.names.size() > 1) return of_several(o);
  o.variant = o.names[0];
  const ScratchFolder folder;
  const Step* const step = find_variant(o.variant) == nullptr ? step_called(o.variant) : nullptr;
  if (step != nullptr && o.on_gpu)
    throw std::invalid_argument("--on-gpu takes variants that are built in, not " + o.variant);
  const Variant& variant = step != nullptr ? variant_in_work(*step, folder.path()) : variant_named(o.variant);
  const LabOp& op = *find_op(variant.op);
  const std::vector<int64_t> shape = o.shape.empty() ? shape_for_counting(op) : o.shape;
  require_shape(op, shape);
  if (o.on_gpu) {
    call_on_gpu(op, variant, shape, 0);
    return exit_ok;
  }
  std::optional<simt::Recording> recording;
  std::string why_no_pictures;
  record(o, op, shape, recording, why_no_pictures);
  Progress progress;
  const MachineCode machine = machine_code(o, step, variant, progress);
  progress.show("counting " + variant.id);
  TraceView view{
      .op = &op,
      .variant = &variant,
      .run = count_run(op, variant, shape, settings().seed, machine.why.empty() ? &machine.code : nullptr,
                       settings().threads > 0 ? settings().threads : simt::cores())};
  if (recording) recording->finish();
  view.run.no_compiled = machine.why;
  view.local = local_memory_of(machine.code, view.run.launches);
  view.units = unit_instructions_of(machine.code, view.run.launches);
  view.bound = !o.on.empty();
  if (view.run.findings.empty() && view.run.error.empty()) view.hints = hints_of(op, view.run);
  kernel_resources(&view.no_resources);
  progress.clear();
  if (o.metrics) {
    fmt::print("{}\n", fmt::join(metrics_of(view.run), ","));
    return exit_ok;
  }
  if (!o.counters.empty()) return compare(o, op, variant, view.run);
  const Drawn d = recording ? drawn(op, view.run, *recording) : Drawn{};
  view.pictures = recording
                      ? pictures_html(d.pictures, d.left_out) +
                            stepper_html({.op = &op, .run = &view.run, .recording = &*recording})
                      : fmt::format("<p class=\"note\">No pictures: {}.</p>\n", escaped(why_no_pictures));
  if (!o.pictures.empty()) write_pictures(d.pictures, o.pictures);
  if (!o.perfetto.empty())
    write_file(o.perfetto, perfetto_trace({.op = &op, .run = &view.run, .recording = &*recording}));
  if (!o.html.empty()) write_file(o.html, trace_html(view));
  if (o.json)
    fmt::print("{}\n", with_schema("trace", trace_json(view)).dump(2));
  else
    fmt::print("{}", trace_text(view));
  if (!o.pictures.empty() && !o.json) fmt::print("{}", pictures_text(o, d));
  if (!o.perfetto.empty() && !o.json)
    fmt::print("{} {} (ui.perfetto.dev opens it; a step is a microsecond there)\n",
               inked("Steps as a trace file:", Ink::bold), o.perfetto);
  if (!o.html.empty() && !o.json) fmt::print("{} {}\n", inked("The same as a page:", Ink::bold), o.html);
  return view.run.findings.empty() && view.run.error.empty() ? exit_ok : exit_failed;
}

KLAB_COMMAND(
    {.name = "trace",
     .summary = "Count what a CUDA variant moves, line by line, without a GPU",
     .details =
         "klab trace transpose.cuda.01_naive               at a shape of the lab, made small\n"
         "klab trace 03.cuda.03                            your own file of that step\n"
         "klab trace transpose.cuda.01_naive --shape 1024,512 --html trace.html\n"
         "ncu --csv --print-units base --metrics $(klab trace VARIANT... --metrics) \\\n"
         "    klab trace VARIANT... --on-gpu > FILE\n"
         "klab trace transpose.cuda.02_shared_tile --pictures DIR   its arrays, banks, steps and lanes as "
         "pictures\n"
         "klab trace VARIANT --counters FILE               what a GPU counted of the same call, next to "
         "it\n"
         "klab trace program.cu more.cpp -- 1024           any CUDA program with a main of its own\n"
         "Sectors are pieces of 32 bytes; a request is one load or store of a warp. In "
         "brackets: as few as\n"
         "would do. Exit code 1: the executor found something illegal, or a GPU's counts differ; 2: bad "
         "input.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->names,
                      "a CUDA variant, e.g. transpose.cuda.02_shared_tile, a step: your file of it; or the "
                      "files of a "
                      "program, and its arguments behind --")
           ->required()
           ->option_text("VARIANT | PROGRAM.cu... [-- ARGUMENTS]");
       app.add_option("--compiler", o->compiler,
                      "of a program: an option for klab-nvcc, e.g. --compiler=-Iinclude")
           ->take_all()
           ->allow_extra_args(false);
       auto* blocks = app.add_option("--blocks", o->share,
                                     "of a program: watch this share of each grid and scale, e.g. 5%");
       add_number(
           app, "--limit", o->limit, range::stage_seconds,
           "of a program: seconds from which on it watches a tenth of the blocks of each launch, and a "
           "hundredth from ten times that on (60)")
           ->excludes(blocks);
       app.add_flag(
           "--stop-at-first", o->stop_at_first,
           "of a program: an access out of bounds ends its launch, and later calls fail as on a GPU");
       add_number(app, "--seconds", o->seconds, range::stage_seconds,
                  "of a program: seconds after which it is ended (600)");
       add_number(app, "--memory", o->memory, range::megabytes,
                  "of a program: memory in MB beyond which it is ended (three quarters of the machine's)");
       add_shape(app, o->shape, "this shape, e.g. 256,256");
       app.add_option("--html", o->html, "write a page to this file as well");
       auto* pictures = app.add_option(
           "--pictures", o->pictures,
           "write pictures (SVG) and what they show (CSV) to this folder: sectors of arrays, banks, steps of "
           "warps, active lanes");
       auto* perfetto =
           app.add_option("--perfetto", o->perfetto,
                          "write steps of warps, phases of barriers and copies in flight to this "
                          "file, for Perfetto");
       auto* gpu =
           app.add_option("--gpu", o->gpu, "whose limits hold: h100 (default), a100, 3090, 4090, ...");
       app.add_option("--on", o->on,
                      "also the least time that this GPU needs, and which of its limits that is: a bound")
           ->excludes(gpu);
       add_number(app, "--carveout", o->carveout, range::percent,
                  "percent of a multiprocessor's shared memory that occupancy is reckoned with (100)");
       auto* metrics = app.add_flag("--metrics", o->metrics,
                                    "print Nsight Compute's names of what is counted, and nothing else")
                           ->excludes(pictures)
                           ->excludes(perfetto);
       auto* on_gpu = app.add_flag("--on-gpu", o->on_gpu,
                                   "make the same call once on a GPU, uncounted, for a profiler to watch")
                          ->excludes(pictures)
                          ->excludes(perfetto);
       app.add_option("--counters", o->counters,
                      "compare with what ncu --csv wrote of that call to this file")
           ->excludes(metrics)
           ->excludes(on_gpu)
           ->excludes(pictures)
           ->excludes(perfetto);
       on_gpu->excludes(metrics);
       add_json(app, o->json,
                {{"trace", "VARIANT"},
                 {"trace_counters", "VARIANT --counters FILE"},
                 {"trace_program", "PROGRAM.cu"}});
       app.add_flag("--no-compiled", o->no_compiled,
                    "count as written only, where nvcc and nvdisasm are there to say what they make of it");
       return [o] { return run(*o); };
     },
     .takes_rest = true});

}  // namespace
}  // namespace klab::trace_command
