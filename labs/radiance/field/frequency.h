// The classic field: deep networks on sines and cosines of a point. A coarse network runs first and tells
// where a fine one takes more samples.
//
// B. Mildenhall and others, "NeRF: representing scenes as neural radiance fields for view synthesis", ECCV
// 2020.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/program/memory.h"
#include "harness/program/ops.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/field/narrow.h"
#include "labs/radiance/field/placement.h"
#include "labs/radiance/loss/terms.h"
#include "reference/float16.h"

namespace klab {

/// Every number of the recipe.
struct FrequencyConfig {
  int64_t octaves = 10;           // of a point's coordinates
  int64_t direction_octaves = 4;  // of a direction's
  int64_t width = 256;
  int64_t depth = 8;    // layers of the trunk
  int64_t skip = 5;     // layer that takes the point again, counted from 0; depth: none
  int64_t rays = 256;   // in a step (the paper: 4096)
  int64_t coarse = 64;  // samples of a ray, one in each of this many strata
  int64_t fine = 128;   // samples that are placed by the coarse network's weights
  std::string samples =
      "stratified";      // in training: at random within the strata; or "uniform": in their middle
  int64_t chunk = 8192;  // samples in memory at once
  double learning_rate = 5e-4;
  double final_rate = 0.1;  // factor at the end of the run, after a cosine
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::string loss = "mse";            // "mse" | "huber" | "smooth_l1"
  std::string background = "white";    // "white" | "black" | "random"
  std::string pixel_point = "middle";  // as in Config
  double near = 0, far = 0;            // as in Config
  LossSettings
      terms;  // of these the weights of the rays' opacity: the others need what this field does not have

  /// Like Config::fields.
  template <class Self, class Visit>
  static void fields(Self& c, Visit&& visit) {
    visit("octaves", c.octaves, 1, 16, "octaves", "octaves of a point's coordinates");
    visit("direction_octaves", c.direction_octaves, 1, 16, "octaves", "octaves of a direction");
    visit("width", c.width, 8, 1024, "neurons", "neurons of a hidden layer");
    visit("depth", c.depth, 1, 16, "layers", "layers of the trunk");
    visit("skip", c.skip, 1, 16, "layer",
          "layer that takes the point again, from 0; as many as layers: none");
    visit("rays", c.rays, 1, 1 << 20, "rays", "rays of a step");
    visit("coarse", c.coarse, 2, 1024, "samples", "samples of a ray, one in each stratum");
    visit("fine", c.fine, 0, 1024, "samples", "samples of a ray that follow the coarse network");
    visit("samples", c.samples, "stratified uniform", "where samples lie in their strata");
    visit("chunk", c.chunk, 1024, 1 << 22, "samples", "samples in memory at once");
    visit("learning_rate", c.learning_rate, 1e-9, 1, "", "learning rate at the start");
    visit("final_rate", c.final_rate, 0, 1, "learning_rate",
          "factor on the learning rate at the end, after a cosine");
    visit("beta1", c.beta1, 0, 0.9999999, "", "decay of Adam's first moment, a step");
    visit("beta2", c.beta2, 0, 0.9999999, "", "decay of Adam's second moment, a step");
    visit("epsilon", c.epsilon, 1e-30, 1, "", "Adam's summand in the denominator");
    visit("loss", c.loss, "mse huber smooth_l1", "what a difference of colors costs");
    visit("background", c.background, "white black random", "behind transparent pixels, in training");
    visit("pixel_point", c.pixel_point, "middle anywhere", "where a ray passes through its pixel");
    visit("near", c.near, 0, 8, "cube sides",
          "distance from the camera up to which nothing is sampled, in sides of the unit cube; 0: as the "
          "scene says");
    visit("far", c.far, 0, 1000, "cube sides",
          "distance from the camera behind which nothing is sampled, in sides of the unit cube; 0: no such "
          "distance");
    for (const LossTerm& each : loss_terms())
      if (each.term->needs == Term::opacity)
        visit(each.term->name, c.terms.*each.weight, each.term->low, each.term->high, "",
              each.term->weight_of);
  }
  /// Throws std::invalid_argument for a chunk with no room for one ray, or an odd width.
  void validate() const;

