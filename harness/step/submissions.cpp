#include "harness/step/submissions.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/core/source.h"
#include "harness/records/export_file.h"
#include "harness/records/input.h"
#include "harness/step/learner.h"
#include "harness/step/process.h"
#include "harness/step/sandbox.h"
#include "harness/step/work_file.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uintmax_t kMostBytes = 16 << 20;

/// Makes a name safe for terminals and tables.
std::string harmless(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127 || c == ',' || c == '"') c = '_';
  return as_utf8(text.substr(0, 80));
}

Submission from_export(const fs::path& file) {
  Submission s{.name = harmless(file.stem().string())};
  try {
    const ExportFile e = read_export(read_input(file, kMostBytes), file.string());
    s.machine = harmless(e.machine);
    s.changed = !e.intact;
    s.files = e.files;
  } catch (const std::runtime_error& error) {
    s.problem =
        "no export of klab step: " + harmless(std::string(error.what()).substr(file.string().size() + 2));
  }
  return s;
}

/// Returns whether the file is a regular file below the folder, reached without links.
bool is_plainly_below(const fs::path& file, const fs::path& folder) {
  for (fs::path p = file; p != folder; p = p.parent_path()) {
    if (fs::is_symlink(fs::symlink_status(p)) || !p.has_relative_path()) return false;
  }
  return fs::is_regular_file(fs::symlink_status(file)) && fs::file_size(file) <= kMostBytes;
}

Submission from_folder(const fs::path& folder) {
  Submission s{.name = harmless(folder.filename().string())};
  for (const Step& step : steps())
    if (const fs::path file = folder / step.work; fs::exists(fs::symlink_status(file))) {
      if (is_plainly_below(file, folder))
        s.files[step.work] = read_text(file);
      else
        s.problem = step.work + " is a link, or no plain file";
    }
  return s;
}

}  // namespace

std::string export_text(const fs::path& work, const std::string& name) {
  Json files = Json::object();
  for (const Step& step : steps())
    if (fs::is_regular_file(work / step.work)) files[step.work] = read_text(work / step.work);
  if (files.empty())
    throw std::runtime_error(work.string() + " has no work file yet: klab step LAB.NN begins one");
  Json j = {
      {"klab_export", kExportVersion},      {"name", name},   {"date", now_text()},
      {"machine", to_json(this_machine())}, {"files", files}, {"progress", to_json(read_progress(work))}};
  j["digest"] = digest_of_export(j);
  return j.dump(1) + "\n";
}

std::vector<Submission> submissions_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw std::runtime_error(folder.string() + " is no folder of submissions");
  std::vector<Submission> list;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink() || entry.path().filename().string().starts_with(".")) continue;
    if (entry.is_directory()) list.push_back(from_folder(entry.path()));
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      list.push_back(from_export(entry.path()));
  }
  if (list.empty())
    throw std::runtime_error(
        folder.string() + " holds no submission: neither NAME.json (klab step --export) nor folders NAME/");
  std::ranges::sort(list, {}, &Submission::name);
  return list;
}

std::vector<Grade> grade(const std::vector<Submission>& submissions, const GradeOptions& options) {
  if (const std::string lacks = why_no_sandbox(); !lacks.empty())
    throw std::runtime_error("nothing was run: what strangers wrote is not run unconfined, and " + lacks);
  std::vector<Grade> grades;
  for (const Submission& s : submissions)
    for (const Step* step : options.steps) {
      Grade g{.name = s.name, .step = step->name};
      const auto at = s.files.find(step->work);
      if (!s.problem.empty() || at == s.files.end()) {
        g.answer.outcome = Outcome::missing;
        g.answer.text = !s.problem.empty() ? s.problem : "has no " + step->work;
        grades.push_back(std::move(g));
        continue;
      }
      const auto doing = [&](const std::string& what) {
        if (options.progress) options.progress(s.name + ", " + step->name + ": " + what);
      };
      const ScratchFolder folder;
      const fs::path file = folder.path() / fs::path(step->work).filename();
      std::ofstream(file) << at->second;
      g.answer = check_work(*step, file,
                            {.seed = options.seed,
                             .threads = options.threads,
                             .time = options.time,
                             .seconds = options.seconds,
                             .check_seconds = options.seconds / 2,
                             .bytes = options.bytes,
                             .untrusted = true,
                             .progress = doing});
      // Without timing no speed is required.
      g.passed = g.answer.passed() || (!options.time && g.answer.outcome == Outcome::untimed);
      const auto& over = g.answer.speed.over_parent;
      if (options.threshold > 0 && g.answer.safe() && over) {
        g.passed = over->value >= options.threshold && over->low > 1;
        g.remark = fmt::format("{:.2f} asked", options.threshold);
      }
      if (s.changed) g.remark += std::string(g.remark.empty() ? "" : "; ") + "changed since its export";
      grades.push_back(std::move(g));
    }
  return grades;
}

std::string grades_csv(const std::vector<Grade>& grades) {
  std::string text = "name,step,passed,outcome,over_parent,low,high,of_own,cases,seconds,remark,text\n";
  for (const Grade& g : grades) {
    const auto& over = g.answer.speed.over_parent;
    std::string why = harmless(g.answer.text);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{:.1f},{},{}\n", g.name, g.step, g.passed ? 1 : 0,
                        name_of(g.answer.outcome), over ? fmt::format("{:.3f}", over->value) : "",
                        over ? fmt::format("{:.3f}", over->low) : "",
                        over ? fmt::format("{:.3f}", over->high) : "",
                        g.answer.speed.of_own > 0 ? fmt::format("{:.3f}", g.answer.speed.of_own) : "",
                        g.answer.cases, g.answer.seconds, harmless(g.remark), why);
  }
  return text;
}

}  // namespace klab
