// The part of voxel_march.cuda.02_skip_words that 03_look_back takes over as it is.

/// The bits of a block: one load, where the grid begins at a word.
__device__ __forceinline__ uint64_t word_at(const uint8_t* bits) {
  if (reinterpret_cast<uintptr_t>(bits) % 8 == 0) return *reinterpret_cast<const uint64_t*>(bits);
  uint64_t word = 0;
  for (int b = 0; b < 8; ++b) word |= uint64_t(bits[b]) << (8 * b);
  return word;
}
