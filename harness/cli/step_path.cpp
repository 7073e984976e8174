#include "harness/cli/step_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/listing_actions.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/step/learner.h"
#include "harness/step/lesson.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

/// Returns the labs with steps in the order of the table in labs/README.md; labs that it does not name come last.
std::vector<const Lab*> path() {
  std::string page;
  const fs::path file = source_root() / "labs/README.md";
  if (!source_root().empty() && fs::exists(file)) page = read_text(file);
  std::vector<std::pair<size_t, const Lab*>> order;
  for (const Lab& lab : labs())
    if (!steps_of(lab).empty()) order.emplace_back(page.find("](" + lab.id + "/README.md)"), &lab);
  std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
  std::vector<const Lab*> list;
  for (const auto& [at, lab] : order) list.push_back(lab);
  return list;
}

class Progressed {
 public:
  Progressed() : book_(read_progress(work_folder())) {
    if (!book_.note.empty()) fmt::print(stderr, "klab: {}\n", book_.note);
  }

  const StepRecord* of(const Step& s) const {
    const auto at = book_.steps.find(s.own->id);
    return at == book_.steps.end() ? nullptr : &at->second;
  }
  const ProgressBook& book() const { return book_; }
  bool done(const Step& s) const { return of(s) != nullptr && of(s)->done; }
  bool tried(const Step& s) const { return of(s) != nullptr && of(s)->tries > 0 && !of(s)->done; }

  const Step* next_in(const Lab& lab) const {
    const auto list = steps_of(lab);
    const auto open = std::ranges::find_if(list, [&](const Step* s) { return !done(*s); });
    return open == list.end() ? nullptr : *open;
  }

  /// Returns the first step that is not done, from the lab worked on last along the path, then from the path's begin.
  const Step* next(const std::vector<const Lab*>& labs) const {
    const auto last = std::ranges::find_if(steps(), [&](const Step& s) { return s.own->id == book_.last; });
    const Lab* here = last == steps().end() ? nullptr : last->lab;
    const auto from = std::ranges::find(labs, here);
    for (auto lab = from; lab != labs.end(); ++lab)
      if (const Step* s = next_in(**lab)) return s;
    for (const Lab* lab : labs)
      if (const Step* s = next_in(*lab)) return s;
    return nullptr;
  }

 private:
  ProgressBook book_;
};

std::string title_of(const Step& step) {
  try {
    return lesson_of(step).title;
  } catch (const std::exception&) {
    return "";  // the list does without the lessons
  }
}

std::string shortened(const std::string& text, int columns) {
  if (columns_of(text) <= columns) return text;
  std::string out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && columns_of(out) + 1 >= columns) break;
    out += c;
  }
  return out + "…";
}

fs::path passing(const Step& step) { return work_path(step).string() + ".passed"; }

/// Returns the files that were moved aside or kept next to a step's work file.
std::vector<std::string> kept_of(const Step& step) {
  std::vector<std::string> list;
  const std::string name = work_path(step).filename().string();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(work_path(step).parent_path(), error)) {
    const std::string other = entry.path().filename().string();
    if (other.starts_with(name + ".old") || other == name + ".passed") list.push_back(other);
  }
  std::ranges::sort(list);
  return list;
}

