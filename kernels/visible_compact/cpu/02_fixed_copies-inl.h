// The part of visible_compact.cpu.02_fixed_copies that 03_threads takes over as it is.

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
