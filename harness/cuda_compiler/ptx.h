// Inline PTX as C++: statement by statement, of the instructions that programs write because CUDA C++ has no name for them
// (PTX manual, "Instruction Set"). What is straight-line code of registers, memory, warps and matrices is known; branches are not.
#pragma once

#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// The text of an asm statement, %% already %, as C++ statements in which $0, $1, ... stand for the operands. Throws
/// std::invalid_argument naming the first instruction that is not known.
std::string translate_ptx(const std::string& text);

}  // namespace klab::cuda_compiler
