// The part of mlp_bwd.cpu.07_threads that 08_prefetch takes over as it is.

void run(const MlpBwd::Args<float>& x) {
  const int64_t n = x.shape.n, tiles = (n + kShare - 1) / kShare, weights = x.shape.weights();
  std::vector<float> gradients;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
#pragma omp single
    gradients.resize(size_t(team * weights));
    const int64_t begin = tiles * me / team * kShare, end = std::min(n, tiles * (me + 1) / team * kShare);
    if (begin < end) HWY_DYNAMIC_DISPATCH(network)(x, begin, end, gradients.data() + me * weights);
  }
  for (size_t i = 0; i < gradients.size(); i += size_t(weights))
    for (size_t k = 0; k < size_t(weights); ++k) x.d_weights[k] += gradients[i + k];
}
