// A lab: which ops it teaches, at which sizes they are checked and timed.
//
// labs/NN_name/lab.cpp ends with KLAB_LAB({...}); that is where an op meets the harness.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/op.h"

namespace klab {

/// Where the operands are when the clock starts.
enum class Cache {
  hot,   // the same buffers every time
  cold,  // each call takes the next of several copies; the others fill the last-level cache several times
};

/// In which order an op's compulsory bytes are moved: which of the machine's bandwidths bounds them.
enum class Traffic {
  unknown,  // the op is compared with no ceiling
  copy,     // reads here and writes there; two reads for each write where the tensors say so
  update,   // writes where it read
  read,     // writes next to nothing
};

/// "copy".
const char* name_of(Traffic traffic);

struct BenchShape {
  std::string name;            // "1024 cubed", printed
  std::vector<int64_t> shape;  // in the order of the contract's dims
  Cache cache = Cache::hot;
  bool tour = false;  // part of `klab run`; one a lab op, small enough for the naive rung
};

struct LabOp {
  Op op;
  std::vector<BenchShape> bench;
  /// Sizes tried for each dimension; the variants' tiles are added. One list serves all dimensions that have none.
  std::vector<std::vector<int64_t>> check;
  /// The shape at which the counts of CUDA rungs are recorded (klab counts): small, and with edges that no tile divides.
  /// Empty: shape_for_counting().
  std::vector<int64_t> counted = {};
  /// The shape at which `klab run` shows the counts of CUDA rungs, where the tour's, halved until a watched run takes well
  /// under a second, does not show what they are about. Empty: that one.
  std::vector<int64_t> counted_tour = {};
  double check_flops = 5e7;  // shapes that cost more are left out of the check
  Traffic traffic = Traffic::unknown;
  /// How much larger than 1 "huge" inputs may be without overflow of a correct result.
  double huge = 1e15;
  /// Shapes past what a kernel may take for granted (65,535 blocks, 2^20 elements, 2^31); empty: shapes_beyond() finds some,
  /// by the cost formula.
  std::vector<std::vector<int64_t>> beyond = {};
  /// Tensors that may hold NaN, and those that may hold infinities: results are then what IEEE arithmetic on the formula
  /// gives, NaN and infinities at the same elements as in the reference. With others in these the contract says nothing.
  std::vector<std::string> nan_in = {}, infinity_in = {};
  /// For ops whose rungs do far more than the cost formula calls compulsory: what the busiest one does, in
  /// the same units. The check of CUDA on the host goes by it.
  double (*busiest)(ShapeView shape) = nullptr;
  /// Dimensions that are no sizes but parameters: a stride, a layout. Only what `check` lists is tried there, no tiles.
  std::vector<std::string> parameters = {};
};

/// What somebody says one idea brings. The report puts beside it what two rungs that differ by it show here.
struct Claim {
  std::string text;          // "shared memory"
  std::string by;            // who says so, and of what
  double low = 0, high = 0;  // speedup
  std::string variant;       // id of the rung with the idea; may be one that this build does not have
  std::string over;          // id of the rung without
};

/// What `klab run LAB` tells a lab that has a run of its own.
struct LabRun {
  uint64_t seed = 1;
  std::string backend = "cpu";  // "cpu", or "simt": CUDA rungs on the host executor, counted
  std::function<bool()> stop;   // asks whether to end early; what was measured is still printed
  std::function<void(const std::string&)> status;  // one line, written over by the next; "" clears it
};

struct Lab {
  std::string id;        // 05_matmul, from the folder
  std::string title;     // "Matrix product: the memory hierarchy"
  std::string question;  // one sentence
  std::vector<LabOp> ops;
  std::vector<Claim> claims;
  std::vector<std::string> commands;  // of a lab that is a program: those that run it, without "klab"
  std::string file;                   // labs/05_matmul/lab.cpp
};

/// All labs in order.
const std::vector<Lab>& labs();

/// The lab and the op entry that own an op; nullptr when no lab teaches it.
const Lab* lab_of(const std::string& op);
const LabOp* find_op(const std::string& op);

/// The ladder of a lab whose variants are no kernels: prints it. False when a rung turned out wrong. Empty: the lab has none.
using LabLadder = std::function<bool(const LabRun&)>;
const LabLadder& ladder_of(const Lab& lab);

/// Gives the lab of labs/NN_name/commands/*.cpp, the folder that `file` is in, its ladder. It stands beside the lab's commands, as
/// it needs what they need, and lab.cpp does not.
class LadderRegistrar {
 public:
  LadderRegistrar(const char* file, LabLadder ladder);
};

/// Adds a lab; the id comes from the folder of `file`. A second lab of that name, or a second lab teaching the
/// same op, ends the program naming both.
class LabRegistrar {
 public:
  LabRegistrar(const char* file, Lab lab);
};

}  // namespace klab

#define KLAB_LADDER(ladder) const ::klab::LadderRegistrar klab_ladder_registrar(__FILE__, ladder)
#define KLAB_LAB(...) const ::klab::LabRegistrar klab_lab_registrar(__FILE__, __VA_ARGS__)
