// Compares Nsight Compute's counts of one call on a GPU with the host's counts of the same call.
//
// klab trace VARIANT --metrics prints the metrics to request, --on-gpu makes the profiled call, --counters
// FILE compares.
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
  /// Rates per request must agree to the printed digit. For `least`, the GPU's value must not be less than
  /// the host's.
  enum class Kind { count, rate, least } kind = Kind::count;
  std::optional<double> compiled =
      {};             // count of the kernel as nvcc compiled it, if known; it is then compared instead
  bool part = false;  // the GPU's value is one of two counters, and the other was not requested
  bool judged() const { return kind != Kind::count && !part; }
  bool agrees() const;
};

/// Returns the GPU's counts of that call, from the text of a file as read_gpu_record() accepts it, or of a
/// profiler's run of this variant alone. Throws std::invalid_argument if the file is about other variants or
/// another size.
std::map<std::string, double> counters_of(const LabOp& op, const CountedRun& run, const std::string& text,
                                          const std::string& file);

/// Throws std::invalid_argument that names the metric missing in `gpu`.
std::vector<ComparedCounter> compare_counters(const CountedRun& run, const std::map<std::string, double>& gpu,
                                              const std::string& file);

inline constexpr const char* kDramWords = "bytes of DRAM (host: compulsory)";
/// Appends the time of the launches with the least time of that GPU model, and the DRAM bytes with the
/// contract's compulsory bytes, if the GPU's values are present. Nanoseconds and bytes: ncu --print-units
/// base.
void compare_bound(const CountedWork& work, const simt::GpuModel& model,
                   const std::map<std::string, double>& gpu, std::vector<ComparedCounter>& list);

/// Returns the metrics printed by --metrics: all that are compared, registers, shared memory and occupancy.
std::set<std::string> metrics_of(const CountedRun& run);
/// Returns the metrics for a kernel with every kind of access.
std::set<std::string> all_metrics();

std::string compared_text(const std::string& variant, const std::vector<ComparedCounter>& list);
nlohmann::ordered_json compared_json(const std::string& variant, const std::vector<ComparedCounter>& list);

}  // namespace klab
