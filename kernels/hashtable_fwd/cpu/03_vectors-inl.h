// The part of hashtable_fwd.cpu.03_vectors that 04_plain_loads takes over as it is.

template <int kFeatures>
void encode(const HashtableFwd::Args<float>& x) {
  const std::vector<TableLevel> levels = table_levels(x.shape.levels, x.scales, x.sizes);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    level_of<kFeatures>(levels[size_t(l)], x, x.features + l * kFeatures * x.shape.n);
  }
}

void encode_all(const HashtableFwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return encode<1>(x);
    case 2:
      return encode<2>(x);
    case 4:
      return encode<4>(x);
    case 8:
      return encode<8>(x);
  }
}