void print_lab(const Lab& lab, const Progressed& progress) {
  const auto list = steps_of(lab);
  size_t widest = 0;
  std::vector<std::string> states;
  for (const Step* s : list) {
    widest = std::max(widest, s->name.size());
    const StepRecord* r = progress.of(*s);
    std::string state = r == nullptr || r->tries == 0 ? "" : r->done ? "done" : r->outcome;
    if (r != nullptr && r->best_ratio > 0) state += fmt::format(", best {:.2f}x", r->best_ratio);
    states.push_back(std::move(state));
  }
  const auto state = std::ranges::max_element(states, {}, &std::string::size);
  const int left =
      std::min(paper().width, 100) - int(widest) - 4 - (state->empty() ? 0 : int(state->size()) + 2);
  for (size_t k = 0; k < list.size(); ++k) {
    const std::string title = shortened(title_of(*list[k]), left);
    std::string line = fmt::format("  {:<{}}  {}", list[k]->name, widest, title);
    if (!states[k].empty())
      line += std::string(size_t(std::max(0, left - columns_of(title))) + 2, ' ') +
              inked(states[k], progress.done(*list[k]) ? Ink::green : Ink::dim);
    fmt::print("{}\n", line);
  }
  for (const Listing& l : listings())
    if (l.lab == lab.id) {
      const std::string found = state_of(l, progress.book());
      fmt::print("  {}  find the fault: {}{}\n", l.name, l.title,
                 found.empty() ? "" : "  " + inked(found, Ink::green));
    }
  std::string kept;
  for (const Step* s : list)
    for (const std::string& name : kept_of(*s)) kept += (kept.empty() ? "" : ", ") + name;
  if (!kept.empty())
    fmt::print("{}", fitted(fmt::format("kept in {}: {}\n", (work_folder() / lab.id).string(), kept)));
}

void print_labs(const std::vector<const Lab*>& labs, const Progressed& progress) {
  for (const Lab* lab : labs) {
    const auto list = steps_of(*lab);
    const auto done = std::ranges::count_if(list, [&](const Step* s) { return progress.done(*s); });
    const auto tried = std::ranges::count_if(list, [&](const Step* s) { return progress.tried(*s); });
    const std::string line = fmt::format("{:<22} {:>2} of {:>2} done{:>9}  ", lab->id, done, list.size(),
                                         tried > 0 ? fmt::format(", {} tried", tried) : "");
    fmt::print("{}{}\n", inked(line, done > 0 || tried > 0 ? Ink::bold : Ink::plain),
               shortened(lab->title, std::min(paper().width, 100) - columns_of(line)));
  }
}

}  // namespace

int show_path(const std::string& lab) {
  const Progressed progress;
  const auto all = path();
  const Lab* one = lab.empty() ? nullptr : &select_lab(lab);
  const Step* next = nullptr;
  if (one != nullptr) {
    if (steps_of(*one).empty()) {
      fmt::print("{}: {}\nIt has no steps to make: klab explain {}\n", one->id, one->title,
                 one->id.substr(0, 2));
      return exit_ok;
    }
    fmt::print("{}  {}\n", inked(one->id, Ink::bold), one->title);
    print_lab(*one, progress);
    next = progress.next_in(*one);
  } else {
    print_labs(all, progress);
  }
  if (next == nullptr) next = progress.next(all);
  if (next != nullptr)  // the list of all labs has to fit 20 lines
    fmt::print("{}{} klab step {}   {}{}\n", one == nullptr ? "" : "\n", inked("Next:", Ink::bold),
               next->name, shortened(title_of(*next), one == nullptr ? 26 : 40),
               one == nullptr ? "   (of a lab: klab step NN)" : "");
  return exit_ok;
}

void keep_passing(const Step& step) {
  std::error_code error;
  fs::copy_file(work_path(step), passing(step), fs::copy_options::overwrite_existing, error);
  if (error) fmt::print(stderr, "klab: {} is not kept: {}\n", work_path(step).string(), error.message());
}

int undo_step(const Step& step) {
  if (!fs::exists(passing(step)))
    throw std::runtime_error(
        fmt::format("no passing file of step {} was kept: {} keeps it when klab step --check "
                    "passes",
                    step.name, passing(step).string()));
  move_aside(step);
  fs::copy_file(passing(step), work_path(step));
  fmt::print("{}", fitted(fmt::format("taken back, as it passed last: {}\n", work_path(step).string())));
  return exit_ok;
}

void move_aside(const Step& step) {
  const fs::path file = work_path(step);
  if (!fs::exists(file)) return;
  fs::path kept = file.string() + ".old";
  for (int k = 2; fs::exists(kept); ++k) kept = file.string() + ".old" + std::to_string(k);
  fs::rename(file, kept);
  fmt::print("{}", fitted(fmt::format("kept: {}\n", kept.string())));
}

}  // namespace klab
