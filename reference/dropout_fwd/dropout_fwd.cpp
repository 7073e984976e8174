#include "reference/dropout_fwd/dropout_fwd.h"

#include <cmath>

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {

namespace {

/// Takes seeds until a word is a p that a float holds, and makes p that word or the next float: the element is kept just so, or
/// dropped just so. By itself a word equals the threshold once in 2^32 elements.
void meet_threshold(const DropoutFwd::Args<float>& x, Generator& random) {
  constexpr uint32_t kLargest = 0xE6000000;  // 0.9 of 2^32: 1 - p loses no more digits than usual
  constexpr int kSeeds = 4096;
  for (int seed = 0; seed < kSeeds && x.shape.n > 0; ++seed) {
    const auto i = int64_t(random() % uint64_t(x.shape.n));
    const auto block = uint64_t(i) / 4;
    const auto words = dropout::random_words(
        {uint32_t(block), uint32_t(block >> 32), x.offset[0], x.offset[1]}, {x.seed[0], x.seed[1]});
    const uint32_t word = words[size_t(i % 4)];
    if (word < kLargest && uint32_t(float(word)) == word) {
      const float p = float(word) * 0x1p-32F;
      *const_cast<float*>(x.p) = random() % 2 ? p : std::nextafter(p, 1.0F);
      return;
    }
    ++const_cast<uint32_t*>(x.seed)[0];
  }
}

}  // namespace

void DropoutFwd::arrange(const Args<float>& x, Generator& random) {
  constexpr float choices[] = {0.5F, 0.1F, 0.9F, 0.0F, 0.3F};
  *const_cast<float*>(x.p) = choices[random() % 5];  // arrange() owns the inputs
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  const_cast<uint32_t*>(x.offset)[0] = uint32_t(random() % 1000);
  const_cast<uint32_t*>(x.offset)[1] = uint32_t(random() % 3);
  if (!random.widely) return;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.offset)[k] = uint32_t(random());
  meet_threshold(x, random);
}

bool DropoutFwd::keeps(float p, const uint32_t* seed, const uint32_t* offset, int64_t i) {
  const auto block = uint64_t(i) / 4;
  const auto words = dropout::random_words({uint32_t(block), uint32_t(block >> 32), offset[0], offset[1]},
                                           {seed[0], seed[1]});
  return words[size_t(i % 4)] >= uint32_t(p * 0x1p32F);
}

void DropoutFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.y[i] = keeps(float(*x.p), x.seed, x.offset, i) ? x.x[i] / (1 - *x.p) : 0;
    magnitude.y[i] = std::abs(x.y[i]);
  }
}

}  // namespace klab
