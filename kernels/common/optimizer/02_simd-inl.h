// The part of adamw.cpu.02_simd that 03_threads, and both rungs of momentum, nadam, nesterov and sgd take over as it is, with their kRule and Args.

void update(const Args& x, int64_t begin, int64_t end) {
  optimizer_range<kRule>(optimizer_step(x), begin, end);
}
