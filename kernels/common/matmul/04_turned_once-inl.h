// The part of matmul_int8.cuda.04_turned_once that matmul_int8_tn.cuda.02_persistent takes over as it is.

struct Job : ByteJob<256, 4, int> {
#if KLAB_HOPPER
  /// Tiles are released when the wgmma that read them is over, which is known one step later.
  static __device__ __forceinline__ void multiply(Sum (&sums)[kColumns / 8][4], persistent::Ring<Job>& ring,
                                                  int group, int steps) {
    int before = 0;
    for (int step = 0; step < steps; ++step, ring.next()) {
      const auto& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * persistent::kGroupRows * kDepth);
      const uint64_t b = describe_k_major(tiles.b);
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kDepth / 32; ++p) multiply_s8(sums, a + p * kNextK, b + p * kNextK, step + p > 0);
      multiply_commit();
      multiply_wait<1>();
      if (step > 0) ring.release(before);
      before = ring.stage;
    }
    multiply_wait<0>();
    ring.release(before);
    settle(sums);
  }
#endif
};
