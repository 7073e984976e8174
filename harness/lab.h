// A lab: which ops it teaches, at which sizes they are checked and timed.
//
// labs/NN_name/lab.cpp ends with KLAB_LAB({...}); that is where an op meets the harness.
#pragma once

#include <string>
#include <vector>

#include "harness/op.h"

namespace klab {

/// Where the operands are when the clock starts.
enum class Cache {
  hot,   // the same buffers every time
  cold,  // rotated among copies that together exceed the last-level cache several times
};

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
  double check_flops = 5e7;  // shapes that cost more are left out of the check
  std::string limit;         // the ceiling the op approaches: "fma" | "copy" | "read" | "gather"
  /// How much larger than 1 "huge" inputs may be without overflow of a correct result.
  double huge = 1e15;
};

struct Lab {
  std::string id;        // 05_matmul, from the folder
  std::string title;     // "Matrix product: the memory hierarchy"
  std::string question;  // one sentence
  std::vector<LabOp> ops;
  std::string file;  // labs/05_matmul/lab.cpp
};

/// All labs in order.
const std::vector<Lab>& labs();

/// The lab and the op entry that own an op; nullptr when no lab teaches it.
const Lab* lab_of(const std::string& op);
const LabOp* find_op(const std::string& op);

/// Adds a lab; the id comes from the folder of `file`. A second lab of that name, or a second lab teaching the
/// same op, ends the program naming both.
class LabRegistrar {
 public:
  LabRegistrar(const char* file, Lab lab);
};

}  // namespace klab

#define KLAB_LAB(...) const ::klab::LabRegistrar klab_lab_registrar(__FILE__, __VA_ARGS__)
