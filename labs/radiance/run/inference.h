// Settings of pictures of a trained field: in how many bits its numbers are held, and how much is drawn at a time.
#pragma once

#include <string>

#include "harness/program/plan.h"
#include "labs/radiance/evaluate/piecewise.h"

namespace klab {

/// Help of the option --precision of commands that make pictures.
inline constexpr const char* kPrecisionHelp =
    "f32, bf16, f16 or int8: of tables and weights in memory (default: as the file has them, f32 of 4 bits)";

/// Help of the options --batch and --memory.
inline constexpr const char* kBatchHelp =
    "pixels drawn at a time, or auto (default): 8192, and half as many each time an allocation fails";
inline constexpr const char* kMemoryHelp =
    "most memory for drawing, in addition to the model and the pictures: 500MB, 2GB (default: what there is)";

/// Returns the settings of these options; empty texts are the defaults. Throws std::invalid_argument naming the option.
PieceOptions piece_options(const std::string& batch, const std::string& memory);

/// Returns how many times as fast pictures could be at most in fewer bits: if the calls that read tables or weights took no time.
/// `pictures` is a profile of pictures in floats that took `seconds` in all; 1 if it has no such call.
double most_gained(const Profile& pictures, double seconds);

/// Returns a line for the user: bytes held, those of floats, and which products have factors of 16 bits. Empty for floats.
std::string held_text(const FieldModel& model, const Plan& plan);

}  // namespace klab
