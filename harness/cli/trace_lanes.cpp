// Lanes against addresses, for the requests of each source line; and a page's section that steps through a warp, lane by lane.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "harness/cli/trace_pictures.h"
#include "harness/records/csv_text.h"
#include "harness/simt/line_counts.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

constexpr size_t kMostAddressPictures = 8;
constexpr size_t kMostPageSteps = 600;  // of one warp
constexpr unsigned kShades = 4;
constexpr double kLeftOfLanes = 44, kColumnWidth = 5.5, kLaneRow = 7;

std::string kind_of_recorded(const simt::RecordedAccess& a) {
  LineCounts l;
  l.space = a.space;
  l.write = a.write;
  l.atomic = a.atomic;
  l.async = a.engine;
  return kind_of(l);
}

/// An access of a source line, with the heat of all its sites that have columns of the same width.
struct LineHeat {
  std::string file, kind;
  int line = 0;
  unsigned width = 0;
  simt::Space space = simt::Space::global;
  simt::Counts counts;
  simt::LaneHeat heat;
};

std::vector<LineHeat> heats_by_line(const simt::Recording& recording) {
  std::map<std::tuple<std::string, int, std::string, unsigned>, LineHeat> lines;
  for (const simt::RecordedAccess& a : recording.accesses()) {
    if (a.heat.bytes == 0 || a.counts.requests == 0) continue;
    const simt::SourceLine at = simt::source_of(a.pc);
    const std::string kind = kind_of_recorded(a);
    LineHeat& l = lines[{at.file, at.line, kind, a.width}];
    l.file = at.file;
    l.line = at.line;
    l.kind = kind;
    l.width = a.width;
    l.space = a.space;
    l.counts.add(a.counts);
    if (l.heat.bytes == 0)
      l.heat = a.heat;
    else if (l.heat.bytes == a.heat.bytes)
      for (size_t k = 0; k < l.heat.times.size(); ++k) l.heat.times[k] += a.heat.times[k];
  }
  std::vector<LineHeat> list;
  for (auto& [key, l] : lines) list.push_back(std::move(l));
  return list;
}

/// Sectors or passes that another order of the same accesses would save.
int64_t beyond_need(const LineHeat& l) {
  return l.space == simt::Space::global ? l.counts.sectors - l.counts.lane_sectors : l.counts.conflicts();
}

TracePicture address_picture(const LineHeat& l) {
  TracePicture p{.name = fmt::format("addresses_line_{}_{}", l.line, l.kind),
                 .title = fmt::format("Lanes and addresses of line {}", l.line),
                 .svg = {},
                 .csv = "line,access,bytes,requests,lane,offset,times\n"};
  p.weight = double(std::max<int64_t>(0, beyond_need(l))) + 0.5;
  const simt::LaneHeat& h = l.heat;
  unsigned columns = 1;
  uint32_t most = 1;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned c = 0; c < simt::kHeatColumns; ++c)
      if (const uint32_t times = h.times[lane * simt::kHeatColumns + c]; times > 0) {
        columns = std::max(columns, c + 1);
        most = std::max(most, times);
        p.csv += fmt::format("{},{},{},{},{},{},{}\n", l.line, l.kind, l.width, l.counts.requests, lane,
                             uint64_t(c) * h.bytes, times);
      }
  Svg& svg = p.svg;
  svg.grow(13);
  svg.text(0, svg.height() - 3, fmt::format("{}  {}", l.line, shortened(source_line(l.file, l.line), 56)),
           "m");
  svg.paragraph(fmt::format(
      "{} of {} bytes a lane, {} requests: places of each lane, from the lowest address of its request on",
      l.kind, l.width, l.counts.requests));
  svg.paragraph(fmt::format("a column is {} bytes; the darker, the more requests", h.bytes), "d");
  svg.grow(14);
  const double top = svg.height(), width = kColumnWidth * columns, height = kLaneRow * 32;
  const auto x_of = [](double column) { return kLeftOfLanes + column * kColumnWidth; };
  for (const unsigned lane : {0U, 8U, 16U, 24U, 31U})
    svg.text(kLeftOfLanes - 4, top + lane * kLaneRow + 7, lane == 0 ? "lane 0" : std::to_string(lane), "d s",
             "end");
  svg.text(x_of(0), top - 4, "+0", "d s");
  if (columns > 8)
    svg.text(x_of(columns), top - 4, fmt::format("+{}", uint64_t(columns) * h.bytes), "d s", "end");
  std::string rule = box(x_of(0), top, width, height);
  // Sectors, where a column is not wider than one.
  if (l.space == simt::Space::global && h.bytes < 32)
    for (unsigned c = 32 / h.bytes; c < columns; c += 32 / h.bytes)
      rule += fmt::format("M{:.1f} {:.1f}v{:.1f}", x_of(c), top, height);
  svg.path(rule, "rule");
  for (unsigned shade = 1; shade <= kShades; ++shade) {
    std::string d;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned c = 0; c < columns; ++c) {
        const uint32_t times = h.times[lane * simt::kHeatColumns + c];
        if (times == 0 || (uint64_t(times) * kShades + most - 1) / most != shade) continue;
        d += box(x_of(c) + 0.3, top + lane * kLaneRow + 0.5, kColumnWidth - 0.6, kLaneRow - 1);
      }
    svg.path(d, "hot", double(shade) / kShades);
  }
  svg.grow(height + 6);
  return p;
}

