// A trained model in fewer bits: how its numbers are stored, how they stay so in memory, and how they become floats again.
//
//   f16, bf16   each number by itself, rounded to nearest even (reference/float16.h)
//   int8        -127 ... 127 times a scale: one scale for each row of a matrix, which is one output, and one for
//               each feature of each level of the table
//   int4        -8 ... 7 times a scale for each 32 numbers, like the weights of matvec_int4
//   e2m1        0, 1/2, 1, 3/2, 2, 3, 4, 6 and their negatives times a power of two for each 32 numbers: MXFP4
//               (Open Compute Project, "Microscaling Formats", 2023)
//
// The occupancy grid has one bit for each cell already and stays unchanged. In the file a tensor keeps its
// name. It also keeps its shape if each number has an element of its own. Its scales are a tensor
// "<name>.scale". Some tensors may stay floats, and tensors with many zeros may be packed (packed_tensors.h). docs/files.md has the
// whole list.
#pragma once

#include <string>
#include <vector>

#include "labs/radiance/field/codec.h"
#include "labs/radiance/field/model.h"

namespace klab {

/// Rounding errors of a tensor.
struct StoredError {
  std::string tensor;
  double rms = 0, worst = 0;  // root mean square and maximum of the errors
  double rms_of_values = 0;   // of the original values
};

/// What differs among the tensors of a file.
struct StoringOptions {
  std::vector<std::string> floats = {};  // tensors that stay floats; pictures then hold all numbers as floats
  bool packed = false;                   // zeros are left out where that takes fewer bytes
};

/// Writes a model of floats in fewer bits, or with Storage::f32 as it is, under a temporary name first, and returns the errors
/// of each tensor that was rounded. Throws std::runtime_error, naming the number, if it does not fit the format (f16 ends at
/// 65504), and like save_tensors().
std::vector<StoredError> save_stored(const Model& model, Storage storage, const std::filesystem::path& file,
                                     const StoringOptions& options = {});

/// Returns how the file's numbers are stored. Throws std::runtime_error naming the file for an unknown word.
Storage storage_in(const TensorFile& file);

/// Returns whether a file in fewer bits has tensors that stayed floats.
bool keeps_floats(const TensorFile& file);

/// Reads numbers of any storage but f32 into the model's floats, and its grid. Throws std::runtime_error
/// naming file and tensor if a tensor or its scales are missing, have another type or shape, or hold a value
/// that is not finite or a scale that is not above 0.
void read_stored(const TensorFile& file, Storage storage, Model& model);

/// Reads a file into a model of the file's own storage, whose numbers stay as they are. Throws like read_stored().
void read_narrow(const TensorFile& file, Model& model);

/// Returns the model with its numbers rounded to f16, bf16 or int8 in memory; the floats are let go part by part. Throws
/// std::runtime_error, naming the tensor, for a number that the format does not have.
Model narrowed(Model floats, Storage precision);

/// Replaces a part's numbers by those that a reader of the stored model would get.
void round_as_stored(Model& model, Part part, Storage storage);

}  // namespace klab
