#include "harness/cli/ladder_text.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "harness/check/cases.h"
#include "harness/compare/sweep.h"
#include "harness/report/ladder_view.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/timing/core_to_core.h"
#include "harness/timing/others_work.h"
#include "harness/timing/peer_libraries.h"
#include "harness/timing/unit_ceilings.h"

namespace klab {
namespace {

volatile sig_atomic_t interrupts = 0;

std::string times_text(const std::optional<Estimate>& e) {
  return e ? three_digits(e->value) + "x" : std::string();
}

/// Returns the larger distance to the ends of the interval, in percent of the median.
std::string spread_text(const Estimate& e) {
  if (e.n < 2) return "?";
  return fmt::format("±{:.1f}%", 100 * std::max(e.high - e.value, e.value - e.low) / e.value);
}

std::string rung_of(const std::string& variant, const std::string& op) {
  return variant.starts_with(op + ".") ? variant.substr(op.size() + 1) : variant;
}

Ink ink_of(const std::string& verdict) {
  return verdict == "held" ? Ink::green : verdict == "not held" ? Ink::red : Ink::yellow;
}

/// Formats "fma 229" or "-".
std::string rate(const Ceilings& c, CeilingKind kind, int level, int threads) {
  const Ceiling* found = c.find(kind, level, threads);
  return found ? three_digits(found->per_second * 1e-9) : "-";
}

/// Formats "dot products   bf16 -  int8 1353 GOP/s  (VPDPBUSD)"; with the reasons where neither format was measured.
std::string products_text(const char* title, ProductUnit unit, int threads) {
  std::string text, methods, missing;
  for (const Factors factors : {Factors::bf16, Factors::int8}) {
    const UnitCeiling c = unit_ceiling(factors, unit, threads);
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : "  ", factors == Factors::bf16 ? "bf16" : "int8",
        c.per_second > 0 ? three_digits(c.per_second * 1e-9) + " " + giga_unit_of(name_of(c)) : "-");
    std::string& list = c.per_second > 0 ? methods : missing;
    const std::string& entry = c.per_second > 0 ? c.method : c.missing;
    if (list.find(entry) == std::string::npos) list += (list.empty() ? "" : ", ") + entry;
  }
  return fmt::format("  {:<13}  {}  {}\n", title, text,
                     inked(fmt::format("({})", methods.empty() ? missing : methods), Ink::dim));
}

/// Shortens "dot int8" to "dot", since all rungs of an op have the same factors.
std::string short_ceiling(const std::string& ceiling) {
  return is_unit_ceiling(ceiling) ? ceiling.substr(0, ceiling.find(' ')) : ceiling;
}

/// Lists the ceilings that rows of a ladder are held against, in the order of rows.
std::string unit_ceilings_text(const std::vector<Row>& rows) {
  std::vector<const Row*> list;
  for (const Row& r : rows)
    if (r.of_ceiling && std::ranges::none_of(list, [&](const Row* x) { return x->ceiling == r.ceiling; }))
      list.push_back(&r);
  std::string text;
  for (const Row* r : list) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", r->ceiling,
                        three_digits(r->ceiling_per_second * 1e-9), giga_unit_of(r->ceiling));
    const double least = r->resources.empty() ? 0 : r->resources.front().seconds;
    // Float's instructions, in a format that has none of its own.
    if (const double lanes = least > 0 ? r->flops / least / r->ceiling_per_second : 0;
        r->ceiling == name_of(CeilingKind::fma_f32) && lanes > 1.5)
      text += fmt::format(" times {:.0f}", lanes);
    if (least > 0) text += ", at least " + seconds_text(least);
  }
  return text;
}

}  // namespace

std::string ceilings_text(const Ceilings& c, int threads) {
  std::string text = fmt::format("{}  {} thread{}, {}", inked("ceilings", Ink::bold), threads,
                                 threads == 1 ? "" : "s", this_machine().instruction_set);
  if (const double ns = measure_core_to_core_ns(); ns > 0)
    text +=
        inked(fmt::format("  (a cache line from one thread to another and back: {:.0f} ns)", ns), Ink::dim);
  text += '\n';
  text += fmt::format("  multiply-add   f32 {}  f64 {} GFLOP/s\n", rate(c, CeilingKind::fma_f32, 0, threads),
                      rate(c, CeilingKind::fma_f64, 0, threads));
  text += products_text("dot products", ProductUnit::dot, threads);
  text += products_text("tiles", ProductUnit::tiles, threads);
  for (const CeilingKind kind : {CeilingKind::transcendental, CeilingKind::division, CeilingKind::root})
    if (const Ceiling* found = c.find(kind, 0, threads))
      text += fmt::format("  {:<18} {} {}  {}\n", name_of(kind), three_digits(found->per_second * 1e-9),
                          giga_unit_of(name_of(kind)), inked(fmt::format("({})", found->method), Ink::dim));
  for (const CeilingKind kind : kMemoryCeilings) {
    text += fmt::format("  {:<13}", name_of(kind));
    std::string method;
    for (int level = 1; level <= 4; ++level) {
      const Ceiling* found = c.find(kind, level, threads);
      if (found == nullptr) continue;
      text += fmt::format("  {} {}", level_name(level), three_digits(found->per_second * 1e-9));
      method = found->method;
    }
    text += fmt::format(" GB/s  {}\n", inked(fmt::format("(memory: {})", method), Ink::dim));
  }
  return fitted(text);
}

