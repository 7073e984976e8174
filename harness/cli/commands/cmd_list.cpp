// klab list: labs, ops and variants, with the one change of each rung.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"

namespace klab::list_command {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> what;
  std::string backend;
  bool json = false;
  bool markdown = false;
  bool all = false;
};

/// Returns whether the op's branches were requested, with --all or by id.
bool shows_branches(const Options& o) {
  return o.all || std::ranges::any_of(o.what, [](const std::string& name) {
           return name.find_first_of(".*?[") != std::string::npos;
         });
}

/// Returns why this variant does not run here at the first size its lab times; empty if it does.
std::string why_not(const Selected& s, const Variant& v) {
  if (s.op->bench.empty()) return "";
  return v.supported(s.op->bench.front().shape, host_of(v));
}

std::map<std::string, std::string> header_of_file(const Variant& v) {
  const auto file = source_root() / source_path(v);
  return std::filesystem::exists(file) ? header_of(read_text(file)) : std::map<std::string, std::string>();
}

Json as_json(const Selected& s, const Variant& v) {
  Json j = {{"id", v.id},           {"op", v.op},     {"lab", s.lab->id},
            {"backend", v.backend}, {"rung", v.rung}, {"file", source_path(v)},
            {"peer", v.peer}};
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  j["parent"] = or_null(v.parent);
  j["forward"] = or_null(v.forward);
  j["was"] = v.was;
  j["trunk"] = v.peer ? Json() : Json(trunk_of(v).id);  // for a branch: the rung that it belongs to
  j["when"] = v.branch() ? Json{{"shape", v.when.shape}, {"because", v.when.because}} : Json();
  const std::string reason = why_not(s, v);
  j["supported"] = reason.empty();
  j["reason"] = or_null(reason);
  for (const auto& [key, text] : header_of_file(v)) {
    std::string name = key;
    for (char& c : name) c = char(std::tolower(c));
    j["header"][name] = text;
  }
  return j;
}

Json as_json(const Lab& lab) {
  Json j = {{"id", lab.id},
            {"title", lab.title},
            {"question", lab.question},
            {"commands", lab.commands},
            {"ops", Json::array()}};
  j["lesson"] =
      std::filesystem::exists(source_root() / lesson_path(lab.id)) ? Json(lesson_path(lab.id)) : Json();
  for (const LabOp& op : lab.ops) {
    Json o = {{"name", op.op.name},
              {"dims", op.op.dims},
              {"traffic", name_of(op.traffic)},
              {"sizes", Json::array()}};
    o["forward"] = op.op.forward.empty() ? Json() : Json(op.op.forward);
    for (const BenchShape& b : op.bench)
      o["sizes"].push_back({{"name", b.name},
                            {"shape", b.shape},
                            {"cache", b.cache == Cache::hot ? "hot" : "cold"},
                            {"tour", b.tour}});
    j["ops"].push_back(std::move(o));
  }
  return j;
}

/// One lab with the requested parts: ops with variants, or none if it is a program.
struct Entry {
  const Lab* lab;
  std::vector<Selected> ops;
};

/// Returns entries in lab order. Names of labs without ops mean the labs; all other names mean variants.
std::vector<Entry> entries_of(const Options& o) {
  std::set<const Lab*> programs;
  std::vector<std::string> names;
  for (const std::string& name : o.what) {
    std::vector<const Lab*> found;
    try {
      found = select_labs(name);
    } catch (const NotFound&) {  // select() reports the error
    }
    std::erase_if(found, [](const Lab* lab) { return !lab->ops.empty(); });
    programs.insert(found.begin(), found.end());
    if (found.empty()) names.push_back(name);
  }
  const bool all = o.what.empty() && o.backend.empty();
  std::vector<Selected> selection;
  if (o.what.empty() || !names.empty()) selection = select(names, o.backend);
  std::vector<Entry> entries;
  for (const Lab& lab : labs()) {
    Entry entry{&lab, {}};
    for (const Selected& s : selection)
      if (s.lab == &lab) entry.ops.push_back(s);
    const bool program = lab.ops.empty() && (all || programs.count(&lab) != 0);
    if (program || !entry.ops.empty()) entries.push_back(std::move(entry));
  }
  return entries;
}

int print_json(const std::vector<Entry>& entries) {
  Json labs_json = Json::array();
  Json variants_json = Json::array();
  for (const Entry& entry : entries) {
    labs_json.push_back(as_json(*entry.lab));
    for (const Selected& s : entry.ops)
      for (const Variant* v : s.variants) variants_json.push_back(as_json(s, *v));
  }
  fmt::print("{}\n", with_schema("list", Json{{"labs", labs_json}, {"variants", variants_json}}).dump(2));
  return exit_ok;
}

