// Recorded pools of trainings: reports/recorded/<machine>/<name>.quality.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/cli/quality_gate.h"

namespace klab {

struct QualityPool {
  std::string machine, commit;
  QualityTask task;
  std::vector<QualityRun> runs;
};

/// Returns the file of a pool's name or path. A name without a file of this machine means that of another machine. Throws
/// NotFound with the existing names.
std::string pool_file_of(const std::string& name);
/// Returns the file that --baseline NAME writes. Throws std::invalid_argument for a bad name.
std::string new_pool_file_of(const std::string& name);

/// Reads a pool. Throws std::runtime_error naming file, field and remedy.
QualityPool read_pool(const std::string& file);
/// Writes it whole or not at all.
void write_pool(const std::string& file, const QualityPool& pool);

/// Returns the field in which two pools differ so that they cannot be compared: "steps: 400 and 500"; empty if they can.
/// Settings in `changes` may differ, since they may be what is compared; machines only if lengths are steps.
std::string why_not_comparable(const QualityPool& base, const QualityPool& fresh);

/// Describes a length: "12 s", "400 steps".
std::string length_text(const QualityTask& task);

}  // namespace klab
