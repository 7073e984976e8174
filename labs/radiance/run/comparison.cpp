#include "labs/radiance/run/comparison.h"

#include <vector>

#include "labs/radiance/scene/image.h"

namespace klab {

void save_comparison(const std::filesystem::path& file, const View& view, const Picture& picture,
                     bool black) {
  const std::vector<float> truth = ground_truth(view, black);
  std::vector<uint8_t> pixels;
  for (int y = 0; y < picture.height; ++y)
    for (const auto* side : {&picture.rgb, &truth})
      for (int i = 0; i < 3 * picture.width; ++i)
        pixels.push_back(to_byte((*side)[size_t(y) * size_t(picture.width) * 3 + size_t(i)]));
  save_png(file, 2 * picture.width, picture.height, 3, pixels);
}

}  // namespace klab