/// What a page shows of one event.
nlohmann::ordered_json step_of(const RecordedRun& of, const simt::RecordedBlock& b, const simt::BlockEvent& e,
                               const simt::RequestLanes* lanes,
                               std::set<std::pair<std::string, int>>& lines) {
  nlohmann::ordered_json j;
  const auto at_line = [&](const simt::SourceLine& at) {
    if (at.line <= 0) return;
    j["f"] = at.file;
    j["l"] = at.line;
    lines.emplace(at.file, at.line);
  };
  const auto barrier = [&] {
    return e.barrier < b.barriers.size() ? b.barriers[e.barrier] : std::string("a barrier");
  };
  using simt::Note;
  switch (e.what) {
    case Note::code:
      j["k"] = e.amount > 1 ? fmt::format("code, {} blocks", e.amount) : "code";
      if (e.value < of.recording->code().size()) at_line(simt::source_of(of.recording->code()[e.value].pc));
      break;
    case Note::access: {
      const simt::RecordedAccess& a = of.recording->accesses()[e.value];
      j["k"] = fmt::format("{} of {} B", kind_of_recorded(a), a.width);
      at_line(simt::source_of(a.pc));
      j["w"] = a.width;
      if (lanes == nullptr) break;
      j["a"] = lanes->array < 0 ? "" : of.recording->arrays()[size_t(lanes->array)].name;
      nlohmann::ordered_json offsets = nlohmann::ordered_json::array();
      for (uint32_t rest = e.lanes; rest != 0; rest &= rest - 1) {
        const uint32_t offset = lanes->offset[__builtin_ctz(rest)];
        offsets.push_back(offset == simt::RequestLanes::kElsewhere ? -1 : int64_t(offset));
      }
      j["o"] = std::move(offsets);
      break;
    }
    case Note::commit:
      j["k"] = "commits its copies (cp.async.commit_group)";
      break;
    case Note::wait:
      j["k"] = fmt::format("waits until {} groups of copies are left", e.value);
      break;
    case Note::follow:
      j["k"] = fmt::format("{} follows its copies, phase {}", barrier(), e.value);
      break;
    case Note::bulk:
      j["k"] =
          fmt::format("asks the copy engine for {} bytes, for {}, phase {}", e.amount, barrier(), e.value);
      break;
    case Note::store:
      j["k"] = fmt::format("asks the copy engine to store {} bytes", e.amount);
      break;
    case Note::store_commit:
      j["k"] = "commits its stores (cp.async.bulk.commit_group)";
      break;
    case Note::store_wait:
      j["k"] = fmt::format("waits until {} groups of stores are left", e.value);
      break;
    case Note::product:
      j["k"] = "issues a product (wgmma)";
      break;
    case Note::product_commit:
      j["k"] = "commits its products (wgmma.commit_group)";
      break;
    case Note::product_wait:
      j["k"] = fmt::format("waits until {} groups of products are left", e.value);
      break;
    case Note::arrive:
      j["k"] = fmt::format("arrives at {}, phase {}", barrier(), e.value);
      break;
    case Note::waited:
      j["k"] = fmt::format("is past its wait for {}, phase {}", barrier(), e.value > 0 ? e.value - 1 : 0);
      break;
    case Note::all_met:
      j["k"] = "meets all warps (__syncthreads)";
      break;
    case Note::grid_met:
      j["k"] = "meets the grid";
      break;
  }
  if (e.line > 0 && !j.contains("l")) j["l"] = e.line;
  j["m"] = e.lanes;
  return j;
}

