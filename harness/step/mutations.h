// Generates small changes to a kernel's source, each of which its check should notice: an operator, a
// constant, a bound, a removed barrier, two swapped stores. They work on the text, one line at a time, so
// that line numbers stay the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace klab {

struct Mutation {
  int line = 0;      // from 1
  std::string what;  // "< becomes <=", "__syncthreads() is gone"
  std::string was;   // the original line, without indentation
  std::string text;  // the whole changed file
};

/// Returns all mutations in line order. Comments, strings, includes and the variant's registration are left
/// alone. Operators are told from template brackets and pointers by the spaces that the code style puts
/// around them.
std::vector<Mutation> mutations_of(const std::string& source);

/// Draws `most` of them by seed, in line order; returns all if there are no more, or `most` is 0.
std::vector<Mutation> sampled(std::vector<Mutation> all, size_t most, uint64_t seed);

}  // namespace klab
