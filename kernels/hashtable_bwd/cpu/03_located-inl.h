// The part of hashtable_bwd.cpu.03_located that 04_runs and 05_prefetch take over as it is.

template <int kFeatures>
void scatter_all(const HashtableBwd::Args<float>& x) {
  const std::vector<TableLevel> levels = table_levels(x.shape.levels, x.scales, x.sizes);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    scatter_level<kFeatures>(levels[size_t(l)], l, x);
  }
}

void scatter_any(const HashtableBwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return scatter_all<1>(x);
    case 2:
      return scatter_all<2>(x);
    case 4:
      return scatter_all<4>(x);
    case 8:
      return scatter_all<8>(x);
  }
}
