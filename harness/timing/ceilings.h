// What this machine can do at most, measured in the process that measures the kernels.
//
// Kinds of ceiling: arithmetic (fused multiply-adds), values of functions that processors have no full-rate
// instruction for (transcendental, division, square root), moving bytes in order (read; copy; 2:1, which is two
// reads for each write; update, which writes where it read), and random reads of a table (gather). Memory by where
// the data are, all by number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/timing/machine.h"

namespace klab {

enum class CeilingKind {
  fma_f32,
  fma_f64,
  transcendental,  // float, by exp
  division,        // float, as the next
  root,
  read,
  copy,
  copy_2_to_1,
  update,
  gather4,
  gather8
};

/// Those that are a matter of registers, in the order in which they are shown.
inline constexpr std::array kArithmeticCeilings = {CeilingKind::fma_f32, CeilingKind::fma_f64,
                                                   CeilingKind::transcendental, CeilingKind::division,
                                                   CeilingKind::root};

/// Those that each level of memory has of its own, in the order in which they are shown.
inline constexpr std::array kMemoryCeilings = {CeilingKind::copy,    CeilingKind::copy_2_to_1,
                                               CeilingKind::update,  CeilingKind::read,
                                               CeilingKind::gather4, CeilingKind::gather8};

/// "fma f32", "division f32", "copy", "gather 8 B".
const char* name_of(CeilingKind kind);

/// What a ceiling counts a second of: "FLOP/s", "values/s" of functions, "B/s".
const char* unit_of(CeilingKind kind);
/// The same of a ceiling that a row names: "copy L2", "transcendental f32". Names of other builds count as bytes.
const char* unit_of(const std::string& ceiling);
/// "GFLOP/s", "Gvalues/s" or "GB/s".
std::string giga_unit_of(const std::string& ceiling);

/// One measured ceiling.
struct Ceiling {
  CeilingKind kind = CeilingKind::fma_f32;
  int level = 0;            // 1..3: fits that cache; 4: memory; 0: a matter of arithmetic
  int64_t working_set = 0;  // bytes, all threads together
  /// Of random reads: powers of two up to working_set; empty: one of that size.
  std::vector<TableShare> tables = {};
  int threads = 1;
  /// FLOP/s, values/s, bytes/s (read + written), or for gathers useful bytes/s; ceiling_of() several samples.
  double per_second = 0;
  std::string
      method;  // what reached it: "polynomial", "plain stores", "scalar loads", "streaming stores, flushed"
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

/// "fma f32", "copy L2", "gather 8 B memory".
std::string name_of(const Ceiling& ceiling);
std::string level_name(int level);

/// Returns the ceiling that samples of a rate show. For memory it is the quickest: other programs only take bandwidth away, and a
/// kernel that they spare must not come out above what the machine can do. For arithmetic (level 0) it is the median: a clock that is
/// raised for a moment is no rate to be held to. Throws std::invalid_argument when empty or not finite.
double ceiling_of(int level, std::span<const double> per_second);

struct CeilingOptions {
  bool quick = true;  // about 3 s: 1 thread and all; else also 2, 3, 4, 8, 16, ... and longer samples
};

struct Ceilings {
  std::vector<Ceiling> list;
  std::vector<std::string> not_measured;  // "bf16 dot: ...", with the reason
  /// Null when that one was not measured.
  const Ceiling* find(CeilingKind kind, int level, int threads) const;
};

/// Measured at the first call of the process; a full measurement replaces a quick one.
const Ceilings& ceilings(const CeilingOptions& options = {});
nlohmann::json to_json(const Ceilings& ceilings);

/// The level at which an op works: the smallest cache that holds its footprint when hot; memory when cold.
int level_of(const Machine& machine, int64_t footprint, Cache cache, int threads);

/// What that much work is in the unit of a kind: FLOP, values, bytes moved in order, or bytes gathered.
double work_of(CeilingKind kind, const Cost& cost);

/// How many operations a lane of float's widest instructions does in their place: as the contract says (Cost::flops_per_lane), or
/// 2 or 4 where a rung multiplies numbers of 16 or 8 bits for a contract in float.
double operations_per_lane(const Numerics& numerics, const Cost& cost);

/// One resource that an op needs, and how much of it.
struct Roof {
  Ceiling ceiling;  // per_second not yet filled
  double work = 0;  // of one call, in the ceiling's unit; above 0
};

/// All resources that an op needs at a shape: multiply-adds, transcendentals, divisions, roots, random reads of its
/// tables, and its bytes in the order of LabOp::traffic at the level where its tensors lie. The time of a call is at
/// least the largest of work over rate; that resource binds. Empty for an op whose traffic is unknown.
std::vector<Roof> roofs_of(const LabOp& op, const BenchShape& shape, int threads);

/// Whether a ceiling of memory has arrays that the last-level caches of `machine` may hold, so that they have to be flushed
/// before each pass. Memory for these does not grow with the caches.
bool within_caches(const Machine& machine, const Ceiling& ceiling);

struct MoveOperands;

/// Measures one ceiling again and again, so that it can be sampled in the same rounds as the kernels.
class CeilingSampler {
 public:
  explicit CeilingSampler(const Ceiling& which);
  /// For copy and copy_2_to_1: over these arrays in turn, a pass over one of them for each of the next. What a byte
  /// of memory costs depends on the pages that hold it, so kernels are compared with a copy on their own. `turn`
  /// counts the passes and says whose turn it is; kernels that use the arrays count in it, too. It must outlive this.
  CeilingSampler(const Ceiling& which, std::vector<MoveOperands> arrays, size_t& turn);
  ~CeilingSampler();
  CeilingSampler(const CeilingSampler&) = delete;
  CeilingSampler& operator=(const CeilingSampler&) = delete;
  /// Units per second over about that long; of memory in the quickest third of it (ceiling_of()).
  double sample(double seconds);
  const std::string& method() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The roofline (Williams, Waterman, Patterson 2009): FLOP/s that `intensity` FLOP/byte can reach.
double attainable(double flops_peak, double intensity, double bytes_per_second);

}  // namespace klab
