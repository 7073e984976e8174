// A learner's progress: work/progress.json.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

struct StepRecord {
  int tries = 0;
  bool done = false;
  double best_ratio = 0;             // speedup over the parent, of correct tries; 0: none timed
  int hints = 0;                     // highest number of hints viewed
  bool solution = false;             // viewed klab's answer
  std::string first_done, last_try;  // "2025-01-31T12:00:00Z", or empty
  std::string outcome;               // of the last try
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

struct ProgressBook {
  std::map<std::string, StepRecord> steps;  // by id of klab's rung
  std::string last;                         // id of the step worked on last
  std::string note;  // what had to be done to read the file: "was damaged; it is kept as ..."
};

nlohmann::json to_json(const ProgressBook& book);

/// Reads work/progress.json of that folder; returns an empty book if there is none. A file that cannot be
/// read is first moved aside, and one from another version of klab is first copied; neither is overwritten.
/// `note` then says so.
ProgressBook read_progress(const std::filesystem::path& folder);

/// Reads, changes and writes the file. Only one klab process does so at a time, and readers never see half a
/// file.
ProgressBook change_progress(const std::filesystem::path& folder,
                             const std::function<void(ProgressBook&)>& change);

/// Records a try.
void enter(ProgressBook& book, const Step& step, const Answer& answer);

/// Returns the current time in UTC: "2025-01-31T12:00:00Z".
std::string now_text();

}  // namespace klab
