#include "harness/cli/listing_actions.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/check/failure_text.h"
#include "harness/cli/command.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/step/process.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

std::string key_of_naming(const Listing& l) { return l.name + ":named"; }
std::string key_of_repair(const Listing& l) { return l.name + ":repaired"; }

/// Records a try at one half of a listing.
void record(const std::string& key, bool done, const std::string& outcome) {
  const auto book = change_progress(work_folder(), [&](ProgressBook& b) {
    StepRecord& r = b.steps[key];
    ++r.tries;
    r.last_try = now_text();
    r.outcome = outcome;
    if (done && !r.done) r.first_done = r.last_try;
    r.done = r.done || done;
  });
  if (!book.note.empty()) fmt::print(stderr, "klab: {}\n", book.note);
}

Answer ask_about(const Listing& l, const fs::path& file, const StepCheckOptions& o) {
  Progress progress;
  return check_listing(l, file,
                       {.seed = settings().seed,
                        .threads = settings().threads,
                        .seconds = o.seconds,
                        .progress = [&](const std::string& doing) { progress.show(l.name + ": " + doing); }});
}

std::string what_was_found(const Answer& a) {
  if (!a.compiles() && !a.compiled.message.empty()) return a.compiled.message;
  return a.failure ? failure_text(*a.failure) : a.text;
}

/// Says what is left of a listing.
void print_next(const Listing& l) {
  const std::string state = state_of(l, read_progress(work_folder()));
  if (state == "done")
    fmt::print("{} is done: named and repaired.\n", l.name);
  else if (state == "named")
    fmt::print("Left: repair it, then klab step --check {}\n", l.name);
  else if (state == "repaired")
    fmt::print("Left: name it, klab step {} --answer LINE:KIND\n", l.name);
}

/// Checks klab's repair, or the listing as it was, and records nothing.
int check_own_repair(const Listing& l, const StepCheckOptions& o) {
  if (o.with != "own" && o.with != "parent") throw std::invalid_argument("--with takes own or parent");
  const ScratchFolder folder;
  const fs::path file = folder.path() / "listing.cu";
  std::ofstream(file) << (o.with == "own" ? l.repaired : l.text);
  const Answer a = ask_about(l, file, o);
  fmt::print("{}: {}\n", name_of(a.outcome), what_was_found(a));
  return a.passed() ? exit_ok : exit_failed;
}

}  // namespace

std::string state_of(const Listing& l, const ProgressBook& book) {
  const auto done = [&](const std::string& key) {
    const auto at = book.steps.find(key);
    return at != book.steps.end() && at->second.done;
  };
  const bool naming = done(key_of_naming(l)), repair = done(key_of_repair(l));
  return naming && repair ? "done" : naming ? "named" : repair ? "repaired" : "";
}

int show_listing(const Listing& l) {
  const bool fresh = start_listing(l);
  fmt::print("{}\n{}", inked(fmt::format("{}  {}", l.name, l.title), Ink::bold),
             fitted("Claim: " + l.claim + ".\n"));
  fmt::print(
      "{}",
      fitted("It looks right, and does not do what it says: find the line, name the fault, repair it.\n"));
  Table table({{"kind"}, {"means"}});
  table.indent(2);
  for (const ListingKind& k : listing_kinds()) table.add({k.name, k.meaning});
  fmt::print(
      "{}{}", table.text(),
      fitted(fmt::format(
          "{} {}\nThen: klab step {} --answer LINE:KIND   (--evidence shows what a run finds), and with "
          "your repair klab step --check {}\n",
          fresh ? "Written:" : "Your file:", work_path(l).string(), l.name, l.name)));
  print_next(l);
  return exit_ok;
}

int answer_listing(const Listing& l, const std::string& answer) {
  const Naming n = named(l, answer);
  record(key_of_naming(l), n.good(), n.good() ? "named" : "not yet");
  if (!n.good()) {
    fmt::print("{} {}\n", inked("not yet:", Ink::red),
               n.line   ? "that line is at fault, the kind is another"
               : n.kind ? "there is such a fault, on another line"
                        : "neither that line nor that kind");
    return exit_failed;
  }
  fmt::print("{} {}", inked("right.", Ink::green), fitted(l.why + "\n"));
  print_next(l);
  return exit_ok;
}

int show_evidence(const Listing& l, const StepCheckOptions& o) {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "listing.cu";
  std::ofstream(file) << l.text;
  const Answer a = ask_about(l, file, o);
  if (a.outcome == Outcome::harness) throw std::runtime_error(a.text);
  fmt::print("{}: {}\n", inked(name_of(a.outcome), Ink::bold), what_was_found(a));
  return exit_ok;
}

int check_repair(const Listing& l, const StepCheckOptions& o) {
  if (o.json) throw std::invalid_argument(l.name + " is a listing: --json is for steps, leave it out");
  if (!o.with.empty()) return check_own_repair(l, o);
  const fs::path file = work_path(l);
  if (!fs::exists(file))
    throw std::runtime_error(fmt::format("there is no {}: klab step {} writes it", file.string(), l.name));
  const Answer a = ask_about(l, file, o);
  if (a.outcome == Outcome::harness) throw std::runtime_error(a.text);
  record(key_of_repair(l), a.passed(), name_of(a.outcome));
  if (a.passed())
    fmt::print("{} right and safe in {} cases\n", inked("repaired:", Ink::green), a.cases);
  else
    fmt::print("{} {}: {}\n", inked("not yet,", Ink::red), name_of(a.outcome), what_was_found(a));
  print_next(l);
  return a.passed() ? exit_ok : exit_failed;
}

int show_repair(const Listing& l) {
  fmt::print("{}{}\n", fitted(l.why + "\n"), l.kind);
  std::istringstream diff(unified_diff(l.text, l.repaired, l.work, l.work + ", repaired"));
  for (std::string line; std::getline(diff, line);)
    fmt::print("{}\n", inked(line, line.starts_with("+")   ? Ink::green
                                   : line.starts_with("-") ? Ink::red
                                   : line.starts_with("@") ? Ink::cyan
                                                           : Ink::plain));
  change_progress(work_folder(), [&](ProgressBook& b) { b.steps[key_of_repair(l)].solution = true; });
  return exit_ok;
}

int restart_listing(const Listing& l) {
  const fs::path file = work_path(l);
  if (fs::exists(file)) {
    fs::path kept = file.string() + ".old";
    for (int k = 2; fs::exists(kept); ++k) kept = file.string() + ".old" + std::to_string(k);
    fs::rename(file, kept);
    fmt::print("{}", fitted(fmt::format("kept: {}\n", kept.string())));
  }
  start_listing(l);
  fmt::print("{}", fitted(fmt::format("written again: {}\n", file.string())));
  return exit_ok;
}

}  // namespace klab
