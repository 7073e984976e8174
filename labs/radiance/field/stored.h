// A trained model in fewer bits: how its numbers are stored, and how they become floats again.
//
//   f16, bf16   each number by itself, rounded to nearest even (reference/float16.h)
//   int8        -127 ... 127 times a scale: one for each row of a matrix, which is an output's, and one for each feature of each
//               level of the table
//   int4        -8 ... 7 times a scale for each 32 numbers, as matvec_int4 has its weights
//   e2m1        0, 1/2, 1, 3/2, 2, 3, 4, 6 and their negatives times a power of two for each 32 numbers: MXFP4 (Open Compute
//               Project, "Microscaling Formats", 2023)
//
// The occupancy grid has a bit a cell already and stays as it is. In the file a tensor keeps its name and, where each number has
// an element of its own, its shape; its scales are a tensor "<name>.scale". docs/files.md has the whole list.
#pragma once

#include <string>
#include <vector>

#include "labs/radiance/field/codec.h"
#include "labs/radiance/field/model.h"

namespace klab {

/// What rounding did to a tensor.
struct StoredError {
  std::string tensor;
  double rms = 0, worst = 0;  // of the errors, and the largest one
  double rms_of_values = 0;   // of what was rounded
};

/// Writes the model in fewer bits, under a temporary name at first. Returns what that did to each tensor. Throws
/// std::runtime_error where a number does not fit the format (f16 ends at 65504), naming it, and as save_tensors().
std::vector<StoredError> save_stored(const Model& model, Storage storage, const std::filesystem::path& file);

/// How the file's numbers are stored. Throws std::runtime_error naming the file for a word that is none.
Storage storage_in(const TensorFile& file);

/// Reads numbers of any storage but f32 into the model's floats, and its grid. Throws std::runtime_error naming file and tensor: a
/// tensor or its scales are missing, have another type or shape, hold what is not finite, or a scale that is not above 0.
void read_stored(const TensorFile& file, Storage storage, Model& model);

/// Makes of a part's numbers those that a reader of the stored model would have.
void round_as_stored(Model& model, Part part, Storage storage);

}  // namespace klab
