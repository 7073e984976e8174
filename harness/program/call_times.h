// How long rungs take at a shape: rows recorded on this machine, what this program measured before, or a short measurement
// now, in whose place variants of a plan may stand in.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/timing/flush.h"

namespace klab {

/// The time of one call of a variant.
struct CallTime {
  std::string variant;
  std::vector<int64_t> shape;
  int threads = 0;
  double seconds = 0;  // infinity: it was far slower than another one, and not timed to the end
};

/// A call that a program makes again and again.
struct PlannedCall {
  std::string op;
  std::vector<int64_t> shape;
  std::string size;  // "32768 samples", printed
  double times = 1;  // a step; 0: must be possible, but does not decide which variant is best
  std::vector<std::string> given = {};  // optional tensors of the contract that the program has
};

class CallTimes {
 public:
  struct Measured {
    Measured(std::vector<double> s, double o = 0)
        : seconds(std::move(s)), others(o) {}  // NOLINT: also implicitly
    std::vector<double> seconds;               // a call of each variant, in order
    double others = 0;                         // hardware threads that other programs kept busy meanwhile
    std::string gave_up;  // of a cold measurement, where memory was too short; see BenchInputs
  };
  /// Measures variants of one op at one shape, with the threads that OpenMP uses.
  using Measure = std::function<Measured(const std::string& op, const std::vector<int64_t>& shape,
                                         std::span<const Variant* const> variants)>;

  struct Sources {
    std::filesystem::path recorded;  // rows as `klab bench --csv` writes them; missing or empty: none
    std::filesystem::path cache;     // what was measured before, by this build; renewed; empty: not kept
    Measure measure;                 // empty: measure_calls
    std::function<void(const std::string&)> note;      // what the user should know; may be empty
    std::function<void(const std::string&)> progress;  // what is being measured, "" at the end; may be empty
  };

  CallTimes() : CallTimes(Sources{}) {}
  /// A file that cannot be read is left out, and said.
  explicit CallTimes(Sources sources);
  /// Knows these and nothing else but what it measures.
  explicit CallTimes(std::vector<CallTime> recorded, Measure measure = {});

  struct Fastest {
    const Variant* variant = nullptr;
    double seconds = 0;  // of all calls of a step; 0: a variant that stands in
    std::string why;     // "fastest of 5 at 32768 samples (measured now)"
  };
  /// The variant that takes the least time for all calls (of one op) together, each as often as it is planned. One
  /// source must know every variant at every shape; times of different sources are not compared. Never empty lists.
  Fastest fastest(std::span<const PlannedCall> calls, std::span<const Variant* const> variants);

  /// Takes these variants, by op, instead of measuring an op of which no times are known. `whose` names them in
  /// Fastest::why.
  void stand_in(std::map<std::string, std::string> variants, std::string whose) {
    stand_ins_ = std::move(variants);
    whose_ = std::move(whose);
  }
  /// Returns how many of fastest()'s answers were such variants.
  int stood_in() const { return stood_in_; }

  /// Limits the memory of copies that measure_calls makes of cold operands, in place of kMostColdBytes. What is given up is
  /// noted once.
  void limit_cold_copies(int64_t bytes) { cold_bytes_ = bytes; }

 private:
  struct Source {
    std::string words;  // "recorded"
    std::vector<CallTime> times;
  };
  void read_recorded();
  void read_cache();
  void write_cache();
  void note(const std::string& text) const;
  void progress(const std::string& text) const;

  Measured measure(const PlannedCall& call, std::span<const Variant* const> variants);

  Sources sources_;
  int64_t cold_bytes_ = kMostColdBytes;
  bool gave_up_ = false;                          // and noted so
  bool keep_ = true;                              // what is measured now
  std::map<std::string, std::string> stand_ins_;  // variant ids by op
  std::string whose_;
  int stood_in_ = 0;
  Source recorded_{"recorded", {}}, before_{"measured before", {}}, now_{"measured now", {}};
};

/// How the operands of a call lie when a program makes it, as far as its op tells: one that reads tables at random which L2 does not
/// hold comes when other ops have used the caches (cold), any other one comes right after what it reads was written (hot).
Cache cache_of_call(const LabOp& op, ShapeView shape);

/// Bytes that measure_calls takes for a call: its tensors as they are and as they were, and copies that fill the last cache
/// between two cold calls, within `cold_bytes`.
int64_t bytes_to_measure(const LabOp& op, ShapeView shape, int64_t cold_bytes = kMostColdBytes);

/// A short interleaved measurement, operands as cache_of_call has them: random inputs of the contract, a few rounds, of which the fastest counts,
/// since other programs can only add time. A variant that takes several times as long as the fastest one is timed
/// once, or comes back as infinity.
CallTimes::Measured measure_calls(const std::string& op, const std::vector<int64_t>& shape,
                                  std::span<const Variant* const> variants,
                                  int64_t cold_bytes = kMostColdBytes);

/// $XDG_CACHE_HOME/klab or ~/.cache/klab, and in it a file named after the machine; empty when there is no home.
std::filesystem::path call_times_cache();

}  // namespace klab
