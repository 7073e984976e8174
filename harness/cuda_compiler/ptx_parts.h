// A PTX instruction in its parts, and helpers shared by the translation tables.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// Namespace of the functions that translated instructions call (klab_cuda/ptx.h).
inline const std::string kPtxHelpers = "::klab::program::ptx::";

/// Removes blanks at both ends.
std::string ptx_trimmed(const std::string& text);

struct PtxInstruction {
  std::string text;                   // complete text, for messages
  std::vector<std::string> parts;     // "mma.sync" -> mma, sync
  std::vector<std::string> operands;  // as written: "%0", "{%1, %2}", "[%3+16]"
  bool has(const std::string& part) const;
  const std::string& op() const { return parts[0]; }
};

/// Registers that a statement declares, and the translation of operands to C++.
class PtxNames {
 public:
  void declare(const std::string& name) { names_.insert(name); }
  /// Returns the operand as an expression. Throws std::invalid_argument if it is not an operand.
  std::string value(const std::string& operand) const;
  /// Returns value() converted to a C++ type.
  std::string as(const std::string& type, const std::string& operand) const;
  /// Returns a statement that assigns the value to the operand. `_` discards it.
  std::string set(const std::string& operand, const std::string& value) const;
  /// Splits "{%1, %2}" into its operands. Any other operand is returned alone.
  static std::vector<std::string> list(const std::string& operand);
  /// Translates "[%3+16]" to an address: a pointer for generic and global memory, a 32-bit number for shared
  /// memory.
  std::string address(const std::string& operand, bool shared) const;

 private:
  std::set<std::string> names_;
};

/// Translates a type: "u32" -> "unsigned"; empty if the part is not a type.
std::string ptx_type(const std::string& part);
/// Returns the last type in an instruction's name; empty if there is none.
std::string ptx_type_of(const PtxInstruction& i);

/// Each translates the instructions it supports, and returns an empty text for others.
std::string ptx_arithmetic(const PtxInstruction& i, const PtxNames& n);
std::string ptx_memory(const PtxInstruction& i, const PtxNames& n);
std::string ptx_matrices(const PtxInstruction& i, const PtxNames& n);
std::string ptx_warp(const PtxInstruction& i, const PtxNames& n);
std::string ptx_async(const PtxInstruction& i, const PtxNames& n);

}  // namespace klab::cuda_compiler
