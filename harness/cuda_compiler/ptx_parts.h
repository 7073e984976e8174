// An instruction of PTX in its parts, and what the tables of its translation share.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// The namespace of what translated instructions call (klab_cuda/ptx.h).
inline const std::string kPtxHelpers = "::klab::program::ptx::";

/// Without blanks at its ends.
std::string ptx_trimmed(const std::string& text);

struct PtxInstruction {
  std::string text;                   // all of it, for messages
  std::vector<std::string> parts;     // "mma.sync" -> mma, sync
  std::vector<std::string> operands;  // as written: "%0", "{%1, %2}", "[%3+16]"
  bool has(const std::string& part) const;
  const std::string& op() const { return parts[0]; }
};

/// Registers that a statement declares, and how operands become C++.
class PtxNames {
 public:
  void declare(const std::string& name) { names_.insert(name); }
  /// An expression; throws std::invalid_argument for what is no operand.
  std::string value(const std::string& operand) const;
  /// value() as a C++ type.
  std::string as(const std::string& type, const std::string& operand) const;
  /// A statement that gives the operand that value. `_` takes all.
  std::string set(const std::string& operand, const std::string& value) const;
  /// "{%1, %2}" as its operands; one that is no list as itself.
  static std::vector<std::string> list(const std::string& operand);
  /// "[%3+16]" as an address: a pointer for generic and global memory, a number of 32 bits for shared memory.
  std::string address(const std::string& operand, bool shared) const;

 private:
  std::set<std::string> names_;
};

/// "u32" -> "unsigned"; empty where the part names no type.
std::string ptx_type(const std::string& part);
/// The last type that an instruction's name has; empty: none.
std::string ptx_type_of(const PtxInstruction& i);

/// Each translates what it knows; an empty text: not known.
std::string ptx_arithmetic(const PtxInstruction& i, const PtxNames& n);
std::string ptx_memory(const PtxInstruction& i, const PtxNames& n);
std::string ptx_matrices(const PtxInstruction& i, const PtxNames& n);
std::string ptx_warp(const PtxInstruction& i, const PtxNames& n);

}  // namespace klab::cuda_compiler
