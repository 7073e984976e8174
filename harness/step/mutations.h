// Small changes to a kernel's source, each of which a check of it should notice: an operator, a constant, a bound, a barrier
// that is gone, two stores in another order. Made on the text, a line at a time, so that lines keep their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace klab {

struct Mutation {
  int line = 0;      // from 1
  std::string what;  // "< becomes <=", "__syncthreads() is gone"
  std::string was;   // the line, without indentation
  std::string text;  // the whole file with it
};

/// All that there are, in the order of lines. Comments, strings, includes and what registers the variant are left alone;
/// operators are told from template brackets and pointers by the spaces that the house style puts around them.
std::vector<Mutation> mutations_of(const std::string& source);

/// `most` of them, drawn by seed, still in the order of lines; all where there are no more, or `most` is 0.
std::vector<Mutation> sampled(std::vector<Mutation> all, size_t most, uint64_t seed);

}  // namespace klab
