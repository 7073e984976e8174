#include "harness/cli/trace_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/check/cases.h"
#include "harness/core/source.h"
#include "harness/records/bound.h"
#include "harness/report/table.h"
#include "harness/simt/gpus.h"

namespace klab {
namespace {

using Json = nlohmann::ordered_json;

std::string triple(const unsigned* d) { return fmt::format("({},{},{})", d[0], d[1], d[2]); }

double each(int64_t count, const simt::Counts& n) {
  return n.requests > 0 ? double(count) / double(n.requests) : 0;
}

/// Formats "4.0" or, if fewer would suffice, "32.0 (4.0)", with the fewest that hold the distinct bytes.
std::string against(double is, double ideal) {
  return is > 1.05 * ideal ? fmt::format("{:.1f} ({:.1f})", is, ideal) : fmt::format("{:.1f}", is);
}

Ink ink_of(const LineCounts& l) {
  const int64_t cost = l.counts.sectors + l.counts.wavefronts;
  return l.excess() * 2 > cost ? Ink::red : l.excess() * 5 > cost ? Ink::yellow : Ink::plain;
}

/// Returns kind, requests, lanes, sectors and conflicts of an access, for both tables.
std::vector<Cell> cells_of(const LineCounts& l) {
  const simt::Counts& n = l.counts;
  const bool global = l.space == simt::Space::global;
  return {{fmt::format("{} {} B", kind_of(l), l.width), Ink::dim},
          std::to_string(n.requests),
          fmt::format("{:.1f}", each(n.lanes, n)),
          {global ? against(each(n.sectors, n), each(n.ideal_sectors, n)) : "", ink_of(l)},
          {global ? "" : fmt::format("{:.1f}", each(n.conflicts(), n)), ink_of(l)}};
}

std::vector<Column> columns(const TraceView& v, std::vector<Column> first) {
  const auto right = Column::Kind::right;
  for (const char* title : {"access"}) first.push_back({title});
  for (const char* title : {"requests", "lanes", "sectors", "conflicts"}) first.push_back({title, right});
  if (!v.run.compiled_by.empty()) first.push_back({"compiled", right});
  return first;
}

/// Returns the cells of an access, with nvcc's instructions if machine code was read.
std::vector<Cell> cells_of(const TraceView& v, const LineCounts& l) {
  std::vector<Cell> cells = cells_of(l);
  if (v.run.compiled_by.empty()) return cells;
  const bool same = compiled_as_written(l);
  cells.push_back({compiled_in_words(l), same ? Ink::dim : Ink::green});
  return cells;
}

/// Returns why there is no column of compiled code, or which compiler produced it.
std::string compiled_note(const TraceView& v) {
  if (!v.run.no_compiled.empty()) return "as compiled: not known, " + v.run.no_compiled;
  if (v.run.compiled_by.empty()) return "";
  std::string text = "compiled: requests and widths of the instructions by " + v.run.compiled_by;
  for (const LocalMemory& l : v.local)
    text += fmt::format("\n{}: {} loads and {} stores of local memory in its machine code", l.kernel, l.loads,
                        l.stores);
  return text;
}

/// Returns the instructions of the copy engine, of matrix products and of barriers in shared memory, as nvcc generated them.
std::string units_text(const TraceView& v) {
  if (v.units.empty()) return "";
  Table table(
      {{"kernel"}, {"line", Column::Kind::right}, {"instructions", Column::Kind::right}, {"as compiled"}});
  table.indent(2);
  for (const UnitInstruction& u : v.units)
    table.add({u.kernel, fmt::format("{}:{}", u.what.file, u.what.line), std::to_string(u.what.instructions),
               u.what.name});
  return "\n" + table.text();
}

std::string cut(const std::string& text, int width) {
  return columns_of(text) <= width ? text : text.substr(0, size_t(std::max(width, 1)));
}

/// Returns "occupancy with the largest carve-out of shared memory, 228 KB of a multiprocessor of NVIDIA H100
/// SXM".
std::string carveout_text() {
  const simt::GpuModel& gpu = simt::named_gpu();
  const size_t bytes = simt::carveout(gpu);
  return fmt::format("occupancy with {}, {} KB of a multiprocessor of {} (--carveout PERCENT)",
                     bytes == gpu.shared ? std::string("the largest carve-out of shared memory")
                                         : fmt::format("a carve-out of {}%", simt::chosen_carveout()),
                     bytes / 1024, gpu.name);
}

std::string launches_text(const TraceView& v) {
  Table table({{"kernel"},
               {"launches", Column::Kind::right},
               {"grid"},
               {"block"},
               {"shared", Column::Kind::right},
               {"barriers", Column::Kind::right},
               {"registers", Column::Kind::right},
               {"spilled", Column::Kind::right},
               {"occupancy"}});
  table.indent(2);
  for (const simt::LaunchRecord& l : v.run.launches) {
    const KernelResources* r = resources_of(v.run.variant, l.kernel);
    const auto o = simt::occupancy(simt::named_gpu(), l.block[0] * l.block[1] * l.block[2],
                                   r ? r->registers : 0, l.static_shared + l.dynamic_shared);
    std::string filled = fmt::format("{:.0f}%", 100 * o.fraction);
    if (!o.limits.empty()) filled += ", limited by " + o.limits;
    if (r == nullptr) filled += " (registers unknown)";
    table.add({l.kernel, std::to_string(l.times), triple(l.grid), triple(l.block),
               fmt::format("{} B", l.static_shared + l.dynamic_shared), std::to_string(l.barriers),
               r ? std::to_string(r->registers) : "?",
               r ? fmt::format("{} B", r->spill_stores + r->spill_loads) : "?", filled});
  }
  std::string text = table.text();
  text += inked("  " + carveout_text() + "\n", Ink::dim);
  if (!v.no_resources.empty()) text += inked("  registers: " + v.no_resources + "\n", Ink::dim);
  return text;
}

std::string occupancy_text(const TraceView& v) {
  if (v.run.launches.empty()) return "";
  std::vector<Column> heads = {{"occupancy"}};
  for (const simt::GpuModel& g : simt::gpus()) heads.push_back({g.short_name, Column::Kind::right});
  Table table(heads);
  table.indent(2);
  for (const simt::LaunchRecord& l : v.run.launches) {
    const KernelResources* r = resources_of(v.run.variant, l.kernel);
    std::vector<Cell> cells = {l.kernel};
    for (const simt::GpuModel& g : simt::gpus()) {
      const size_t shared = l.static_shared + l.dynamic_shared;
      const auto o = simt::occupancy(g, l.block[0] * l.block[1] * l.block[2], r ? r->registers : 0, shared);
      cells.push_back(shared > g.shared_per_block ? "-" : fmt::format("{:.0f}%", 100 * o.fraction));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string source_text(const TraceView& v) {
  std::string text;
  for (const SourceView& view : annotated_source(v.run)) {
    text += "\n" + inked(view.file, Ink::bold) + "\n";
    auto heads = columns(v, {{"line", Column::Kind::right}});
    heads.push_back({"source"});
    Table annotated(heads);
    for (const SourceRow& row : view.rows) {
      const int room = std::max(40, paper().terminal ? paper().width - 62 : 110);
      const Cell source = {cut(row.text, room), row.counts.empty() ? Ink::dim : Ink::plain};
      if (row.counts.empty()) {
        std::vector<Cell> cells(heads.size(), Cell(""));
        cells.front() = {std::to_string(row.number), Ink::dim};
        cells.back() = source;
        annotated.add(std::move(cells));
      }
      for (size_t k = 0; k < row.counts.size(); ++k) {
        std::vector<Cell> cells = {k == 0 ? std::to_string(row.number) : ""};
        for (Cell& cell : cells_of(v, *row.counts[k])) cells.push_back(std::move(cell));
        cells.push_back(k == 0 ? source : Cell(""));
        annotated.add(std::move(cells));
      }
    }
    text += annotated.text();
  }
  return text;
}

std::string worst_text(const TraceView& v) {
  auto heads = columns(v, {{"worst first", Column::Kind::right}});
  heads.push_back({"beyond need", Column::Kind::right});
  heads.push_back({"", Column::Kind::bar, 16});
  Table table(heads);
  const auto list = worst_first(v.run);
  for (size_t k = 0; k < list.size() && k < 12; ++k) {
    std::vector<Cell> cells = {fmt::format("line {}", list[k]->line)};
    for (Cell& cell : cells_of(v, *list[k])) cells.push_back(std::move(cell));
    cells.push_back(std::to_string(list[k]->excess()));
    cells.push_back(Cell::bar(double(list[k]->excess()), ink_of(*list[k])));
    table.add(std::move(cells));
  }
  return "\n" + table.text();
}

std::string counters_text(const TraceView& v) {
  const auto shown = [](const NamedCounter& c) {
    return c.ratio ? fmt::format("{:.1f}", c.value) : fmt::format("{:.0f}", c.value);
  };
  const bool both = !v.run.compiled_by.empty();
  std::vector<Column> heads = {{"counter"}, {both ? "as written" : "", Column::Kind::right}};
  if (both) heads.push_back({"as compiled", Column::Kind::right});
  heads.push_back({"in Nsight Compute"});
  Table table(heads);
  const std::vector<NamedCounter> compiled = named_counters(v.run, true);
  for (const NamedCounter& c : named_counters(v.run)) {
    std::vector<Cell> cells = {c.words, shown(c)};
    const auto at = std::ranges::find(compiled, c.nsight, &NamedCounter::nsight);
    if (both) cells.push_back(at == compiled.end() ? "0" : shown(*at));
    cells.push_back({c.nsight, Ink::dim});
    table.add(std::move(cells));
  }
  std::string text = "\n" + table.text();
  if (const std::string note = compiled_note(v); !note.empty()) text += inked(note, Ink::dim) + "\n";
  text += units_text(v);
  if (v.op == nullptr)
    return text + fmt::format("bytes moved: {:.0f} between L1 and L2 if L1 catches nothing\n", v.run.moved);
  const double least = v.run.compulsory.bytes;
  text += fmt::format(
      "bytes moved: {:.0f} between L1 and L2 if L1 catches nothing; compulsory by the contract: {:.0f}",
      v.run.moved, least);
  if (least > 0) text += fmt::format(" ({:.2f} times as many)", v.run.moved / least);
  return text + "\n";
}

std::string least_time_text(const CountedWork& work, const simt::GpuModel& gpu) {
  const LeastTime least = least_time(work, gpu);
  std::string text =
      fmt::format("{} on {}: {}, by {} ({} {}). A bound, no prediction of time\n", "least time", gpu.name,
                  seconds_text(least.seconds()), least.limits.front().name, work.launches,
                  work.launches == 1 ? "launch" : "launches");
  Table table({{"limit"}, {"least time", Column::Kind::right}, {"", Column::Kind::bar, 16}});
  table.indent(2);
  for (const LeastTime::Limit& l : least.limits)
    table.add({l.name, seconds_text(l.seconds), Cell::bar(l.seconds)});
  return text + table.text();
}

std::string section_of_lesson(const Variant& v) {
  const Lab* lab = lab_of(v.op);
  return lab == nullptr
             ? ""
             : fmt::format("klab explain {} {}", lab->id.substr(0, lab->id.find('_')), section_name(v));
}

std::string hints_text(const TraceView& v) {
  std::string text = "\n" + inked("hints", Ink::bold) + "\n";
  if (v.hints.empty()) return text + "  none: every request moves about as little as its lanes ask for\n";
  for (const Hint& h : v.hints) {
    text += fmt::format("  {} {}.", inked(fmt::format("line {}:", h.line), Ink::yellow), h.text);
    if (const Variant* rung = h.rung.empty() ? nullptr : find_variant(h.rung); rung != nullptr)
      text += fmt::format(" {} no longer does that: {}", rung->rung, section_of_lesson(*rung));
    text += "\n";
  }
  return text;
}

Json compiled_json(const LineCounts& l) {
  if (!l.compiled_known) return nullptr;  // the machine code has no kernel of that name
  Json j = {{"requests", l.compiled.requests},
            {"bytes_a_lane", Json::array()},
            {"sectors", l.compiled.sectors},
            {"wavefronts", l.compiled.wavefronts},
            {"bank_conflicts", l.compiled.conflicts()}};
  for (int k = 0; k < 8; ++k)
    if ((l.compiled_widths >> k & 1) != 0) j["bytes_a_lane"].push_back(1 << k);
  return j;
}

}  // namespace

std::string trace_tables(const TraceView& v) {
  const std::string text = launches_text(v);
  if (v.run.lines.empty()) return text;
  return text + occupancy_text(v) + source_text(v) + worst_text(v) + counters_text(v);
}

std::string trace_text(const TraceView& v) {
  const simt::GpuModel& gpu = simt::named_gpu();
  std::string text = fmt::format("{}  {}\n", inked(v.variant->id, Ink::bold),
                                 inked(fmt::format("{}; seed {}; run on the host within the limits of {}",
                                                   shape_text(v.op->op, v.run.shape), v.run.seed, gpu.name),
                                       Ink::dim));
  for (const simt::Finding& f : v.run.findings) text += inked("  FINDING  ", Ink::red) + f.describe() + "\n";
  if (!v.run.error.empty() && v.run.findings.empty())
    text += inked("  ERROR  ", Ink::red) + v.run.error + "\n";
  if (v.bound) text += "\n" + least_time_text(work_of(v.run, *v.variant), gpu) + "\n";
  text += trace_tables(v);
  return v.run.lines.empty() ? text : text + hints_text(v);
}

void add_counts(Json& j, const TraceView& v) {
  j["counts"] = counts_of(v.run);
  j["nsight"] = Json::object();
  for (const NamedCounter& c : named_counters(v.run)) j["nsight"][c.nsight] = c.value;
  j["as_compiled"] = Json::object();
  if (v.run.compiled_by.empty()) {
    j["as_compiled"]["missing"] = v.run.no_compiled;
  } else {
    j["as_compiled"]["by"] = v.run.compiled_by;
    j["as_compiled"]["local_memory"] = Json::array();
    for (const LocalMemory& l : v.local)
      j["as_compiled"]["local_memory"].push_back(
          {{"kernel", l.kernel}, {"loads", l.loads}, {"stores", l.stores}});
    if (!v.units.empty()) j["as_compiled"]["units"] = Json::array();
    for (const UnitInstruction& u : v.units)
      j["as_compiled"]["units"].push_back({{"kernel", u.kernel},
                                           {"file", u.what.file},
                                           {"line", u.what.line},
                                           {"name", u.what.name},
                                           {"instructions", u.what.instructions}});
    j["as_compiled"]["nsight"] = Json::object();
    const std::vector<NamedCounter> compiled = named_counters(v.run, true);
    for (const NamedCounter& c : named_counters(v.run)) {
      const auto at = std::ranges::find(compiled, c.nsight, &NamedCounter::nsight);
      j["as_compiled"]["nsight"][c.nsight] = at == compiled.end() ? 0 : at->value;
    }
  }
  j["launches"] = Json::array();
  for (const simt::LaunchRecord& l : v.run.launches) {
    const KernelResources* r = resources_of(v.run.variant, l.kernel);
    Json occupancy = Json::object();
    for (const simt::GpuModel& g : simt::gpus())
      occupancy[g.name] = simt::occupancy(g, l.block[0] * l.block[1] * l.block[2], r ? r->registers : 0,
                                          l.static_shared + l.dynamic_shared)
                              .fraction;
    j["launches"].push_back({{"kernel", l.kernel},
                             {"times", l.times},
                             {"grid", l.grid},
                             {"block", l.block},
                             {"static_shared", l.static_shared},
                             {"dynamic_shared", l.dynamic_shared},
                             {"barriers", l.barriers},
                             {"registers", r ? Json(r->registers) : Json(nullptr)},
                             {"spill_bytes", r ? Json(r->spill_stores + r->spill_loads) : Json(nullptr)},
                             {"occupancy", occupancy}});
  }
  j["carveout_bytes"] = simt::carveout(simt::named_gpu());
  j["lines"] = Json::array();
  for (const LineCounts* l : worst_first(v.run)) {
    const simt::Counts& n = l->counts;
    j["lines"].push_back({{"file", l->file},
                          {"line", l->line},
                          {"access", kind_of(*l)},
                          {"bytes_a_lane", l->width},
                          {"lane_stride", l->stride},
                          {"requests", n.requests},
                          {"lanes", n.lanes},
                          {"sectors", n.sectors},
                          {"ideal_sectors", n.ideal_sectors},
                          {"ideal_sectors_of_lanes", n.lane_sectors},
                          {"wavefronts", n.wavefronts},
                          {"bank_conflicts", n.conflicts()},
                          {"collisions", n.collisions},
                          {"merged_by_the_compiler", l->merged}});
    if (!v.run.compiled_by.empty()) j["lines"].back()["as_compiled"] = compiled_json(*l);
  }
}

Json trace_json(const TraceView& v) {
  Json j = {{"variant", v.variant->id},
            {"shape", Json::object()},
            {"seed", v.run.seed},
            {"gpu", simt::named_gpu().name}};
  for (size_t d = 0; d < v.run.shape.size(); ++d) j["shape"][v.op->op.dims[d]] = v.run.shape[d];
  j["compulsory_bytes"] = v.run.compulsory.bytes;
  j["moved_bytes"] = v.run.moved;
  if (v.bound) {
    const LeastTime least = least_time(work_of(v.run, *v.variant), simt::named_gpu());
    j["least_time"] = {{"seconds", least.seconds()}, {"limits", Json::object()}};
    for (const LeastTime::Limit& l : least.limits) j["least_time"]["limits"][l.name] = l.seconds;
  }
  add_counts(j, v);
  j["hints"] = Json::array();
  for (const Hint& h : v.hints)
    j["hints"].push_back({{"line", h.line}, {"text", h.text}, {"excess", h.excess}, {"rung", h.rung}});
  j["findings"] = Json::array();
  for (const simt::Finding& f : v.run.findings) j["findings"].push_back(f.describe());
  if (!v.run.error.empty()) j["error"] = v.run.error;
  return j;
}

}  // namespace klab