  int64_t point_features() const { return 3 + 6 * octaves; }
  int64_t direction_features() const { return 3 + 6 * direction_octaves; }
};

FrequencyConfig frequency_config_from_json(const std::string& text, const std::string& where);

/// One network: matrices and biases in one array, layer by layer.
struct FrequencyNet {
  struct Layer {
    std::string name;
    int64_t to, from, weights, bias;  // the latter two: offsets
    int64_t first, row;               // numbers and rows of the matrices before this one
  };
  explicit FrequencyNet(const FrequencyConfig& config);
  std::vector<Layer> layers;                // the trunk's, then "density", "feature", "view", "color"
  int64_t size = 0, numbers = 0, rows = 0;  // all, and those of the matrices
};

/// The numbers of one network, as a pass reads them: floats, or matrices in fewer bits and biases.
struct FrequencyNumbers {
  const float* parameters = nullptr;  // matrices and biases; null: the others hold them
  Storage precision = Storage::f32;
  const NarrowPart* matrices = nullptr;
  const float* biases = nullptr;
  bool pairs = false;  // products have factors of bfloat16, and not floats
};

struct FrequencyModel {
  FrequencyConfig config;
  Placement placement;
  Storage precision = Storage::f32;        // of the matrices in memory
  std::array<Array<float>, 2> parameters;  // of the coarse and of the fine network
  // In their place where the precision is not f32: for pictures only.
  std::array<NarrowPart, 2> matrices;
  std::array<Array<float>, 2> biases;

  FrequencyModel(const FrequencyConfig& config, const Placement& placement);
  void initialize(uint64_t seed);
  FrequencyModel copy() const;
  FrequencyNumbers numbers(int network, bool pairs = false) const;
  int64_t held_bytes() const;  // of matrices and biases in memory, with their scales
  /// Returns the model with its matrices rounded to f16, bf16 or int8, a factor for each row; biases stay floats. Throws
  /// std::runtime_error for a number that the format does not have.
  FrequencyModel narrowed(Storage precision) const;

  static constexpr const char* kind = "frequency 1";  // written into the file
  std::vector<TensorView> tensors() const;
  std::map<std::string, std::string> metadata() const;
  void save(const std::filesystem::path& file) const;
  static FrequencyModel load(const std::filesystem::path& file);
  /// Reads an opened file, a model's or a checkpoint's. Throws std::runtime_error naming the file and the
  /// damage.
  static FrequencyModel read(const TensorFile& file);
};

/// A network's forward and backward pass over points. Arrays are feature-major: row c
/// of n points begins at c·n.
class FrequencyPass {
 public:
  FrequencyPass(const FrequencyConfig& config, int64_t capacity);

  /// Computes densities and colors into raw() and rgb(). positions [3,n] in [-1,1], directions [3,n].
  void forward(Ops& ops, const FrequencyNumbers& numbers, const float* positions, const float* directions,
               int64_t n);
  /// Adds the gradients of the last forward() to `gradient`, given the gradients with respect to raw [n] and
  /// rgb [3,n].
  void backward(Ops& ops, const float* parameters, const float* d_raw, const float* d_rgb, float* gradient);
  const float* raw() const { return raw_.data(); }
  const float* rgb() const { return rgb_.data(); }
  int64_t capacity() const { return capacity_; }
  static int64_t bytes_of(const FrequencyConfig& config);

 private:
  void product(Ops& ops, const FrequencyNumbers& numbers, const FrequencyNet::Layer& l, const float* x,
               float* y);
  void layer(Ops& ops, const FrequencyNumbers& numbers, const FrequencyNet::Layer& l, const float* x,
             float* y, int64_t activation);
  void layer_back(Ops& ops, const float* parameters, const FrequencyNet::Layer& l, const float* x,
                  const float* y, float* d_y, float* d_x, int64_t activation, float* gradient);

  FrequencyConfig c_;
  FrequencyNet net_;
  int64_t capacity_, n_ = 0;
  std::vector<Array<float>> inputs_;  // of each layer of the trunk, then the trunk's output
  std::vector<float> widened_;        // one matrix of a network in fewer bits
  std::vector<Bfloat16> factors_;     // or rounded to pairs
  std::vector<uint8_t> inputs_in_pairs_;
  Array<float> view_in_, view_, raw_, rgb_, z_, d_a_, d_b_, d_view_in_, d_weights_, d_bias_, d_x_;
};

}  // namespace klab
