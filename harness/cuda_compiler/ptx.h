// Translates inline PTX to C++, statement by statement. Supports the instructions that programs write because
// CUDA C++ has no name for them (PTX manual, "Instruction Set"): registers, memory, warps, matrices, asynchronous copies and
// barriers, and branches to labels of the same statement.
#pragma once

#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// Translates the text of an asm statement, with %% already %, to C++ statements in which $0, $1, ... are the
/// operands. Throws std::invalid_argument that names the first unsupported instruction.
std::string translate_ptx(const std::string& text);

}  // namespace klab::cuda_compiler
