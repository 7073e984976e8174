// The part of allreduce_gradients.cpu.04_vectors that 05_touched and 06_threads take over as it is.

// The owner's parameters of a few vectors: sums over all ranks stay in registers, and the result goes to
// every replica.
template <int kVectors, class D>
void move_vectors(D d, const Op::Args<float>& x, int64_t rank, int64_t i) {
  const int64_t n = x.shape.n, lanes = int64_t(hn::Lanes(d));
  const auto factor = hn::Set(d, *x.rate / float(x.shape.ranks));
  hn::Vec<D> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (int64_t q = 0; q < x.shape.ranks; ++q)
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::Add(sums[v], hn::LoadU(d, x.gradient + q * n + i + v * lanes));
  for (int v = 0; v < kVectors; ++v)
    sums[v] = hn::NegMulAdd(factor, sums[v], hn::LoadU(d, x.param + rank * n + i + v * lanes));
  for (int64_t q = 0; q < x.shape.ranks; ++q)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, x.param + q * n + i + v * lanes);
}

void move(const Op::Args<float>& x, int64_t rank, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) move_vectors<4>(d, x, rank, i);
  for (; i + lanes <= end; i += lanes) move_vectors<1>(d, x, rank, i);
  const hn::CappedTag<float, 1> one;
  for (; i < end; ++i) move_vectors<1>(one, x, rank, i);
}
