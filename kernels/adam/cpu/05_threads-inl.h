// The part of adam.cpu.05_threads that 06_prefetch and 08_whole_vectors take over as it is.

/// Part k of `parts` of [0, n), cut at multiples of a cache line.
int64_t cut(int64_t n, int64_t k, int64_t parts) { return k >= parts ? n : n / 16 * k / parts * 16; }

void run(const Adam::Args<float>& x) {
  const auto small_groups_of = HWY_DYNAMIC_DISPATCH(small_groups);
  const auto one_group_of = HWY_DYNAMIC_DISPATCH(one_group);
  const int64_t n = x.shape.n, group = x.shape.group;
  const bool several_a_vector = HWY_DYNAMIC_DISPATCH(lanes)() % group == 0;
  constexpr int64_t kWorthThreads = 1 << 14;  // entries; below, waking a thread takes longer than the work
#pragma omp parallel if (n >= kWorthThreads)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    if (several_a_vector) small_groups_of(x, cut(n, k, parts), cut(n, k + 1, parts));
    for (int64_t j = 0; !several_a_vector && j < Adam::groups(x.shape); ++j) {
      const int64_t begin = j * group, size = std::min(n, begin + group) - begin;
      // Small groups go to one thread each, in turn; large ones are cut. A large group that lives is found out
      // at its first gradient mostly, so every thread may look.
      const bool mine = size < kWorthThreads;
      if (mine && j % parts != k) continue;
      const bool live =
          std::any_of(x.gradient + begin, x.gradient + begin + size, [](float g) { return g != 0; });
      const int32_t steps = x.steps[j] + 1;
      if (live && mine) one_group_of(x, begin, begin + size, steps);
      if (live && !mine) one_group_of(x, begin + cut(size, k, parts), begin + cut(size, k + 1, parts), steps);
      if (!mine) {
#pragma omp barrier  // all have read the count; the same groups are large in every thread, so all come here
      }
      if (live && (mine || k == 0)) x.steps[j] = steps;
    }
  }
}