/// Prints a table of labs for a README.
int print_markdown(const std::vector<Entry>& entries) {
  fmt::print("| lab | the question | operations and their rungs |\n|---|---|---|\n");
  for (const auto& [lab, selection] : entries) {
    std::string ops;
    for (const Selected& s : selection) {
      std::map<std::string, int> rungs;  // by backend
      int peers = 0;
      int branches = 0;
      for (const Variant* v : s.variants) ++(v->peer ? peers : v->branch() ? branches : rungs[v->backend]);
      std::string counts;
      for (const auto& [backend, count] : rungs)
        counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, backend);
      if (branches > 0) counts += fmt::format(", {} {}", branches, branches == 1 ? "branch" : "branches");
      if (peers > 0) counts += fmt::format(", {} {}", peers, peers == 1 ? "peer" : "peers");
      ops += fmt::format("{}`{}` ({})", ops.empty() ? "" : ", ", s.op->op.name, counts);
    }
    if (selection.empty())
      for (const std::string& command : lab->commands)
        ops += fmt::format("{}`klab {}`", ops.empty() ? "" : ", ", command);
    fmt::print("| [{}](labs/{}) {} | {} | {} |\n", lab->id.substr(0, 2), lab->id, lab->title, lab->question,
               ops);
  }
  return exit_ok;
}

/// Returns the first sentence; the rest is for readers of the file.
std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

/// Returns the text within `room` columns, cut between words if it is longer.
std::string cut(const std::string& text, int room) {
  if (columns_of(text) <= room) return text;
  size_t end = 0;
  for (size_t space = text.find(' '); space != std::string::npos; space = text.find(' ', space + 1))
    if (columns_of(text.substr(0, space)) <= room - 2) end = space;
  return end == 0 ? text : text.substr(0, end) + " …";
}

void print_ladder(const Selected& s, int width, bool branches) {
  std::string dims;
  for (const std::string& d : s.op->op.dims) dims += (dims.empty() ? "" : ", ") + d;
  fmt::print("  {}({})", inked(s.op->op.name, Ink::cyan), dims);
  if (!s.op->op.forward.empty()) fmt::print("  backward of {}", s.op->op.forward);
  fmt::print("\n");
  auto list = s.variants;
  std::ranges::stable_sort(list, {}, [](const Variant* v) { return place_in_ladder(v->id); });
  size_t hidden = 0;
  for (const Variant* v : list) {
    if (v->branch() && !branches) {
      ++hidden;
      continue;
    }
    const auto header = header_of_file(*v);
    const auto change = header.find("CHANGE");
    std::string text = change == header.end() ? "" : first_sentence(change->second);
    if (v->peer) text = "peer: " + text;
    if (v->branch())
      text = fmt::format("pays at {}, {}: {}", size_text(*s.op, v->when.shape), v->when.because, text);
    const std::string reason = why_not(s, *v);
    if (paper().terminal && reason.empty()) text = cut(text, paper().width - width - 6);
    fmt::print("  {}{:<{}}  {}\n", v->branch() ? "└ " : "  ", v->id, width,
               reason.empty() ? text
                              : inked("not here: " + reason +
                                          (v->branch() ? "; a branch: " + v->when.because : std::string()),
                                      Ink::yellow));
  }
  if (hidden > 0)
    fmt::print("    {}\n", inked(fmt::format("and {} that {} at another size: klab list {} --all",
                                             hidden == 1 ? "a branch" : fmt::format("{} branches", hidden),
                                             hidden == 1 ? "pays" : "pay", s.op->op.name),
                                 Ink::dim));
}

int run(const Options& o) {
  const auto entries = entries_of(o);
  if (o.json) return print_json(entries);
  if (o.markdown) return print_markdown(entries);
  int width = 0;
  for (const Entry& entry : entries)
    for (const Selected& s : entry.ops)
      for (const Variant* v : s.variants) width = std::max(width, columns_of(v->id));
  for (const Entry& entry : entries) {
    const Lab& lab = *entry.lab;
    fmt::print("{}{}  {}\n", &entry == &entries.front() ? "" : "\n", inked(lab.id, Ink::bold), lab.title);
    if (!lab.question.empty()) fmt::print("  {}\n", inked(lab.question, Ink::dim));
    for (const Selected& s : entry.ops) print_ladder(s, width, shows_branches(o));
    if (entry.ops.size() < lab.ops.size()) continue;  // only some of its ops were requested
    const auto line = [](const std::string& call, const std::string& what) {
      fmt::print("  {}  {}\n", inked(fmt::format("{:<14}", call), Ink::cyan), what);
    };
    if (ladder_of(lab) && lab.ops.empty())
      line("klab run " + lab.id.substr(0, lab.id.find('_')), "Climb its ladder");
    for (const Command& c : commands())
      if (std::ranges::count(lab.commands, c.name) > 0) line("klab " + c.name, c.summary);
  }
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "list",
     .summary = "List labs, ops and variants",
     .details =
         "WHAT is a lab (05, 05_matmul, matmul), an op, a variant, or a glob over ids ('*.cpu.01_*').\n"
         "Shown is the trunk of each ladder, whose rungs are each faster than the one before at the size\n"
         "of the tour; --all shows the branches, too, each with the size at which it pays.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->what, "lab, op, variant or glob (default: everything)")
           ->option_text("[WHAT ...]");
       app.add_option("--backend", o->backend, "only this one: cpu, cuda or simt");
       app.add_flag("--all", o->all, "with the branches: rungs that pay at another size than the tour's");
       add_json(app, o->json, {{"list", ""}}, "for programs: everything the registry knows");
       app.add_flag("--markdown", o->markdown, "a table of the labs, for a page");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::list_command
