// What Nsight Compute counted of one call on a GPU, beside what the host counted of the same call.
//
// klab trace VARIANT --metrics says what to ask for, --on-gpu makes the call that is watched, --counters FILE compares.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/cli/trace_text.h"
#include "harness/records/bound.h"
#include "harness/records/ncu_csv.h"

namespace klab {

struct ComparedCounter {
  std::string words;  // "global load sectors/request"
  double host = 0, gpu = 0;
  /// Rates, of a request, must agree to the digit that is shown; of `least` the GPU's must not be less.
  enum class Kind { count, rate, least } kind = Kind::count;
  std::optional<double> compiled =
      {};             // as nvcc compiled the kernel, where that is known: then this is compared
  bool part = false;  // the GPU's is one of two counters, of which the other was not asked for
  bool judged() const { return kind != Kind::count && !part; }
  bool agrees() const;
};

/// What the GPU counted of that call, in the text of a file as read_gpu_record() takes it, or of a profiler's run over this variant
/// alone. Throws std::invalid_argument where the file is about other variants or another size.
std::map<std::string, double> counters_of(const LabOp& op, const CountedRun& run, const std::string& text,
                                          const std::string& file);

/// Throws std::invalid_argument naming the metric that `gpu` lacks.
std::vector<ComparedCounter> compare_counters(const CountedRun& run, const std::map<std::string, double>& gpu,
                                              const std::string& file);

inline constexpr const char* kDramWords = "bytes of DRAM (host: compulsory)";
/// Appends the time that the launches took beside the least that the model of that GPU needs, and bytes of DRAM beside those that
/// the contract calls compulsory, where the GPU's are there. Nanoseconds and bytes: ncu --print-units base.
void compare_bound(const CountedWork& work, const simt::GpuModel& model,
                   const std::map<std::string, double>& gpu, std::vector<ComparedCounter>& list);

/// What --metrics names: all that is compared, registers, shared memory and occupancy.
std::set<std::string> metrics_of(const CountedRun& run);
/// The same of a kernel that does all that can be counted.
std::set<std::string> all_metrics();

std::string compared_text(const std::string& variant, const std::vector<ComparedCounter>& list);
nlohmann::ordered_json compared_json(const std::string& variant, const std::vector<ComparedCounter>& list);

}  // namespace klab
