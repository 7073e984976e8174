// visible_compact.cpu.03_threads: rows shared out among the cores.
//
// CHANGE   each thread takes rows.
// EXPECT   near the number of cores: a row has its own cache lines.
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

constexpr int64_t kShort = 8;

struct Run {
  int32_t from, to, copied, zeros;
};

std::vector<Run> runs_of(const VisibleCompact::Args<float>& x) {
  const VisibleCompact::Shape& s = x.shape;
  std::vector<Run> runs;
  runs.reserve(size_t(s.rays));
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t n =
        std::min<int64_t>(x.visible_begin[r + 1] - x.visible_begin[r], s.first + s.most) - s.first;
    if (n <= 0) continue;
    const int64_t had = std::min<int64_t>(n, x.begin[r + 1] - x.begin[r]);
    runs.push_back({x.begin[r], int32_t(x.visible_begin[r] + s.first), int32_t(had), int32_t(n - had)});
  }
  return runs;
}

void copy_row(const std::vector<Run>& runs, const float* from, int64_t looked, float* to) {
  for (size_t k = 0; k < runs.size(); ++k) {
    const Run& run = runs[k];
    // Copies eight at once if the elements after this run belong to the next one, or are written after it.
    const bool room = k + 1 < runs.size() && run.zeros == 0 && run.copied <= kShort &&
                      run.to + run.copied == runs[k + 1].to &&
                      run.to + kShort <= runs[k + 1].to + runs[k + 1].copied && run.from + kShort <= looked;
    if (room)
      std::memcpy(to + run.to, from + run.from, kShort * sizeof(float));
    else
      std::memcpy(to + run.to, from + run.from, size_t(run.copied) * sizeof(float));
    std::fill_n(to + run.to + run.copied, run.zeros, 0.0F);
  }
}

void run(const VisibleCompact::Args<float>& x) {
  const std::vector<Run> runs = runs_of(x);
#pragma omp parallel for schedule(static) if (x.shape.rows > 1 && runs.size() > 128)
  for (int64_t row = 0; row < x.shape.rows; ++row)
    copy_row(runs, x.source + row * x.shape.looked, x.shape.looked, x.target + row * x.shape.samples);
}

KLAB_VARIANT(VisibleCompact, {.run = run, .parent = "02_fixed_copies", .tiles = {8, 128}});

}  // namespace
}  // namespace klab
