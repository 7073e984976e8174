// Does a variant compute what its contract says? Values here; gradients in gradcheck.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/check/fault.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"

namespace klab {

struct Failure {
  Fault fault = Fault::wrong_value;
  std::string tensor;    // "c", or empty
  std::string index;     // "[3,17]", or empty
  std::string expected;  // as text, enough digits to tell apart
  std::string got;
  std::string bound;   // what was allowed
  std::string inputs;  // "m=17 n=33 k=1, cancelling inputs, 4 bytes off alignment"
  std::string note;    // anything more: how many elements are wrong, which pattern they form
};

struct CheckResult {
  std::string variant;
  std::string skipped;  // reason, when the variant could not run at any shape
  int cases = 0;        // runs compared
  int skipped_cases = 0;
  double worst = 0;    // largest error over its bound, of the passing comparisons
  double seconds = 0;  // in the variant, with comparing what it wrote
  std::string note;    // what is worth knowing of a pass: "3 directions refused at kinks"
  std::vector<Failure> failures;
  bool passed() const { return failures.empty() && skipped.empty() && cases > 0; }
};

struct CheckOptions {
  uint64_t seed = 1;
  int max_failures = 3;        // per variant; the check of a variant stops there
  std::vector<int64_t> shape;  // only this shape, when given
  bool quick = false;          // random inputs only (two draws), no misalignment
  bool triples = false;        // every combination of three conditions, not of two and some of three
  std::string backend;         // "cuda": CUDA variants on a GPU or not at all
  bool gradients = true;       // backward ops: finite differences too, of the reference and of each forward
  int most_shapes = 0;         // when positive: this number of the lab's shapes, spread over all of them
  double seconds =
      0;  // when positive: time after which only threads, and the first few shapes of a variant, are checked
  std::function<void(const CheckResult&)> done;  // called for each result at the end
  std::function<void(ShapeView)> at = {};        // called before each shape
  std::function<bool()> stop = {};  // asked between runs; true ends the check with what was seen until then
};

/// What a check of one op found.
struct OpCheck {
  std::vector<CheckResult> variants;     // as many as were given, in their order
  std::optional<CheckResult> reference;  // "<op>.reference": a backward op's double backward itself
};

/// Checks variants of one op, values and, for a backward op, gradients. The reference is computed once a case
/// for all of them. Throws std::invalid_argument for an asked shape that is
/// not the op's. A crash of a variant ends the process by its signal, after naming variant and inputs on
/// stderr.
OpCheck check(const LabOp& op, std::span<const Variant* const> variants, const CheckOptions& options = {});

/// Returns what this process may run.
Host this_host();
/// Returns the machine that a variant asks about: for CUDA variants the host with the limits of simt::device_limits(), or the GPU
/// while an OnGpu lives.
Host host_of(const Variant& variant);

}  // namespace klab
