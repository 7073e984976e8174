#include "harness/cuda_program/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cuda_program/state.h"
#include "harness/simt/gpus.h"
#include "harness/simt/line_counts.h"

namespace klab::program {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const simt::Finding& f) {
  return {{"kind", simt::name_of(f.kind)},
          {"kernel", f.kernel},
          {"block", f.block},
          {"thread", f.thread},
          {"file", f.file},
          {"line", f.line},
          {"text", f.text},
          {"times", f.times},
          {"words", f.describe()},
          {"harmless", f.kind == simt::Kind::leak}};
}

Json json_of(const simt::LaunchRecord& l) {
  return {{"kernel", l.kernel},
          {"grid", l.grid},
          {"block", l.block},
          {"dynamic_shared", l.dynamic_shared},
          {"static_shared", l.static_shared},
          {"barriers", l.barriers},
          {"thread_accesses", l.thread_accesses},
          {"times", l.times}};
}

Json json_of(const LineCounts& l) {
  const simt::Counts& n = l.counts;
  return {
      {"file", l.file},
      {"line", l.line},
      {"space", int(l.space)},
      {"write", l.write},
      {"atomic", l.atomic},
      {"returns", l.returns},
      {"async", l.async},
      {"width", l.width},
      {"stride", l.stride},
      {"merged", l.merged},
      {"counts",
       {n.requests, n.lanes, n.bytes, n.sectors, n.ideal_sectors, n.lane_sectors, n.wavefronts,
        n.ideal_wavefronts, n.collisions}},
      {"compiled_known", l.compiled_known},
      {"compiled_widths", l.compiled_widths},
      {"compiled_atomics", l.compiled_atomics},
      {"compiled",
       {l.compiled.requests, l.compiled.lanes, l.compiled.bytes, l.compiled.sectors, l.compiled.ideal_sectors,
        l.compiled.lane_sectors, l.compiled.wavefronts, l.compiled.ideal_wavefronts, l.compiled.collisions}}};
}

}  // namespace

void add_leaks() {
  int64_t many = 0, bytes = 0;
  const simt::Allocation* first = nullptr;
  for (const simt::Allocation* a : simt::live_allocations()) {
    if (a->given_back) continue;  // memory of a graph, which has freed it
    ++many;
    bytes += int64_t(a->bytes);
    if (first == nullptr || a->begin < first->begin) first = a;
  }
  if (many == 0) return;
  state().session->add({.kind = simt::Kind::leak,
                        .text = std::to_string(many) + (many == 1 ? " allocation" : " allocations") + " of " +
                                std::to_string(bytes) +
                                " bytes not freed when the program ended, for example " + first->name});
}

bool something_illegal() {
  return std::ranges::any_of(state().session->findings(),
                             [](const simt::Finding& f) { return f.kind != simt::Kind::leak; });
}

void write_report(const std::string& file, int exit_code) {
  State& s = state();
  simt::Profile& profile = s.session->profile();
  Json j = {{"exit_code", exit_code},
            {"gpu", simt::named_gpu().name},
            {"seed", s.session->options().seed},
            {"share", thinned_after() > 0 ? s.watched_blocks / s.blocks : s.session->options().share},
            {"thinned_after", thinned_after()},
            {"launched", s.launches},
            {"kernel_seconds", s.kernel_seconds},
            {"work", s.session->work()},
            {"copied_bytes", profile.bus.bytes()}};
  j["launches"] = Json::array();
  for (const simt::LaunchRecord& l : launches_together(profile.launches)) j["launches"].push_back(json_of(l));
  j["lines"] = Json::array();
  for (const LineCounts& l : counts_by_line(profile)) j["lines"].push_back(json_of(l));
  j["library_calls"] = Json::array();
  for (const auto& [name, calls] : s.library_calls)
    j["library_calls"].push_back({{"name", name}, {"count", calls.count}, {"bytes", calls.bytes}});
  j["findings"] = Json::array();
  for (const simt::Finding& f : s.session->findings()) j["findings"].push_back(json_of(f));
  const std::string part = file + ".part";
  {
    std::ofstream out(part);
    out << j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  std::rename(part.c_str(), file.c_str());
}

void print_findings() {
  for (const simt::Finding& f : state().session->findings())
    if (f.kind != simt::Kind::leak) std::fprintf(stderr, "klab: %s\n", f.describe().c_str());
}

}  // namespace klab::program
