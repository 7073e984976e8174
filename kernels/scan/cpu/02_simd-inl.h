// The part of scan.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<uint32_t, 8>;
using V = hn::Vec<Tag>;

/// Writes y of elements [i, end), before which the sum is `sum`.
void scan_run(const Scan::Args<float>& x, int64_t i, int64_t end, uint32_t sum) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  if (lanes >= 4) {
    uint32_t last[8], fourth[8];
    for (uint32_t k = 0; k < 8; ++k) last[k] = uint32_t(lanes - 1), fourth[k] = 3;
    const auto to_last = hn::SetTableIndices(d, last), to_fourth = hn::SetTableIndices(d, fourth);
    V before = hn::Set(d, sum);
    for (; i + lanes <= end; i += lanes) {
      const V own = hn::LoadU(d, x.x + i);
      V up_to = hn::Add(own, hn::ShiftLeftLanes<1>(d, own));  // within four lanes
      up_to = hn::Add(up_to, hn::ShiftLeftLanes<2>(d, up_to));
      up_to = hn::Add(up_to, hn::IfThenZeroElse(hn::FirstN(d, 4), hn::TableLookupLanes(up_to, to_fourth)));
      hn::StoreU(hn::Add(before, hn::Sub(up_to, own)), d, x.y + i);
      before = hn::Add(before, hn::TableLookupLanes(up_to, to_last));
    }
    sum = hn::GetLane(before);
  }
  for (; i < end; ++i) {
    x.y[i] = sum;
    sum += x.x[i];
  }
}
