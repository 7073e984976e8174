// The part of allreduce_gradients.cpu.05_touched that 06_threads takes over as it is.

// Returns whether any element is not zero (of either sign); infinities and NaN count as gradients.
bool holds_gradient(const float* g, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto bits = [&](int64_t i) HWY_ATTR { return hn::BitCast(du, hn::LoadU(d, g + i)); };
  auto any = hn::Zero(du);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes)
    any = hn::Or(any,
                 hn::Or(hn::Or(bits(i), bits(i + lanes)), hn::Or(bits(i + 2 * lanes), bits(i + 3 * lanes))));
  for (; i + lanes <= count; i += lanes) any = hn::Or(any, bits(i));
  uint32_t rest = 0;
  for (; i < count; ++i) rest |= std::bit_cast<uint32_t>(g[i]);
  const bool in_lanes = !hn::AllTrue(du, hn::Eq(hn::ShiftLeft<1>(any), hn::Zero(du)));
  return in_lanes | (rest << 1 != 0);
}

// Blocks [from, to), at most kRun, of the part of `rank`; the bytes that ranks send are added to `sent`. A
// bit goes to the block's owner first, then the values where it is set, and back come the parameters of a
// block that some rank has touched. All bits come first and make a list: a branch on a bit just read would be
// mispredicted every third time, and each time wait for memory.
void exchange_run(const Op::Args<float>& x, int64_t rank, int64_t from, int64_t to, int64_t* sent) {
  const Op::Shape& s = x.shape;
  std::array<int64_t, kRun> list;
  size_t listed = 0;
  for (int64_t b = from; b < to; ++b) {
    const int64_t begin = b * s.block, count = std::min(s.block, s.n - begin);
    int64_t any = 0;
    for (int64_t q = 0; q < s.ranks; ++q) {
      const int64_t touched = holds_gradient(x.gradient + q * s.n + begin, count);
      any |= touched;
      sent[q] += touched * (q != rank) * 4 * count;
    }
    sent[rank] += any * (s.ranks - 1) * 4 * count;
    list[listed] = begin;
    listed += size_t(any);
  }
  // Gradients that were not sent are added as zeros.
  for (size_t k = 0; k < listed; ++k) move(x, rank, list[k], std::min(s.n, list[k] + s.block));
}

void exchange(const Op::Args<float>& x, int64_t rank, int64_t from, int64_t to, int64_t* sent) {
  for (int64_t b = from; b < to; b += kRun) exchange_run(x, rank, b, std::min(to, b + kRun), sent);
}
