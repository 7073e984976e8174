// The part of hashgrid_bwd.cuda.06_vector_reds that 07_lane_pairs and hashtable_bwd.cuda.02_vector_reds take over as it is.

/// Adds the features of an entry: by as few reds as there are where `whole`, that is, where the table is aligned to its
/// entries.
template <int kFeatures>
__device__ __forceinline__ void add_entry(float* entry, bool whole, const float (&sum)[kFeatures]) {
  if constexpr (kFeatures == 2) {
    if (whole) return cuda::add_to_global(reinterpret_cast<float2*>(entry), make_float2(sum[0], sum[1]));
  } else if constexpr (kFeatures >= 4) {
    if (whole) {
#pragma unroll
      for (int f = 0; f < kFeatures; f += 4)
        cuda::add_to_global(reinterpret_cast<float4*>(entry + f),
                            make_float4(sum[f], sum[f + 1], sum[f + 2], sum[f + 3]));
      return;
    }
  }
#pragma unroll
  for (int f = 0; f < kFeatures; ++f) cuda::add_to_global(entry + f, sum[f]);
}
