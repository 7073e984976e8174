// A lab: the ops it teaches, and the sizes at which they are checked and timed.
//
// labs/NN_name/lab.cpp ends with KLAB_LAB({...}), which registers the lab's ops with the harness.
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
  cold,  // each call uses the next of several copies; together they exceed the last-level cache several times
};

/// The access pattern of an op's compulsory bytes, which determines the bandwidth that bounds them.
enum class Traffic {
  unknown,  // the op has no ceiling
  copy,     // reads one place and writes another; two reads per write if the tensors say so
  update,   // writes the bytes that it reads
  read,     // writes almost nothing
};

/// Returns "copy" and so on.
const char* name_of(Traffic traffic);

struct BenchShape {
  std::string name;            // "1024 cubed", printed
  std::vector<int64_t> shape;  // in the order of the contract's dims
  Cache cache = Cache::hot;
  bool tour = false;  // part of `klab run`; one per lab op, small enough for the naive rung
};

struct LabOp {
  Op op;
  std::vector<BenchShape> bench;
  /// Sizes tried for each dimension, to which the variants' tiles are added. A single list is used for all
  /// dimensions.
  std::vector<std::vector<int64_t>> check;
  /// The shape at which the counts of CUDA rungs are recorded (klab counts): small, with edges that no tile
  /// divides. Empty: shape_for_counting().
  std::vector<int64_t> counted = {};
  /// The shape at which `klab run` shows the counts of CUDA rungs. Needed if the tour's shape, halved until a
  /// watched run takes well under a second, does not show the point. Empty: that shape.
  std::vector<int64_t> counted_tour = {};
  double check_flops = 5e7;  // the check leaves out more expensive shapes
  Traffic traffic = Traffic::unknown;
  /// How much larger than 1 "huge" inputs may be without overflow of a correct result.
  double huge = 1e15;
  /// Shapes beyond limits that a kernel may assume (65,535 blocks, 2^20 elements, 2^31). Empty:
  /// shapes_beyond() derives some from the cost formula.
  std::vector<std::vector<int64_t>> beyond = {};
  /// Tensors that may hold NaN, and those that may hold infinities. Results are then those of IEEE arithmetic
  /// on the formula, with NaN and infinities at the same elements as in the reference. For NaN or infinities
  /// in other tensors the contract specifies nothing.
  std::vector<std::string> nan_in = {}, infinity_in = {};
  /// For ops whose rungs do far more than the compulsory cost: the cost of the busiest rung, in the same
  /// units. The check of CUDA on the host uses it to choose shapes.
  double (*busiest)(ShapeView shape) = nullptr;
  /// Dimensions that are not sizes but parameters: a stride, a layout. Only the values in `check` are tried,
  /// no tiles.
  std::vector<std::string> parameters = {};
};

/// A published claim about the gain of one idea. The report shows next to it the ratio of two rungs that
/// differ by that idea.
struct Claim {
  std::string text;          // "shared memory"
  std::string by;            // source of the claim, and its context
  double low = 0, high = 0;  // speedup
  std::string variant;       // id of the rung with the idea; this build may lack it
  std::string over;          // id of the rung without
};

/// Options that `klab run LAB` passes to a lab with its own run.
struct LabRun {
  uint64_t seed = 1;
  std::string backend = "cpu";  // "cpu", or "simt": CUDA rungs on the host executor, counted
  std::function<bool()> stop;   // returns whether to end early; finished measurements are still printed
  std::function<void(const std::string&)> status;  // one line, overwritten by the next; "" clears it
};

struct Lab {
  std::string id;        // 05_matmul, from the folder
  std::string title;     // "Matrix product: the memory hierarchy"
  std::string question;  // one sentence
  std::vector<LabOp> ops;
  std::vector<Claim> claims;
  std::vector<std::string> commands;  // for a lab that is a program: the commands that run it, without "klab"
  std::string file;                   // labs/05_matmul/lab.cpp
};

/// Returns all labs in order.
const std::vector<Lab>& labs();

/// Returns the lab and the op entry for an op; nullptr if no lab teaches it.
const Lab* lab_of(const std::string& op);
const LabOp* find_op(const std::string& op);

/// The ladder of a lab whose variants are not kernels: prints it. Returns false if a rung was wrong. Empty:
/// the lab has none.
using LabLadder = std::function<bool(const LabRun&)>;
const LabLadder& ladder_of(const Lab& lab);

/// Sets the ladder of the lab of labs/NN_name/commands/*.cpp, found by the folder of `file`. It is next to
/// the lab's commands because it has their dependencies, which lab.cpp does not.
class LadderRegistrar {
 public:
  LadderRegistrar(const char* file, LabLadder ladder);
};

/// Adds a lab; its id comes from the folder of `file`. A second lab of that name, or a second lab with the
/// same op, ends the program with a message that names both.
class LabRegistrar {
 public:
  LabRegistrar(const char* file, Lab lab);
};

}  // namespace klab

#define KLAB_LADDER(ladder) const ::klab::LadderRegistrar klab_ladder_registrar(__FILE__, ladder)
#define KLAB_LAB(...) const ::klab::LabRegistrar klab_lab_registrar(__FILE__, __VA_ARGS__)
