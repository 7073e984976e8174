// klab doctor: what is installed, what is missing and how to get it, and whether timing makes sense now.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/tools.h"
#include "harness/core/build_info.h"
#include "harness/gpu/gpu.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "harness/simt/occupancy.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/core_to_core.h"
#include "harness/timing/machine.h"

namespace klab::doctor_command {
namespace {

using Json = nlohmann::ordered_json;

struct InstalledGpu {
  std::string name, driver, memory;
};

InstalledGpu find_gpu() {
  const std::string line = first_line_of(
      "nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null");
  InstalledGpu gpu;
  std::istringstream in(line);
  std::getline(in >> std::ws, gpu.name, ',');
  std::getline(in >> std::ws, gpu.driver, ',');
  std::getline(in >> std::ws, gpu.memory);
  if (gpu.memory.empty()) return {};  // an error message, not a GPU
  return gpu;
}

std::string governor() {
  std::ifstream in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string name;
  in >> name;
  return name;
}

/// Returns the reason why CUDA variants cannot run on a GPU here; empty if they can.
std::string why_not_on_gpu() {
  std::string why;
  return gpu(&why) != nullptr ? "" : why;
}

std::string size_text(int64_t bytes) {
  if (bytes >= (int64_t(1) << 30)) return fmt::format("{:.1f} GiB", double(bytes) / double(int64_t(1) << 30));
  if (bytes >= (1 << 20)) return fmt::format("{:.4g} MiB", double(bytes) / (1 << 20));
  return fmt::format("{:.4g} KiB", double(bytes) / (1 << 10));
}

/// Returns improvements for measurements here, most important first.
std::vector<std::string> advice(const Load& load, const std::vector<Tool>& tools) {
  std::vector<std::string> list;
  if (load.busy > 0.1)
    list.push_back(
        fmt::format("other programs take {:.0f} % of this machine now: times will scatter", load.busy * 100));
  if (load.stolen > 0.02)
    list.push_back(fmt::format("other guests of this host take {:.0f} % of its time", load.stolen * 100));
  if (const std::string g = governor(); !g.empty() && g != "performance")
    list.push_back("the clock governor is '" + g + "'; 'performance' gives steadier times");
  std::string packages;
  for (const Tool& t : tools)
    if (t.version.empty() && !t.package.empty() && t.name != "nvcc") packages += " " + t.package;
  if (!packages.empty())
    list.push_back("to get what is missing: sudo apt-get install --no-install-recommends" + packages);
  return list;
}

Json as_json(const std::vector<Tool>& tools) {
  Json list = Json::array();
  for (const Tool& t : tools)
    list.push_back({{"name", t.name},
                    {"found", !t.version.empty()},
                    {"version", t.version},
                    {"path", t.where},
                    {"package", t.package},
                    {"purpose", t.purpose},
                    {"required", t.required}});
  return list;
}

void print_tools(const char* title, const std::vector<Tool>& tools) {
  fmt::print("\n{}\n", inked(title, Ink::bold));
  Table table({{"", Column::Kind::left}, {"version"}, {"package"}, {"for"}});
  table.indent(2);
  for (const Tool& t : tools) {
    const bool found = !t.version.empty();
    table.add({t.name,
               Cell(found ? t.version : "not found", found        ? Ink::plain
                                                     : t.required ? Ink::red
                                                                  : Ink::yellow),
               t.package, t.where.empty() ? t.purpose : t.purpose + "  " + inked(t.where, Ink::dim)});
  }
  fmt::print("{}", table.text());
}

void print_machine(const Machine& m, const InstalledGpu& gpu, const Load& load, double core_ns) {
  const auto line = [](const char* name, const std::string& text) {
    fmt::print("  {:<16} {}\n", name, text);
  };
  fmt::print("{}\n", inked("Machine", Ink::bold));
  line("processor", m.processor + " (" + m.architecture + ")");
  std::string sets;
  for (const std::string& set : instruction_sets())
    if (set != m.instruction_set) sets += (sets.empty() ? "; --isa also takes " : ", ") + set;
  line("instruction set", m.instruction_set + " (Highway's name), chosen when the program runs" + sets);
  if (const std::string& isa = build_info().isa; !isa.empty()) line("kernels are for", isa);
  line("cores", fmt::format("{}, {} hardware threads", m.cores, m.threads));
  std::string caches;
  for (const CacheLevel& c : m.caches) {
    if (!caches.empty()) caches += ", ";
    caches += fmt::format("L{} {}", c.level, size_text(c.bytes));
    if (c.shared_by > 1) caches += fmt::format(" for {} threads", c.shared_by);
  }
  if (m.cache_by_hand) caches += fmt::format("; the last one as {} says", kCacheVariable);
  line("caches", caches.empty() ? "unknown" : caches);
  if (core_ns > 0)
    line("between cores",
         fmt::format("{:.0f} ns for a cache line from one thread to another and back: {}", core_ns,
                     core_ns < kSharedCacheNs ? "as within one last cache"
                                              : "as between dies or sockets, each with its own last cache"));
  line("memory", fmt::format("{}, {} free", size_text(m.memory), size_text(free_memory())));
  for (const std::string& text : m.assumed) line("not known", text);
  line("huge pages", m.huge_pages);
  if (const std::string g = governor(); !g.empty()) line("clock governor", g);
  line("GPU", gpu.name.empty() ? "none" : fmt::format("{}, {}, driver {}", gpu.name, gpu.memory, gpu.driver));
  line("CUDA variants", why_not_on_gpu().empty() ? "run on the GPU and on the host"
                                                 : fmt::format("run on the host only: {}", why_not_on_gpu()));
  std::string no_registers;
  const size_t kernels = kernel_resources(&no_registers).size();
  line("registers",
       kernels > 0 ? fmt::format("known of {} kernels, from nvcc", kernels) : "not known: " + no_registers);
  line("system", m.os);
  if (load.busy >= 0)
    line("busy now", fmt::format("{:.0f} % by programs, {:.0f} % by other guests of the host",
                                 load.busy * 100, load.stolen * 100));
  line("build", m.compiler + ", " + m.flags);
  line("commit", m.commit + (m.dirty ? ", with changes that are not committed" : ""));
  line("fingerprint", fingerprint(m));
}

int run(bool json) {
  const Machine& machine = this_machine();
  const Load load = measure_load();
  const double core_ns = measure_core_to_core_ns();
  const InstalledGpu gpu = find_gpu();
  const auto programs = find_programs();
  const auto libraries = find_libraries();
  auto all = programs;
  all.insert(all.end(), libraries.begin(), libraries.end());
  const auto hints = advice(load, all);
  if (json) {
    Json out = {{"machine", Json::parse(to_json(machine).dump())},
                {"memory_free_bytes", free_memory()},
                {"clock_governor", governor()},
                {"gpu", gpu.name.empty()
                            ? Json()
                            : Json({{"name", gpu.name}, {"driver", gpu.driver}, {"memory", gpu.memory}})},
                {"gpu_missing", why_not_on_gpu().empty() ? Json() : Json(why_not_on_gpu())},
                {"kernels_with_known_registers", kernel_resources().size()},
                {"core_to_core_ns", core_ns > 0 ? Json(core_ns) : Json()},
                {"ceilings", Json::parse(to_json(ceilings()).dump())},
                {"load", {{"busy", load.busy}, {"stolen", load.stolen}}},
                {"programs", as_json(programs)},
                {"libraries", as_json(libraries)},
                {"advice", hints}};
    fmt::print("{}\n", with_schema("doctor", out).dump(2));
    return exit_ok;
  }
  print_machine(machine, gpu, load, core_ns);
  fmt::print("\n{}", ceilings_text(ceilings(), 1));
  if (machine.threads > 1) fmt::print("{}", ceilings_text(ceilings(), machine.threads));
  print_tools("Programs", programs);
  print_tools("Libraries", libraries);
  if (!hints.empty()) fmt::print("\n{}\n", inked("Advice", Ink::bold));
  for (const std::string& h : hints) fmt::print("  - {}\n", h);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "doctor",
     .summary = "What is here: processor and its ceilings, compilers, GPU, libraries, and what is missing",
     .details = "",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto json = std::make_shared<bool>(false);
       add_json(app, *json, {{"doctor", ""}});
       return [json] { return run(*json); };
     }});

}  // namespace
}  // namespace klab::doctor_command
