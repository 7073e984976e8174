// What learners hand in, and a folder of it graded.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

/// The text of an export: name, date, machine, progress, work files, and a digest over all of it. The digest tells that a file
/// was changed by mistake or by hand; it does not tell who made it. A grade never rests on it: everything is run again.
std::string export_text(const std::filesystem::path& work, const std::string& name);

struct Submission {
  std::string name;
  std::map<std::string, std::string> files;  // by their place in a work folder, "01_vector_add/02.cpp"
  std::string machine;                       // fingerprint of the learner's; may be empty
  bool changed = false;                      // an export whose digest is missing or does not match
  std::string problem;                       // why nothing of it can be graded; may be empty
};

/// Every *.json (an export) and every folder (a work folder) of `folder`, by name. Links are not followed.
std::vector<Submission> submissions_in(const std::filesystem::path& folder);

struct GradeOptions {
  std::vector<const Step*> steps;
  double threshold = 0;  // speedup over the parent that passes; 0: what the step asks
  double seconds = 30;   // for each stage
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

/// Grades every submission at every step, each compiled and run in processes of its own that see nothing else. Throws
/// std::runtime_error where this machine cannot confine them.
std::vector<Grade> grade(const std::vector<Submission>& submissions, const GradeOptions& options);

std::string grades_csv(const std::vector<Grade>& grades);

}  // namespace klab
