// The time line of a kernel's block: what its warps do step by step, and which copies and products are in flight meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/cli/trace_pictures.h"
#include "harness/records/csv_text.h"
#include "harness/simt/modules.h"
#include "harness/simt/timeline.h"

namespace klab {
namespace {

constexpr uint32_t kMostSteps = 1500;  // drawn
constexpr size_t kMostRows = 8;        // warps that differ
constexpr size_t kMostBarrierRows = 8, kMostCsvLines = 20'000;
constexpr double kLeftOfSteps = 74, kStepsWidth = 320, kTrack = 8;

/// A warp with all that do exactly the same: its number, and theirs.
struct WarpRow {
  unsigned warp = 0;
  std::vector<unsigned> same;
};

bool same_spans(const std::vector<simt::Span>& a, const std::vector<simt::Span>& b) {
  return std::ranges::equal(a, b, [](const simt::Span& x, const simt::Span& y) {
    return x.begin == y.begin && x.end == y.end && x.what == y.what && x.barrier == y.barrier;
  });
}

bool same_flights(const simt::Timeline& t, unsigned a, unsigned b) {
  const auto of = [&](unsigned warp) {
    std::vector<std::array<uint32_t, 5>> list;
    for (const simt::Flight& f : t.flights)
      if (f.warp == warp) list.push_back({uint32_t(f.kind), f.group, f.issue, f.commit, f.land});
    return list;
  };
  return of(a) == of(b);
}

std::vector<WarpRow> rows_of(const simt::Timeline& t) {
  std::vector<WarpRow> rows;
  for (unsigned w = 0; w < t.warps.size(); ++w) {
    const auto at = std::ranges::find_if(rows, [&](const WarpRow& r) {
      return same_spans(t.warps[r.warp], t.warps[w]) && same_flights(t, r.warp, w);
    });
    if (at == rows.end())
      rows.push_back({w, {w}});
    else
      at->same.push_back(w);
  }
  return rows;
}

/// Returns "warps 0–7", "warp 3", "warps 0, 2 and 5 more".
std::string warps_text(const std::vector<unsigned>& list) {
  if (list.size() == 1) return fmt::format("warp {}", list[0]);
  if (list.back() - list.front() + 1 == list.size())
    return fmt::format("warps {}–{}", list.front(), list.back());
  std::string text = fmt::format("warps {}, {}", list[0], list[1]);
  return list.size() == 2 ? text : text + fmt::format(" and {} more", list.size() - 2);
}

struct StepScale {
  uint32_t drawn = 0, per_column = 1, columns = 0;
  double x(uint32_t step) const {
    return kLeftOfSteps + kStepsWidth * std::min(step, drawn) / std::max(1U, drawn);
  }
};

/// Returns bars whose height is the share of each column's steps in which a warp does that.
std::string track(const std::vector<simt::Span>& spans, simt::Doing what, const StepScale& s, double base) {
  std::vector<uint32_t> in_column(s.columns, 0);
  for (const simt::Span& span : spans) {
    if (span.what != what) continue;
    for (uint32_t t = span.begin; t < std::min(span.end, s.drawn); ++t) ++in_column[t / s.per_column];
  }
  // Eighths, and neighbors of one height as one bar.
  const auto eighths = [&](size_t c) {
    return in_column[c] == 0 ? 0U : std::max(1U, in_column[c] * 8 / s.per_column);
  };
  std::string d;
  for (size_t c = 0; c < in_column.size();) {
    size_t end = c + 1;
    while (end < in_column.size() && eighths(end) == eighths(c)) ++end;
    if (const unsigned h = eighths(c); h > 0) {
      const double x = s.x(uint32_t(c) * s.per_column), height = (kTrack - 1) * std::min(h, 8U) / 8;
      d += box(x, base - height, s.x(uint32_t(end) * s.per_column) - x, height);
    }
    c = end;
  }
  return d;
}

/// Adds copies of a warp in flight: hollow from issue to commit, full until they have landed; groups in flight at a time below each
/// other.
void add_flights(Svg& svg, const simt::Timeline& t, unsigned warp, simt::FlightKind kind, const char* label,
                 const StepScale& s) {
  std::vector<const simt::Flight*> list;
  for (const simt::Flight& f : t.flights)
    if (f.warp == warp && f.kind == kind && f.issue < s.drawn) list.push_back(&f);
  if (list.empty()) return;
  std::ranges::stable_sort(list, {}, &simt::Flight::issue);
  std::vector<uint32_t> free_from;  // by line
  std::string full, hollow;
  constexpr size_t kMostLines = 4;
  const double top = svg.height();
  for (const simt::Flight* f : list) {
    size_t line = 0;
    while (line < free_from.size() && free_from[line] > f->issue) ++line;
    if (line == free_from.size() && line < kMostLines) free_from.push_back(0);
    line = std::min(line, kMostLines - 1);
    free_from[line] = std::max(free_from[line], f->land);
    const double y = top + double(line) * kTrack + 1.5;
    if (f->commit > f->issue) hollow += box(s.x(f->issue), y, s.x(f->commit) - s.x(f->issue), kTrack - 3);
    // A bar that lands where it began still has a width.
    full += box(s.x(f->commit), y, std::max(0.8, s.x(f->land) - s.x(f->commit)), kTrack - 3);
  }
  svg.path(hollow, "ring");
  svg.path(full, "good");
  svg.text(kLeftOfSteps - 4, top + kTrack - 0.5, label, "d s", "end");
  svg.grow(double(free_from.size()) * kTrack + 2);
}

void add_warp(Svg& svg, const simt::Timeline& t, const WarpRow& row, const StepScale& s) {
  svg.grow(13);
  const size_t count = row.same.size();
  svg.text(0, svg.height() - 3, warps_text(row.same) + (count > 1 ? ", which do the same" : ""), "t s");
  const std::vector<simt::Span>& spans = t.warps[row.warp];
  const auto add = [&](simt::Doing what, const char* label, const char* style, double opacity) {
    const std::string d = track(spans, what, s, svg.height() + kTrack);
    if (d.empty()) return;
    svg.text(kLeftOfSteps - 4, svg.height() + kTrack - 0.5, label, "d s", "end");
    svg.path(d, style, opacity);
    svg.grow(kTrack + 2);
  };
  add(simt::Doing::global, "global", "hot", 1);
  add(simt::Doing::shared, "shared", "blue", 1);
  add(simt::Doing::code, "code", "dimmed", 0.7);
  add(simt::Doing::copies, "issues copies", "ink", 1);
  add(simt::Doing::waits, "waits", "bad", 0.75);
  add_flights(svg, t, row.warp, simt::FlightKind::copies, "in flight", s);
  add_flights(svg, t, row.warp, simt::FlightKind::engine, "engine", s);
  add_flights(svg, t, row.warp, simt::FlightKind::stores, "stores", s);
  add_flights(svg, t, row.warp, simt::FlightKind::products, "wgmma", s);
  svg.grow(3);
}

/// Names the warps that do something at a barrier: "warp 0 arrives, with copies; warps 4–7 wait".
std::string roles_text(const simt::RecordedBlock& b, size_t barrier) {
  std::vector<unsigned> arrive, wait;
  bool copies = false;
  for (unsigned w = 0; w < b.warps.size(); ++w) {
    bool arrives = false, waits = false;
    for (const simt::BlockEvent& e : b.warps[w]) {
      if (e.barrier != barrier) continue;
      const bool copy = e.what == simt::Note::bulk || e.what == simt::Note::follow;
      copies = copies || copy;
      arrives = arrives || copy || e.what == simt::Note::arrive;
      waits = waits || e.what == simt::Note::waited;
    }
    if (arrives) arrive.push_back(w);
    if (waits) wait.push_back(w);
  }
  std::string text;
  if (!arrive.empty())
    text =
        warps_text(arrive) + (arrive.size() == 1 ? " arrives" : " arrive") + (copies ? ", with copies" : "");
  if (!wait.empty())
    text += (text.empty() ? "" : "; ") + warps_text(wait) + (wait.size() == 1 ? " waits" : " wait");
  return text;
}

void add_phases(Svg& svg, const simt::RecordedBlock& b, const simt::Timeline& t, const StepScale& s) {
  if (t.phases.empty()) return;
  svg.grow(13);
  svg.text(0, svg.height() - 3,
           "phases of barriers, by number: each ends where its last arrival or copy has come", "t s");
  size_t drawn = 0;
  for (size_t k = 0; k < b.barriers.size() && drawn < kMostBarrierRows; ++k) {
    std::string odd, even, edges;
    uint32_t begin = 0;
    const double y = svg.height();
    std::vector<std::pair<double, std::string>> numbers;
    for (const simt::BarrierPhase& p : t.phases) {
      if (p.barrier != int(k) || begin >= s.drawn) continue;
      const double x0 = s.x(begin), x1 = s.x(p.end);
      (p.phase % 2 == 0 ? even : odd) += box(x0, y + 1, std::max(0.4, x1 - x0), kTrack + 1);
      edges += fmt::format("M{:.1f} {:.1f}v{:.1f}", x1, y, kTrack + 3);
      if (x1 - x0 > 12) numbers.emplace_back((x0 + x1) / 2, std::to_string(p.phase));
      begin = p.end;
    }
    if (edges.empty()) continue;
    ++drawn;
    svg.path(even, "soft");
    svg.path(odd, "blue", 0.3);
    svg.path(edges, "edge");
    for (const auto& [x, text] : numbers) svg.text(x, y + kTrack + 0.5, text, "s", "middle");
    svg.text(kLeftOfSteps - 4, y + kTrack, shortened(b.barriers[k], 15), "d s", "end");
    svg.grow(kTrack + 5);
    if (const std::string roles = roles_text(b, k); !roles.empty()) {
      svg.text(kLeftOfSteps, svg.height() + 4, roles, "d s");
      svg.grow(10);
    }
  }
}

/// Returns the source line of what a warp does; 0 if it is not known.
int line_of(const RecordedRun& of, const simt::Span& s, std::map<const void*, int>& known) {
  if (s.access < 0) return s.line;
  const void* pc = of.recording->accesses()[size_t(s.access)].pc;
  const auto [at, fresh] = known.try_emplace(pc, 0);
  if (fresh) at->second = simt::source_of(pc).line;
  return at->second;
}

std::string csv_of_steps(const RecordedRun& of, const simt::RecordedBlock& b, const simt::Timeline& t,
                         std::vector<std::string>& left_out) {
  std::string csv = "what,warp,begin,end,line,barrier,group,commit,bytes,overlapped\n";
  size_t lines = 0, all = t.flights.size() + t.phases.size();
  for (const auto& spans : t.warps) all += spans.size();
  const auto add = [&](const std::string& line) {
    if (++lines <= kMostCsvLines) csv += line;
  };
  const auto barrier = [&](int k) { return k < 0 ? std::string() : csv_quoted(b.barriers[size_t(k)]); };
  for (const simt::Flight& f : t.flights)
    add(fmt::format("in flight: {},{},{},{},,{},{},{},{},{}\n", simt::name_of(f.kind), f.warp, f.issue,
                    f.land, barrier(f.barrier), f.group, f.commit, f.bytes, f.overlapped));
  for (const simt::BarrierPhase& p : t.phases)
    add(fmt::format("phase,,{},{},,{},{},,,\n", p.first, p.end, barrier(p.barrier), p.phase));
  std::map<const void*, int> known;
  for (size_t w = 0; w < t.warps.size(); ++w)
    for (const simt::Span& s : t.warps[w]) {
      const int line = line_of(of, s, known);
      add(fmt::format("{},{},{},{},{},{},,,,\n", simt::name_of(s.what), w, s.begin, s.end,
                      line > 0 ? std::to_string(line) : "", barrier(s.barrier)));
    }
  if (all > kMostCsvLines)
    left_out.push_back(fmt::format("{} of the {} lines of steps_{}.csv", all - kMostCsvLines, all, b.kernel));
  return csv;
}

std::string overlap_text(const simt::Timeline& t, simt::FlightKind kind) {
  const simt::Timeline::Overlap o = t.overlap(kind);
  const bool engine = kind == simt::FlightKind::engine || kind == simt::FlightKind::stores;
  return fmt::format(
      "{}: in flight for {} steps after their commit, and in {} of these {} does something else.",
      simt::name_of(kind), o.steps, o.overlapped, engine ? "a warp of the block" : "their warp");
}

TracePicture step_picture(const RecordedRun& of, const simt::RecordedBlock& b,
                          std::vector<std::string>& left_out) {
  const simt::Timeline t = simt::timeline_of(b, of.recording->accesses());
  TracePicture p{.name = "steps_" + b.kernel,
                 .title = "Steps of " + b.kernel,
                 .svg = {},
                 .csv = csv_of_steps(of, b, t, left_out)};
  p.weight = double(t.steps) + double(t.flights.size());
  StepScale s;
  s.drawn = std::min(t.steps, kMostSteps);
  s.per_column = std::max(1U, uint32_t((s.drawn + uint32_t(kStepsWidth) - 1) / uint32_t(kStepsWidth)));
  s.columns = (s.drawn + s.per_column - 1) / s.per_column;
  Svg& svg = p.svg;
  svg.paragraph(fmt::format("{}, block 0 of {} x {} x {}: {} warps, {} steps", b.kernel, b.grid[0], b.grid[1],
                            b.grid[2], t.warps.size(), t.steps),
                "t");
  svg.paragraph(
      "A step is one request, or one block of code entered. Warps take steps side by side and wait where "
      "they have "
      "waited. Steps are an order, no time.",
      "d");
  if (s.drawn < t.steps)
    svg.paragraph(fmt::format("Drawn: the first {} of {} steps.", s.drawn, t.steps), "d");
  for (const simt::FlightKind kind : {simt::FlightKind::copies, simt::FlightKind::engine,
                                      simt::FlightKind::stores, simt::FlightKind::products})
    if (std::ranges::any_of(t.flights, [&](const simt::Flight& f) { return f.kind == kind; }))
      svg.paragraph(overlap_text(t, kind));
  if (t.flights.empty()) svg.paragraph("No copies in flight: each warp waits for what it loads.");
  svg.grow(12);
  const double top = svg.height();
  std::string grid;
  Svg rows;
  const std::vector<WarpRow> list = rows_of(t);
  for (size_t k = 0; k < list.size() && k < kMostRows; ++k) add_warp(rows, t, list[k], s);
  if (list.size() > kMostRows) {
    size_t hidden = 0;
    for (size_t k = kMostRows; k < list.size(); ++k) hidden += list[k].same.size();
    left_out.push_back(
        fmt::format("the steps of {} warps in steps_{}.svg (the CSV has them)", hidden, b.kernel));
    rows.paragraph(fmt::format("{} warps more do still other steps.", hidden), "d s");
  }
  add_phases(rows, b, t, s);
  for (int k = 0; k <= 4; ++k) {
    const uint32_t step = uint32_t(uint64_t(s.drawn) * uint64_t(k) / 4);
    grid += fmt::format("M{:.1f} {:.1f}v{:.1f}", s.x(step), top, rows.height());
    svg.text(s.x(step), top - 3, k == 0 ? "step 0" : std::to_string(step), "d s",
             k == 4   ? "end"
             : k == 0 ? "start"
                      : "middle");
  }
  svg.path(grid, "rule");
  svg.append(rows);
  return p;
}

/// Adds the events of a block to a trace file: a process with a track for each warp and each barrier. Flights are asynchronous
/// events, since several overlap.
void add_events(std::string& text, const RecordedRun& of, const simt::RecordedBlock& b, size_t process) {
  const simt::Timeline t = simt::timeline_of(b, of.recording->accesses());
  const size_t first_barrier = t.warps.size();
  const auto quoted = [](const std::string& s) { return nlohmann::json(s).dump(); };
  const auto add = [&](const std::string& event) {
    text += (text.empty() ? "" : ",\n") + fmt::format("{{\"pid\":{},{}}}", process, event);
  };
  const auto name_track = [&](size_t track, const std::string& name) {
    for (const auto& [what, field, value] :
         {std::array<std::string, 3>{"thread_name", "name", quoted(name)},
          std::array<std::string, 3>{"thread_sort_index", "sort_index", std::to_string(track)}})
      add(fmt::format("\"tid\":{},\"ph\":\"M\",\"name\":\"{}\",\"args\":{{\"{}\":{}}}", track, what, field,
                      value));
  };
  add(fmt::format("\"ph\":\"M\",\"name\":\"process_name\",\"args\":{{\"name\":{}}}",
                  quoted(fmt::format("{}, block {}", b.kernel, b.number))));
  std::map<const void*, int> known;
  for (size_t w = 0; w < t.warps.size(); ++w) {
    name_track(w, fmt::format("warp {}", w));
    for (const simt::Span& s : t.warps[w]) {
      const int line = line_of(of, s, known);
      std::string name = simt::name_of(s.what);
      if (s.barrier >= 0) name += " for " + b.barriers[size_t(s.barrier)];
      if (line > 0) name += fmt::format(", line {}", line);
      add(fmt::format("\"tid\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},\"cat\":\"{}\",\"name\":{}", w, s.begin,
                      s.end - s.begin, simt::name_of(s.what), quoted(name)));
    }
  }
  for (size_t k = 0; k < b.barriers.size(); ++k) name_track(first_barrier + k, b.barriers[k]);
  for (const simt::BarrierPhase& p : t.phases)
    add(fmt::format(
        "\"tid\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},\"cat\":\"phase\",\"name\":\"phase {}\","
        "\"args\":{{\"arrivals\":{},\"waits\":{}}}",
        first_barrier + size_t(p.barrier), p.first, p.end - p.first, p.phase, p.arrivals, p.waits));
  for (size_t k = 0; k < t.flights.size(); ++k) {
    const simt::Flight& f = t.flights[k];
    const std::string event =
        fmt::format("\"tid\":{},\"id\":\"{}.{}\",\"cat\":\"in flight\",\"name\":\"{} {}, warp {}\"", f.warp,
                    process, k, simt::name_of(f.kind), f.group, f.warp);
    add(fmt::format("{},\"ph\":\"b\",\"ts\":{},\"args\":{{\"bytes\":{},\"overlapped\":{}}}", event, f.issue,
                    f.bytes, f.overlapped));
    add(fmt::format("{},\"ph\":\"e\",\"ts\":{}", event, f.land));
  }
}

}  // namespace

std::string perfetto_trace(const RecordedRun& of) {
  std::string events;
  size_t process = 0;
  for (const simt::RecordedBlock& b : of.recording->blocks())
    if (b.events > 0) add_events(events, of, b, ++process);
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + events + "\n]}\n";
}

std::vector<TracePicture> step_pictures(const RecordedRun& of, std::vector<std::string>& left_out) {
  std::vector<TracePicture> pictures;
  for (const simt::RecordedBlock& b : of.recording->blocks())
    if (b.events > 0) pictures.push_back(step_picture(of, b, left_out));
  return pictures;
}

}  // namespace klab
