// Learners' submissions, and grading a folder of them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

/// Returns the text of an export: name, date, machine, progress, work files, and a digest over all of it. The
/// digest reveals that a file was changed, by accident or by hand. It does not prove who made the file.
/// Grades never rely on it: everything is run again.
std::string export_text(const std::filesystem::path& work, const std::string& name);

struct Submission {
  std::string name;
  std::map<std::string, std::string> files;  // by path in a work folder, "01_vector_add/02.cpp"
  std::string machine;                       // fingerprint of the learner's machine; may be empty
  bool changed = false;                      // an export whose digest is missing or wrong
  std::string problem;                       // reason why nothing in it can be graded; may be empty
};

/// Returns every *.json (an export) and every subfolder (a work folder) of `folder`, by name. Links are not
/// followed.
std::vector<Submission> submissions_in(const std::filesystem::path& folder);

struct GradeOptions {
  std::vector<const Step*> steps;
  double threshold = 0;  // speedup over the parent needed to pass; 0: the step's own
  double seconds = 30;   // limit for each stage
  int64_t bytes = int64_t(2) << 30;
  uint64_t seed = 1;
  int threads = 0;
  bool time = true;
  std::function<void(const std::string&)> progress;
};

struct Grade {
  std::string name, step;
  Answer answer;
  bool passed = false;
  std::string remark;  // "2.00 asked", "changed since its export"
};

/// Grades every submission at every step. Each file is compiled and run in processes of its own that can see
/// nothing else. Throws std::runtime_error if this machine cannot confine them.
std::vector<Grade> grade(const std::vector<Submission>& submissions, const GradeOptions& options);

std::string grades_csv(const std::vector<Grade>& grades);

}  // namespace klab
