// Settings and files of a scene trained as Gaussians, in the form of the other fields. (Files of other
// programs: ply.h.)
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "labs/radiance/field/placement.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// Every number of the recipe for Gaussians.
struct GaussianConfig {
  int64_t initial = 20000;  // start, at random places
  int64_t most = 100000;    // at any time
  int64_t budget = 0;       // above 0: grow to this number and choose by gradient alone
  int64_t sh_degree = 2;
  double ssim = 0.2;                   // weight of structural similarity in the loss
  double position_rate = 1.6e-4;       // times the cameras' extent, at the start,
  double last_position_rate = 1.6e-6;  // and at the end
  double scale_rate = 5e-3;
  double rotation_rate = 1e-3;
  double opacity_rate = 5e-2;
  double color_rate = 2.5e-3;
  double exposure_rate = 0;  // of each picture's exposure (exposure.h); 0: none is learned
  double threshold = 2e-4;   // mean gradient above which a Gaussian is cloned or split
  /// What a Gaussian is judged by: the length of its mean's gradient, "sum", or of the sums of its pixels' absolute gradients, "absolute".
  std::string density_gradient = "sum";
  std::string antialias = "no";  // or "yes": opacities fall where the low-pass widens a Gaussian
  /// Behind transparent pixels in training: "white", "black", "random", or "scene", what the scene says. Pictures
  /// without alpha are on black. Evaluation is on white, or black without alpha.
  std::string background = "scene";

  template <class Self, class Visit>
  static void fields(Self& c, Visit&& visit) {
    visit("initial", c.initial, 1, 1e7, "Gaussians", "Gaussians at the start, no more than most");
    visit("most", c.most, 1, 1e8, "Gaussians", "Gaussians at any time");
    visit("budget", c.budget, 0, 1e8, "Gaussians",
          "Gaussians to grow to, chosen by gradient alone; 0: by the threshold");
    visit("sh_degree", c.sh_degree, 0, 3, "", "degree of the spherical harmonics");
    visit("ssim", c.ssim, 0, 1, "", "weight of structural similarity in the loss");
    visit("position_rate", c.position_rate, 1e-12, 1, "camera extents",
          "learning rate of positions at the start, in extents of the cameras");
    visit("last_position_rate", c.last_position_rate, 1e-12, 1, "camera extents", "and at the end");
    visit("scale_rate", c.scale_rate, 1e-12, 1, "", "learning rate of the logarithms of sizes");
    visit("rotation_rate", c.rotation_rate, 1e-12, 1, "", "learning rate of rotations");
    visit("opacity_rate", c.opacity_rate, 1e-12, 1, "", "learning rate of opacities, as logits");
    visit("color_rate", c.color_rate, 1e-12, 1, "", "learning rate of the colors");
    visit("exposure_rate", c.exposure_rate, 0, 1, "",
          "learning rate of each picture's exposure, factors on red, green and blue; 0: none is learned");
    visit("threshold", c.threshold, 0, 1e3, "", "mean gradient above which a Gaussian is cloned or split");
    visit("density_gradient", c.density_gradient, "sum absolute",
          "gradient that is compared with the threshold: its sum over pixels, or the sum of their absolute "
          "values, "
          "which is larger: threshold 0.0008 is usual (AbsGS)");
    visit("antialias", c.antialias, "no yes",
          "thin Gaussians lose opacity as the low-pass widens them (Mip-Splatting's 2D filter)");
    visit("background", c.background, "scene white black random", "behind transparent pixels in training");
  }
  void validate() const {}
};

/// A set of Gaussians, its placement, and the config that it was trained with.
struct GaussianModel {
  GaussianConfig config;
  Placement placement;
  GaussianSet set;

  static constexpr const char* kind = "gaussians 1";  // written into the file
  std::vector<TensorView> tensors() const;
  std::map<std::string, std::string> metadata() const;
  void save(const std::filesystem::path& file) const;
  static GaussianModel load(const std::filesystem::path& file);
  /// Reads an opened file, a model's or a checkpoint's. Throws std::runtime_error naming the file and the
  /// damage.
  static GaussianModel read(const TensorFile& file);
};

}  // namespace klab
