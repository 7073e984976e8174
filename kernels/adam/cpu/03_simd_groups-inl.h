// The part of adam.cpu.03_simd that 05_threads, 06_prefetch and 08_whole_vectors take over as it is.

void small_groups(const Adam::Args<float>& x, int64_t begin, int64_t end) {
  switch (x.shape.group) {
    case 1:
      return groups_of<0>(x, begin, end);
    case 2:
      return groups_of<1>(x, begin, end);
    case 4:
      return groups_of<2>(x, begin, end);
    case 8:
      return groups_of<3>(x, begin, end);
    case 16:
      return groups_of<4>(x, begin, end);
  }
}

int64_t lanes() { return int64_t(hn::Lanes(hn::CappedTag<float, 16>())); }
