// What a learner has done: work/progress.json.
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
  double best_ratio = 0;             // over the parent, of tries that were right; 0: none timed
  int hints = 0;                     // the most that were looked at
  bool solution = false;             // looked at klab's answer
  std::string first_done, last_try;  // "2025-01-31T12:00:00Z", or empty
  std::string outcome;               // of the last try
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

struct ProgressBook {
  std::map<std::string, StepRecord> steps;  // by the id of klab's rung
  std::string last;                         // id of the step worked at last
  std::string note;  // what had to be done to read it: "was damaged; it is kept as ..."
};

nlohmann::json to_json(const ProgressBook& book);

/// Reads work/progress.json of that folder. None: an empty book. What cannot be read, and what another version of klab
/// wrote, is first moved aside or copied beside, never overwritten; `note` says so.
ProgressBook read_progress(const std::filesystem::path& folder);

/// Reads, changes and writes it, one klab at a time; readers never see half a file.
ProgressBook change_progress(const std::filesystem::path& folder,
                             const std::function<void(ProgressBook&)>& change);

/// Enters a try.
void enter(ProgressBook& book, const Step& step, const Answer& answer);

/// Now, in UTC: "2025-01-31T12:00:00Z".
std::string now_text();

}  // namespace klab
