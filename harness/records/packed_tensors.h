// Tensors of which many numbers are zero: how numbers become zero by size, and how a file leaves the zeros out.
//
// A packed tensor "<name>" is two in the file: "<name>.kept" U8 [ceil(groups/8)] has a bit for each group of numbers, the lowest
// bit of a byte first, and "<name>" holds the groups whose bit is set, one after the other. A group is one number, or a row of a
// matrix with at most eight columns: an entry of a hash table.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "harness/records/tensor_file.h"

namespace klab {

/// Returns the numbers of a group of a tensor of that shape.
int64_t group_of(const std::vector<int64_t>& shape);

/// Sets a share of the groups to 0, those with the least sum of squares first, the earlier one of two alike. Returns the numbers
/// that are 0 afterwards. `share` is from 0 to 1, and the group divides the values.
int64_t prune_smallest(std::span<float> values, int64_t group, double share);

/// Tensors as a file stores them: those that become smaller are packed, the others stay as they are. Their data must outlive it.
class PackedTensors {
 public:
  explicit PackedTensors(std::span<const TensorView> tensors);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::deque<std::vector<uint8_t>> data_;  // views point into it
};

/// Returns the name of the tensor with a packed tensor's bits.
inline std::string kept_bits_of(const std::string& name) { return name + ".kept"; }
/// Returns whether the file holds the tensor packed.
bool is_packed(const TensorFile& file, const std::string& name);

/// Reads a tensor as TensorFile::read() does, packed or not. Throws std::runtime_error naming file and tensor if the bits and the
/// numbers disagree.
void read_packed(const TensorFile& file, const std::string& name, const std::string& dtype,
                 const std::vector<int64_t>& shape, void* into);

}  // namespace klab
