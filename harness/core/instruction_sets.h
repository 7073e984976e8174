// Instruction sets of the vectors in this program, and whether the processor has them.
//
// A program that was built for another processor dies of an illegal instruction in the first kernel. So before any other code
// of the program runs, the instruction sets of all files with vectors are compared with the processor's. A program that
// cannot run here prints what to build, and ends with exit code 2.
//
//   KLAB_PRETEND_ISA=AVX2   this comparison, and nothing else, takes the processor for one whose best instruction set is AVX2
//
// Instruction sets are bits of Highway (HWY_AVX3, ...), called as Highway calls them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/core/registrar.h"

namespace klab {

/// Returns the instruction sets of the first file whose vectors a processor with these sets cannot run, or 0. Vectors of one
/// lane are for processors without larger ones: a file that has only these to offer here was built for another processor.
int64_t missing_targets(std::span<const VectorCode> files, int64_t processor);

/// Returns the instruction sets that every file which has a choice at run time is compiled for; all that any is compiled for
/// where they have none in common.
int64_t common_targets(std::span<const VectorCode> files);

/// common_targets() of this program. 0 for a program without such files.
int64_t built_targets();

/// Returns the instruction sets that -DKLAB_ISAS can name (cmake/KlabIsas.cmake).
int64_t buildable_targets();

/// Names the sets, best first: "AVX3, AVX2".
std::string target_names(int64_t targets);

/// Returns the bit of Highway with that name, or 0.
int64_t target_of_name(const std::string& name);

/// Returns `processor` as if its best instruction set were that one; unchanged where the name is unknown.
int64_t pretend_best(int64_t processor, const std::string& name);

/// Says that the program was built for these sets, which the processor lacks, and what to build.
std::string built_for_another_processor(int64_t targets);

}  // namespace klab
