// How instant-ngp's networks and hash table lie in a snapshot: the sizes of levels and layers as tiny-cuda-nn rounds them, and which
// of its numbers is which of klab's.
//
// The numbers of a snapshot are those of the density network, of the color network, and of the table. A layer is a matrix, row-major,
// a row an output. Inputs, outputs and, in a fully fused network, the hidden layers have more channels than the field needs: their
// number is rounded up. The color network's input begins with the outputs of the density network; the direction follows.
//
// Source: tiny-cuda-nn (encodings/grid.h, networks/fully_fused_mlp.h, networks/cutlass_mlp.h) and instant-ngp (nerf_network.h).
#pragma once

#include <cstdint>
#include <vector>

#include "labs/radiance/field/config.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {

/// A level of the encoding, computed in single precision.
struct SnapshotLevel {
  float scale = 0;         // grid position of x in [0, 1] is x·scale + 0.5
  int64_t resolution = 0;  // points along an edge
  int64_t entries = 0;
  bool dense = false;  // every point has an entry
};

/// Returns the levels; `growth` is per_level_scale.
std::vector<SnapshotLevel> snapshot_levels(int64_t levels, int64_t log2_table, int64_t base, float growth);

/// What numbers of channels are multiples of: 16 for a FullyFusedMLP, 8 for a CutlassMLP.
struct SnapshotPadding {
  int64_t encoding = 16, density = 16, color = 16;
};

struct SnapshotLayout {
  MlpFwd::Shape density{}, color{};  // as stored, n = 0
  std::vector<SnapshotLevel> levels;
  int64_t features = 0;

  int64_t entries() const;
  int64_t numbers() const { return density.weights() + color.weights() + entries() * features; }
  int64_t color_begin() const { return density.weights(); }
  int64_t table_begin() const { return density.weights() + color.weights(); }
  /// Returns the column of the color network's first layer that reads an input of klab's: the harmonics, then the geometry.
  int64_t color_column(int64_t input, int64_t harmonics) const {
    return input < harmonics ? density.out + input : input - harmonics;
  }
};

/// Returns the layout of a field whose hidden layers have these widths.
SnapshotLayout snapshot_layout(const Config& config, std::vector<SnapshotLevel> levels, int64_t density_width,
                               int64_t color_width, const SnapshotPadding& padding);

/// Calls visit(ours, stored) with the places of each weight that both networks have. `column` maps inputs of the first layer.
template <class Column, class Visit>
void each_stored_weight(const MlpFwd::Shape& ours, const MlpFwd::Shape& stored, Column&& column,
                        Visit&& visit) {
  for (int64_t l = 0; l < ours.layers(); ++l)
    for (int64_t row = 0; row < ours.to(l) && row < stored.to(l); ++row)
      for (int64_t k = 0; k < ours.from(l); ++k) {
        const int64_t at = l == 0 ? column(k) : k;
        if (at < stored.from(l))
          visit(ours.weight_begin(l) + row * ours.from(l) + k,
                stored.weight_begin(l) + row * stored.from(l) + at);
      }
}

}  // namespace klab
