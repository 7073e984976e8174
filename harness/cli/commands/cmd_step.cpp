// klab step: the learner's path, one rung at a time.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/listing_actions.h"
#include "harness/cli/number_option.h"
#include "harness/cli/site/step_live.h"
#include "harness/cli/step_actions.h"
#include "harness/cli/step_path.h"
#include "harness/cli/step_text.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/step/judge.h"
#include "harness/step/learner.h"
#include "harness/step/sandbox.h"
#include "harness/step/submissions.h"
#include "harness/step/work_file.h"
#include "harness/web/port.h"

namespace klab::step_command {
namespace {

struct Options {
  std::string step;
  std::string judge, confine;  // used when it starts itself
  bool check = false, watch = false, solution = false, restart = false, undo = false, every = false,
       no_time = false, evidence = false, paged = false;
  std::string answer;
  std::string page;  // empty, or a port
  StepCheckOptions how;
  int hint = 0;
  std::string export_to, name;
  std::string grade;
  std::vector<std::string> graded;
  double threshold = 0;
  int64_t megabytes = 2048;
  std::string out;
};

int export_work(const Options& o) {
  require_writable_file(o.export_to);
  const char* user = std::getenv("USER");
  const std::string name = !o.name.empty() ? o.name : user != nullptr ? user : "somebody";
  write_file(o.export_to, export_text(work_folder(), name));
  std::string held;
  for (const Step& step : steps())
    if (std::filesystem::is_regular_file(work_path(step))) held += (held.empty() ? "" : ", ") + step.name;
  fmt::print("{} holds your files of {}, and your progress, with a digest over all\n", o.export_to, held);
  return exit_ok;
}

int grade_folder(const Options& o) {
  if (!o.out.empty()) require_writable_file(o.out);
  if (o.graded.empty()) throw std::invalid_argument("say which steps to grade: --steps 01.02,03.cuda.02");
  GradeOptions g{.threshold = o.threshold,
                 .seconds = o.how.seconds,
                 .bytes = o.megabytes * 1000000,
                 .seed = settings().seed,
                 .threads = settings().threads,
                 .time = !o.no_time};
  for (const std::string& name : o.graded) g.steps.push_back(&find_step(name));
  Progress progress;
  g.progress = [&](const std::string& doing) { progress.show(doing); };
  const auto grades = grade(submissions_in(o.grade), g);
  progress.clear();
  Table table({{"name"}, {"step"}, {""}, {"over parent", Column::Kind::right}, {"outcome"}, {""}});
  int failed = 0;
  for (const Grade& r : grades) {
    failed += r.passed ? 0 : 1;
    const auto& over = r.answer.speed.over_parent;
    table.add({r.name, r.step, Cell(r.passed ? "passed" : "NOT", r.passed ? Ink::green : Ink::red),
               over ? fmt::format("{:.2f}", over->value) : "", name_of(r.answer.outcome),
               Cell(r.answer.text + (r.remark.empty() ? "" : " (" + r.remark + ")"), Ink::dim)});
  }
  fmt::print("{}{} graded, {} not passed\n", table.text(), grades.size(), failed);
  if (!o.out.empty()) write_file(o.out, grades_csv(grades));
  return failed > 0 ? exit_failed : exit_ok;
}

int show(const Step& step, int hint) {
  const bool fresh = start_work(step);
  change_progress(work_folder(), [&](ProgressBook& b) {
    b.last = step.own->id;
    StepRecord& r = b.steps[step.own->id];
    r.hints = std::max(r.hints, hint);
  });
  fmt::print("{}\n", step_text(step, hint));
  fmt::print("{}", fitted(fmt::format(
                       "{} {}\nThen: klab step --check {}   (or --watch, which repeats on every save)\n",
                       fresh ? "Started:" : "Your file:", work_path(step).string(), step.name)));
  return exit_ok;
}

/// Returns the lab's id if the name means one: "07", "7", "07_normalization", "normalization". Empty if it does not.
std::string lab_named(const std::string& name) {
  for (const Lab& lab : labs())
    if (name == lab.id || name == lab.id.substr(0, 2) || "0" + name == lab.id.substr(0, 2) ||
        name == lab.id.substr(3))
      return lab.id;
  return "";
}

/// A faulty listing in place of a step.
int run_listing(const Options& o) {
  const Listing& listing = find_listing(o.step);
  if (o.watch || o.paged || o.undo || o.hint > 0 || o.every)
    throw std::invalid_argument(fmt::format(
        "{} is a listing: --watch, --page, --undo, --hint and --every are for steps, leave them out",
        o.step));
  if (o.restart) return restart_listing(listing);
  if (o.solution) return show_repair(listing);
  if (!o.answer.empty()) return answer_listing(listing, o.answer);
  if (o.evidence) return show_evidence(listing, o.how);
  return o.check ? check_repair(listing, o.how) : show_listing(listing);
}

int run(Options& o) {
  if (!o.confine.empty()) become_confined(o.confine);
  if (!o.judge.empty()) return judge(job_from_text(read_text(o.judge)));
  o.how.time = !o.no_time;
  if (!o.grade.empty()) return grade_folder(o);
  if (!o.export_to.empty()) return export_work(o);
  if (o.every) return check_every_step(o.step, o.how);
  if (is_listing(o.step)) return run_listing(o);
  if (!o.answer.empty() || o.evidence)
    throw std::invalid_argument("--answer and --evidence are for faulty listings: klab step 14.fault.01");
  const int port =
      o.paged ? port_from(o.page, "--page", kStepPort, "; the step's name comes before --page") : 0;
  const bool acts = o.check || o.watch || o.paged || o.solution || o.restart || o.undo;
  if (!acts && (o.step.empty() || !lab_named(o.step).empty())) return show_path(lab_named(o.step));
  if (o.step.empty()) {
    // The step worked on last.
    const ProgressBook book = read_progress(work_folder());
    if (book.last.empty()) throw std::invalid_argument("which step? klab step lists them");
    o.step = book.last;
  }
  const Step& step = find_step(o.step);
  if (o.restart) return restart_step(step);
  if (o.undo) return undo_step(step);
  if (o.solution) return show_solution(step);
  if (o.paged) return serve_step(step, o.how, port);
  if (o.watch) return watch_step(step, o.how);
  if (o.check) return check_step(step, o.how);
  return show(step, o.hint);
}

void add_options(CLI::App& app, Options& o) {
  app.add_option("step", o.step, "LAB.NN, LAB.cuda.NN, LAB.OP.NN or LAB.fault.NN; a lab for its steps")
      ->option_text("[STEP]");
  app.add_flag("--check", o.check, "compile, check and time your file (STEP: the last one, if left out)");
  app.add_flag("--watch", o.watch, "the same, again on every save");
  app.add_option(
         "--page", o.page,
         fmt::format(
             "the same as a page of the step on 127.0.0.1, with counts and trace; a port behind it (default "
             "{}, or the next free one)",
             kStepPort))
      ->expected(0, 1)
      ->option_text("[PORT]");
  add_number(app, "--hint", o.hint, range::hints, "with the hints up to this one");
  app.add_flag("--solution", o.solution, "the way from the parent to klab's rung");
  app.add_flag("--restart", o.restart, "move your file aside and begin again");
  app.add_flag("--undo", o.undo, "move your file aside and take back the last one that passed");
  app.add_option("--answer", o.answer, "of a faulty listing: the line at fault, and the kind of fault")
      ->type_name("LINE:KIND");
  app.add_flag("--evidence", o.evidence, "of a faulty listing: run it, and show what is found");
  app.add_flag("--no-time", o.no_time, "--check without timing");
  add_json(app, o.how.json, {{"step", "--check STEP"}}, "--check for programs");
  add_number(app, "--seconds", o.how.seconds, range::stage_seconds,
             "longest that one stage of a check may take (default: 60)");
  app.add_option("--export", o.export_to, "write your work into this file, to hand in")->group("Courses");
  app.add_option("--name", o.name, "--export: who you are (default: $USER)")->group("Courses");
  app.add_option("--grade", o.grade, "grade a folder of exports, or of work folders")->group("Courses");
  app.add_option("--steps", o.graded, "--grade: these steps")->delimiter(',')->group("Courses");
  add_number(app, "--threshold", o.threshold, range::threshold,
             "--grade: speedup over the parent that passes")
      ->group("Courses");
  add_number(app, "--memory", o.megabytes, range::megabytes,
             "--grade: MB a submission may take (default: 2048)")
      ->group("Courses");
  app.add_option("--out", o.out, "--grade: the table as CSV")->group("Courses");
  app.add_option("--with", o.how.with, "--check klab's own file instead: own or parent")
      ->group("For klab's developers");
  app.add_flag("--every", o.every,
               "--with ... at every step (STEP: those whose name begins so): has each the answer it should?")
      ->group("For klab's developers");
  app.add_option("--judge", o.judge)->group("");
  app.add_option("--confine", o.confine)->group("");
}

KLAB_COMMAND(
    {.name = "step",
     .summary = "The learner's path: make a rung yourself, with text, hints and an answer",
     .details = "klab step                  where you are\n"
                "klab step 03.02            start that step: its text, and a file to work in\n"
                "klab step --check 03.02    does it compile, is it right, is it safe, is it faster\n"
                "klab step 03.02 --page     the same on every save, as a page of this machine\n"
                "klab step 03.02 --hint 1   stuck?\n"
                "klab step 14.fault.01      a kernel that looks right: find the fault, name it, repair it\n"
                "Exit codes: 0 passed, or right and not timed (--no-time); 1 not yet; 2 bad input.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       add_options(app, *o);
       return [o, &app] {
         o->paged = app.count("--page") > 0;
         return run(*o);
       };
     }});

}  // namespace
}  // namespace klab::step_command