std::string noise_text() {
  double busy = busy_elsewhere();
  // Ignore work that has just ended (a build, a program that frees its memory).
  for (int again = 0; again < 2 && busy >= 0.2; ++again) busy = std::min(busy, busy_elsewhere(0.25));
  if (busy < 0.2) return "";
  return inked(fmt::format("other work keeps {:.1f} of {} hardware threads busy: expect wide intervals\n",
                           busy, this_machine().threads),
               Ink::yellow);
}

std::string interrupted_text(const Recording& run, const std::string& out) {
  if (out.empty()) return "";
  if (run.rows.empty()) return ", nothing was written";
  return fmt::format(", {} rows are in {}", run.rows.size(), out);
}

bool any_wrong(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& r) { return !r.wrong.empty() || is_refused(r); });
}

std::string ladder_text(const Ladder& ladder, const std::vector<Row>& rows) {
  const LabOp* known = find_op(ladder.op);
  if (known == nullptr) throw std::invalid_argument("no lab teaches " + ladder.op);
  const LabOp& op = *known;
  size_t rounds = 0;
  for (const Row& r : rows) rounds = std::max(rounds, r.seconds.size());
  std::string text = fmt::format("{}, {}", inked(ladder.op, Ink::bold), ladder.shape.name);
  if (!rows.empty())
    text += inked(fmt::format("  {}; {}; {} thread{}; {} rounds", rows.front().shape, ladder.cache,
                              ladder.threads, ladder.threads == 1 ? "" : "s", rounds),
                  Ink::dim);
  text += '\n';
  std::vector<const Row*> all;
  for (const Row& r : rows) all.push_back(&r);
  const bool latency = no_limit_binds(all);
  // Rungs of an op with narrow factors are held against different units: rates count the op's own operations.
  Factors factors{};
  const bool narrow = has_narrow_factors(ladder, nullptr, factors) && !ladder.ceiling.empty();
  const std::string unit =
      narrow ? giga_unit_of(name_of(UnitCeiling{.factors = factors})) : giga_unit_of(ladder.ceiling);
  if (narrow && !latency) {
    if (const std::string list = unit_ceilings_text(rows); !list.empty())
      text += inked(fmt::format("  ceilings: {}\n", list), Ink::dim);
  } else if (!ladder.ceiling.empty() && !ladder.ceiling_per_second.empty()) {
    text += inked(fmt::format("  ceiling: {}\n",
                              latency ? latency_text(all)
                                      : fmt::format("{} ({}), {} {}{}", ladder.ceiling, ladder.ceiling_method,
                                                    three_digits(median(ladder.ceiling_per_second) * 1e-9),
                                                    unit, resources_text(ladder.resources))),
                  Ink::dim);
  }
  bool parents = false, peers = false, expects = false, any = false;
  for (const Row& r : rows) {
    parents = parents || r.over_parent;
    peers = peers || r.over_peer;
    expects = expects || !r.verdict.empty();
    any = any || !r.seconds.empty();
  }
  std::vector<Column> columns = {{"variant"},
                                 {"time", Column::Kind::right},
                                 {"", Column::Kind::right},
                                 {unit, Column::Kind::right},
                                 {"ceiling", Column::Kind::right},
                                 {"naive", Column::Kind::right},
                                 {"", Column::Kind::bar, 20}};
  if (parents) columns.push_back({"parent", Column::Kind::right});
  if (peers) columns.push_back({"peer", Column::Kind::right});
  if (expects) columns.push_back({fmt::format("predicted at {}", size_text(op, ladder.shape.shape))});
  Table table(columns);
  table.indent(2);
  std::string notes, elsewhere;
  std::vector<const Row*> order;
  for (const Row& r : rows) order.push_back(&r);
  std::ranges::stable_sort(order, {}, [](const Row* r) { return place_in_ladder(r->variant); });
  for (const Row* shown : order) {
    const Row& r = *shown;
    const std::string rung = rung_of(r.variant, r.op);
    if (!r.wrong.empty()) notes += fmt::format("  {}  {}: {}\n", rung, inked("FAILED", Ink::red), r.wrong);
    if (!r.skipped.empty())
      notes += fmt::format("  {}  {}: {}\n", rung, inked("skipped", Ink::yellow), r.skipped);
    if (r.seconds.empty()) continue;
    const bool refused = is_refused(r);
    if (!r.error.empty())
      notes += fmt::format("  {}  {}{}\n", rung, refused ? inked("REFUSED", Ink::red) + ": " : "",
                           refused ? r.error : inked(r.error, Ink::red));
    if (r.ceiling.starts_with(kUnknownCeiling))
      notes += fmt::format("  {}  faster than {}: the ceiling of the unit that it uses is unknown\n", rung,
                           r.ceiling.substr(std::string(kUnknownCeiling).size()));
    const double work = narrow ? r.flops : ladder.ceiling_work > 0 ? ladder.ceiling_work : r.bytes;
    const Variant* v = find_variant(r.variant);
    const bool peer = v != nullptr && v->peer, branch = v != nullptr && v->branch();
    const PeerLibrary library = peer ? peer_library(*v) : PeerLibrary{};
    const bool held = !library.held_back.empty();
    if (!library.name.empty())
      notes += fmt::format("  {} is {}{}{}\n", rung, library.name,
                           library.kernels.empty() ? "" : " with kernels " + library.kernels,
                           held ? ": held back, " + library.held_back : "");
    if (branch && v->when.shape != ladder.shape.shape)
      notes += inked(fmt::format("  {} is a branch: it pays at {}, {}\n", rung, size_text(op, v->when.shape),
                                 v->when.because),
                     Ink::dim);
    if (v != nullptr && !v->expect.shape.empty() && v->expect.shape != ladder.shape.shape)
      elsewhere += fmt::format("{}{} {}x at {}", elsewhere.empty() ? "" : "; ", rung,
                               three_digits(v->expect.over_parent), size_text(op, v->expect.shape));
    std::vector<Cell> cells = {{(branch ? "└ " : "") + rung, refused ? Ink::red
                                                             : peer  ? Ink::dim
                                                                     : Ink::plain},
                               seconds_text(r.time.value),
                               {spread_text(r.time), Ink::dim},
                               three_digits(work / r.time.value * 1e-9),
                               r.of_ceiling && !latency
                                   ? fmt::format("{:.0f}%{}", 100 * r.of_ceiling->value,
                                                 narrow ? " " + short_ceiling(r.ceiling) : "")
                                   : "",
                               times_text(r.over_naive),
                               Cell::bar(refused        ? 0
                                         : r.over_naive ? r.over_naive->value
                                                        : 1,
                                         peer ? Ink::dim : Ink::cyan)};
    if (parents) cells.emplace_back(times_text(r.over_parent));
    if (peers)
      cells.emplace_back(r.over_peer        ? times_text(r.over_peer)
                         : !peer || refused ? ""
                         : held             ? "held back"
                                            : "best");
    if (expects)
      cells.push_back(r.verdict.empty() ? Cell("")
                                        : Cell(fmt::format("{}x: {}", three_digits(*r.expected), r.verdict),
                                               ink_of(r.verdict)));
    table.add(std::move(cells));
  }
  if (!elsewhere.empty())
    notes += inked(fmt::format("  predicted over the parent at other sizes: {}\n", elsewhere), Ink::dim);
  if (const std::string moved = moved_text(ladder.core_to_core_ns); !moved.empty())
    notes += fmt::format("  {}\n", inked(moved, Ink::yellow));
  return fitted(text) + (any ? table.text() : "") + fitted(notes);
}

std::string sweep_text(const std::vector<Row>& rows) {
  std::string text;
  Table growth({{"variant"},
                {"sizes", Column::Kind::right},
                {"time grows as", Column::Kind::right},
                {"beyond its ceiling", Column::Kind::right},
                {""}});
  for (const CostGrowth& g : growth_of(rows))
    growth.add({g.variant, std::to_string(g.sizes), fmt::format("work^{:.2f}", g.exponent),
                fmt::format("{:+.2f}", g.excess),
                Cell(g.flagged ? "faster than its contract" : "", Ink::red)});
  if (!growth.empty()) text += growth.text();
  Table scaling({{"variant"}, {"shape"}, {"threads: speedup"}});
  for (const Scaling& s : scaling_of(rows)) {
    std::string list;
    for (const auto& [threads, speedup] : s.speedups)
      list += fmt::format("{}{}: {}x", list.empty() ? "" : "  ", threads, three_digits(speedup));
    scaling.add({s.variant, s.shape, list});
  }
  if (!scaling.empty()) text += scaling.text();
  if (text.empty())
    text = "a sweep needs at least four sizes, or two numbers of threads, to show how cost grows\n";
  return text;
}

void watch_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts = 1; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return interrupts != 0; }

}  // namespace klab
