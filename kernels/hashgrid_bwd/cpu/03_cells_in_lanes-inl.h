// The part of hashgrid_bwd.cpu.03_cells_in_lanes that 05_runs, 06_read_first and 08_no_gaps take over as it is.

template <int kDim, int kFeatures>
void scatter_all(const HashgridBwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    if (levels[size_t(l)].dense) {
      scatter_level<kDim, kFeatures, true>(levels[size_t(l)], l, x);
    } else {
      scatter_level<kDim, kFeatures, false>(levels[size_t(l)], l, x);
    }
  }
}

template <int kDim>
void scatter_dim(const HashgridBwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return scatter_all<kDim, 1>(x);
    case 2:
      return scatter_all<kDim, 2>(x);
    case 4:
      return scatter_all<kDim, 4>(x);
    case 8:
      return scatter_all<kDim, 8>(x);
  }
}

void scatter_any(const HashgridBwd::Args<float>& x) {
  x.shape.dim == 3 ? scatter_dim<3>(x) : scatter_dim<2>(x);
}
