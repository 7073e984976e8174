// The part of adamw.cpu.03_threads that the same rung of momentum, nadam, nesterov and sgd takes over as it is, with their kRule and Args.

void run(const Args& x) {
  const auto update_range = HWY_DYNAMIC_DISPATCH(update);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // entries; below, waking a thread takes longer than the work
  parallel_ranges(n, n >= kWorthThreads, 16, [&](int64_t i, int64_t end) { update_range(x, i, end); });
  raise_step_counts(optimizer_step(x));
}
