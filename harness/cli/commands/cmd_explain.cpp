// klab explain: formats a lab's lesson, or the section of one rung.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "harness/cli/command.h"
#include "harness/cli/markdown.h"
#include "harness/cli/pager.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/report/table.h"

namespace klab::explain_command {
namespace {

struct Options {
  std::string lab;
  std::string rung;
  bool hints = false;
  bool all = false;
};

/// Returns the page without the sections of branches, with a note at its end that lists them.
std::string trunk_of_page(const Lab& lab, std::string page) {
  std::string names;
  for (const LabOp& op : lab.ops)
    for (const Variant* v : variants_of(op.op.name)) {
      if (!v->branch()) continue;
      const auto told_there = [&](const LabOp& other) {  // whether a rung of the trunk shares its name
        return std::ranges::any_of(variants_of(other.op.name), [&](const Variant* w) {
          return w->trunk() && section_name(*w) == section_name(*v);
        });
      };
      const bool shared = std::ranges::any_of(lab.ops, told_there);
      for (const std::string& name : {v->id, section_name(*v)}) {
        if (shared && name != v->id) continue;
        const std::string section = section_of(page, name);
        const size_t at = section.empty() ? page.npos : page.find(section);
        if (at == page.npos) continue;
        page.erase(at, section.size());
        names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
        break;
      }
    }
  if (names.empty()) return page;
  return page +
         fmt::format(
             "\n## Branches\n\nRungs that pay at another size than the tour's: {}. `klab explain {} --all` "
             "has their sections, `klab explain {} NAME` one of them.\n",
             names, lab.id.substr(0, 2), lab.id.substr(0, 2));
}

/// Throws "no section" with the list of sections.
[[noreturn]] void no_section(const Lab& lab, const std::string& rung, const std::string& page) {
  auto names = section_names(page);
  throw NotFound(not_found_text("section of " + lab.id, rung, names) + "\nThere are: " + [&] {
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    return all;
  }());
}

int run(const Options& o) {
  const Lab& lab = select_lab(o.lab);
  const Variant* variant = find_variant(o.lab);
  const std::string rung = !o.rung.empty() ? o.rung : variant != nullptr ? section_name(*variant) : "";
  if (source_root().empty())
    throw std::runtime_error("the lesson pages are not next to this program: set KLAB_ROOT to klab's folder");
  const auto file = source_root() / lesson_path(lab.id);
  if (!std::filesystem::exists(file)) {
    fmt::print("{}: {}\n{}\nIt has no lesson page yet ({}).\n", lab.id, lab.title, lab.question,
               lesson_path(lab.id));
    return exit_ok;
  }
  std::string page = read_text(file);
  if (!rung.empty()) {
    // If several ops of a lab have a rung of one name, the heading of its section is its id.
    std::string section = variant != nullptr && o.rung.empty() ? section_of(page, variant->id) : "";
    if (section.empty()) section = section_of(page, rung);
    if (variant != nullptr && section.empty()) section = section_of(page, variant->id);
    if (section.empty()) no_section(lab, rung, page);
    page = section;
  } else if (!o.all) {
    page = trunk_of_page(lab, page);
  }
  std::string text =
      typeset(with_code_folded(page, answers_of(lab)), {.hints = o.hints, .width = paper().width});
  if (variant != nullptr) text += fmt::format("\nIts source: {}\n", source_path(*variant));
  print_paged(text);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "explain",
     .summary = "Read a lab's lesson, or the section of one rung",
     .details = "klab explain 05          the page of lab 05\n"
                "klab explain matmul 04   its section on rung 04\n"
                "klab explain matmul --hints   with hints and the code of rungs unfolded",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("lab", o->lab, "a lab, or an op or variant of it")->required()->option_text("LAB");
       app.add_option("rung", o->rung, "a rung's number or name, or another section")->option_text("[NN]");
       app.add_flag("--all", o->all, "with the sections of branches: rungs that pay at another size");
       app.add_flag("--hints", o->hints, "unfold the hints, and the code of rungs");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::explain_command
