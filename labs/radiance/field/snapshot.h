// Snapshots of instant-ngp, .ingp: what its testbed writes with save_snapshot. docs/files.md describes the format.
//
// The field is the same function in both programs: klab's hash encoding, networks and harmonics are those of tiny-cuda-nn. A snapshot
// holds the parameters in half precision.
//
// Source: instant-ngp (src/testbed.cu, save_snapshot and load_snapshot; json_binding.h).
#pragma once

#include <filesystem>

#include "labs/radiance/field/model.h"

namespace klab {

/// What a snapshot says besides the field.
struct SnapshotOptions {
  std::filesystem::path source;  // the model's file, for messages
  Camera view = look_at({1.6F, 0.5F, 1.1F}, {0.5F, 0.5F, 0.5F}, 600, 600, 0.7F);  // the first, in the grid
  int64_t steps = 0;                                                              // of the training
};

/// Writes a model of floats. Throws Refused naming the setting for a field that tiny-cuda-nn cannot express: a table that is adaptive or
/// has another hash function, levels that single precision moves, a grid of more than 128 cells along an edge, numbers beyond half
/// precision. Throws FileError.
void save_snapshot(const std::filesystem::path& file, const Model& model, const SnapshotOptions& options);

/// Returns whether a file's name is that of a snapshot: it ends in .ingp, or in .msgpack for one that is not compressed.
bool is_snapshot_file(const std::filesystem::path& file);

/// Reads a snapshot as a model of floats. Numbers of another layout than klab's find their places; a level that is dense and, in
/// single precision, a point wider than klab's is copied without it. Throws Refused naming file, key and remedy for a document that
/// is damaged, of another version or mode, or with parts that klab does not have.
Model load_snapshot(const std::filesystem::path& file);

}  // namespace klab