constexpr const char* kStepper = R"page(<style>
.lanes { display: grid; grid-template-columns: repeat(8, minmax(3.4rem, 1fr)); gap: 3px; max-width: 44rem; margin: .6rem 0; }
.lanes div { border: 1px solid var(--dim); border-radius: 4px; padding: 2px 4px; font: .72rem/1.3 ui-monospace, "DejaVu Sans Mono", monospace; }
.lanes div.idle { opacity: .35; }
.lanes div.clash { border: 2px solid var(--bad); }
#stepper input[type=range] { width: min(44rem, 100%); }
#stepper code { overflow-wrap: anywhere; }
</style>
<h2>A warp, lane by lane</h2>
<div id="stepper">
<p><label>kernel <select id="stepkernel"></select></label> <label>warp <select id="stepwarp"></select></label>
<button type="button" id="stepback">back</button> <button type="button" id="stepon">on</button></p>
<input type="range" id="stepat" min="0" value="0" aria-label="step">
<p id="stepsays"></p><p><code id="stepsource"></code></p>
<div class="lanes" id="steplanes"></div>
<p class="note">A step is one request, or code that lanes enter together. Lanes of one color use the same sector (global memory) or the same bank (shared memory); a red frame is a lane whose bank has another word to deliver. Numbers are offsets in the array, in bytes.</p>
</div>
<script id="stepdata" type="application/json">)page";

constexpr const char* kStepperScript = R"page(</script>
<script>
(function () {
  var all = JSON.parse(document.getElementById("stepdata").textContent);
  function by(id) { return document.getElementById(id); }
  var kernel = by("stepkernel"), warp = by("stepwarp"), at = by("stepat");
  function fill(select, names) {
    select.textContent = "";
    names.forEach(function (name, k) { var o = document.createElement("option"); o.value = k; o.textContent = name; select.appendChild(o); });
  }
  function warps() { return all.kernels[kernel.value].warps; }
  function show() {
    var steps = warps()[warp.value].steps, k = Number(at.value), s = steps[k];
    var lanes = [], group = {}, words = {}, next = 0, n = 0;
    for (var lane = 0; lane < 32; ++lane) {
      var active = (s.m >>> lane) & 1;
      lanes.push(active ? {offset: s.o ? s.o[n++] : null} : null);
    }
    var shared = s.o && s.a === "";
    lanes.forEach(function (l) {
      if (!l || l.offset === null || l.offset < 0) return;
      l.key = shared ? Math.floor(l.offset / 4) % 32 : Math.floor(l.offset / 32);
      if (!(l.key in group)) group[l.key] = next++;
      (words[l.key] = words[l.key] || {})[Math.floor(l.offset / 4)] = 1;
    });
    var many = 0;
    for (var m = s.m; m; m &= m - 1) ++many;
    by("stepsays").textContent = "Step " + (k + 1) + " of " + steps.length + ": " + (s.l ? "line " + s.l + ", " : "") + s.k +
      (s.o ? (shared ? " in shared memory" : s.a ? " in " + s.a : "") : "") + ", " + many + " lanes" +
      (s.o ? ", " + next + (shared ? " banks" : " sectors where lanes begin") : "");
    by("stepsource").textContent = s.s === undefined ? "" : all.sources[s.s];
    var box = by("steplanes");
    box.textContent = "";
    lanes.forEach(function (l, lane) {
      var d = document.createElement("div");
      d.textContent = lane + (l && l.offset !== null ? (l.offset < 0 ? " elsewhere" : " +" + l.offset + (shared ? " b" + l.key : "")) : "");
      if (!l) d.className = "idle";
      else if (l.key !== undefined) {
        d.style.background = "hsla(" + (group[l.key] * 47) % 360 + ",70%,55%,.35)";
if (shared && s.w <= 4 && Object.keys(words[l.key]).length > 1) d.className = "clash";
}
box.appendChild(d);
});
}
function choose() {
  at.max = warps()[warp.value].steps.length - 1;
  at.value = 0;
  show();
}
function open() {
  fill(warp, warps().map(function(w) { return w.n; }));
  choose();
}
fill(kernel, all.kernels.map(function(k) { return k.kernel; }));
kernel.onchange = open;
warp.onchange = choose;
at.oninput = show;
by("stepback").onclick = function() {
  at.value = Number(at.value) - 1;
  show();
};
by("stepon").onclick = function() {
  at.value = Number(at.value) + 1;
  show();
};
open();
})();
</script>
)page";

}  // namespace

