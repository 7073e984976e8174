// Examples with labels: what a classifier learns from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/contract.h"

namespace klab::learning {

struct Examples {
  Dims dims;  // of one example: [1,28,28] (channels, rows, columns) or [2]
  int64_t classes = 0;
  std::vector<float> values;            // [count,dims], images in [0,1]
  std::vector<int32_t> labels;          // in 0 .. classes-1
  std::vector<std::string> names = {};  // of the classes; empty: numbers

  int64_t count() const { return int64_t(labels.size()); }
  bool images() const { return dims.size() == 3; }
};

struct Dataset {
  std::string name;  // of the folder, or the built-in set
  Examples train, test;
};

/// "spirals" and "glyphs" are made here, by seed; else a folder or file on disk:
///   MNIST and its kin in IDX, *-images-idx3-ubyte and *-labels-idx1-ubyte, plain or with .gz; where there is one pair only,
///   its last fifth is the test set
///   CIFAR-10's binary form, data_batch_*.bin and test_batch.bin
///   a safetensors file with x [n,...] F32 and labels [n] I32; its last fifth is the test set
/// `most_train` and `most_test` keep that many, 0 all. Throws std::runtime_error naming file, field and remedy.
Dataset load_dataset(const std::string& where, uint64_t seed, int64_t most_train, int64_t most_test);

/// One pair of IDX files (http://yann.lecun.com/exdb/mnist). Throws as load_dataset().
Examples read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);
/// Records of a label and 3x32x32 bytes.
Examples read_cifar10(const std::filesystem::path& file);
/// Tensors x and labels; numbers that are not finite are refused.
Examples read_tensors(const std::filesystem::path& file);

/// Points of three spiral arms with noise; not separable by lines.
Examples make_spirals(int64_t count, uint64_t seed);
/// Ten glyphs of a few strokes, 28x28, drawn with random joints, size, slant, place, width and noise.
Examples make_glyphs(int64_t count, uint64_t seed);

/// Examples [begin, begin + count).
Examples part_of(const Examples& all, int64_t begin, int64_t count);

}  // namespace klab::learning
