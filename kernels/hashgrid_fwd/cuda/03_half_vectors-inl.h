// The part of hashgrid_fwd.cuda.03_half_vectors that 04_lane_pairs takes over as it is.

/// The two halves of a word.
__device__ __forceinline__ void widen(uint32_t word, float* value) {
  __half2 pair;
  memcpy(static_cast<void*>(&pair), &word, sizeof(pair));
  value[0] = __low2float(pair);
  value[1] = __high2float(pair);
}

/// All features of an entry: one load where `whole`, that is, where the table is aligned to its entries.
template <int kFeatures>
__device__ __forceinline__ void load_entry(const __half* __restrict__ entry, bool whole, float* value) {
  if constexpr (kFeatures == 1) {
    value[0] = __half2float(entry[0]);
  } else if (!whole) {
    for (int f = 0; f < kFeatures; ++f) value[f] = __half2float(entry[f]);
  } else if constexpr (kFeatures == 2) {
    widen(*reinterpret_cast<const uint32_t*>(entry), value);
  } else if constexpr (kFeatures == 4) {
    const uint2 words = *reinterpret_cast<const uint2*>(entry);
    widen(words.x, value);
    widen(words.y, value + 2);
  } else {
    const uint4 words = *reinterpret_cast<const uint4*>(entry);
    widen(words.x, value);
    widen(words.y, value + 2);
    widen(words.z, value + 4);
    widen(words.w, value + 6);
  }
}