std::vector<TracePicture> address_pictures(const RecordedRun& of, std::vector<std::string>& left_out) {
  std::vector<LineHeat> list = heats_by_line(*of.recording);
  std::ranges::stable_sort(
      list, [](const LineHeat& a, const LineHeat& b) { return beyond_need(a) > beyond_need(b); });
  if (list.size() > kMostAddressPictures) {
    left_out.push_back(
        fmt::format("lanes and addresses of {} accesses, none of them with more to save than those shown",
                    list.size() - kMostAddressPictures));
    list.resize(kMostAddressPictures);
  }
  std::vector<TracePicture> pictures;
  for (const LineHeat& l : list) pictures.push_back(address_picture(l));
  return pictures;
}

std::string stepper_html(const RecordedRun& of) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  std::set<std::pair<std::string, int>> lines;
  for (const simt::RecordedBlock& b : of.recording->blocks()) {
    nlohmann::ordered_json warps = nlohmann::ordered_json::array();
    for (size_t w = 0; w < b.lanes.size(); ++w) {
      nlohmann::ordered_json steps = nlohmann::ordered_json::array();
      size_t request = 0;
      for (const simt::BlockEvent& e : b.warps[w]) {
        const bool access = e.what == simt::Note::access;
        if (steps.size() >= kMostPageSteps || (access && request >= b.lanes[w].size())) break;
        steps.push_back(step_of(of, b, e, access ? &b.lanes[w][request++] : nullptr, lines));
      }
      if (!steps.empty()) warps.push_back({{"n", w}, {"steps", std::move(steps)}});
    }
    if (!warps.empty())
      kernels.push_back(
          {{"kernel", fmt::format("{}, block {}", b.kernel, b.number)}, {"warps", std::move(warps)}});
  }
  if (kernels.empty()) return "";
  // Steps name their source line by its number in one list.
  std::map<std::pair<std::string, int>, size_t> number;
  nlohmann::ordered_json sources = nlohmann::ordered_json::array();
  for (const auto& place : lines) {
    number[place] = sources.size();
    sources.push_back(source_line(place.first, place.second));
  }
  for (auto& kernel : kernels)
    for (auto& warp : kernel["warps"])
      for (auto& step : warp["steps"]) {
        if (!step.contains("f")) continue;
        step["s"] = number[{step["f"].get<std::string>(), step["l"].get<int>()}];
        step.erase("f");
      }
  std::string data =
      nlohmann::ordered_json{{"sources", std::move(sources)}, {"kernels", std::move(kernels)}}.dump(
          -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // A source line must not end the script element.
  for (size_t at = data.find('<'); at != std::string::npos; at = data.find('<', at))
    data.replace(at, 1, "\\u003c");
  return kStepper + data + kStepperScript;
}

}  // namespace klab
