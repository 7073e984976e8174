// The part of hashgrid_fwd.cpu.07_read_first that 09_plain_loads takes over as it is.

/// Points of a level, for one thread.
struct Task {
  int64_t level, begin, end;
};

/// The finest level first. A level that is shared has a task for each thread.
std::vector<Task> tasks_of(const HashgridShape& shape, const std::vector<HashgridLevel>& levels) {
  const int64_t threads = omp_get_max_threads();
  // One part a level; more where threads are more than half as many as levels.
  const int64_t alone = (2 * threads + shape.levels - 1) / shape.levels;
  std::vector<Task> tasks;
  for (int64_t l = shape.levels - 1; l >= 0; --l) {
    const int64_t bytes = levels[size_t(l)].entries * shape.features * 4;
    const bool share = touches_most(shape.n / threads / 2, shape.dim, bytes);
    const int64_t parts = share ? threads : alone;
    const int64_t size = (shape.n / parts + kHashgridLanes) / kHashgridLanes * kHashgridLanes;
    for (int64_t begin = 0; begin < shape.n; begin += size)
      tasks.push_back({l, begin, std::min(shape.n, begin + size)});
  }
  return tasks;
}

template <int kDim, int kFeatures>
void encode(const HashgridFwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
  const std::vector<Task> tasks = tasks_of(x.shape, levels);
#pragma omp parallel for schedule(dynamic)
  for (const Task& task : tasks) {
    const HashgridLevel& level = levels[size_t(task.level)];
    float* out = x.features + task.level * kFeatures * x.shape.n;
    if (level.dense) {
      chunk_of<kDim, kFeatures, true>(level, x, task.begin, task.end, out);
    } else {
      chunk_of<kDim, kFeatures, false>(level, x, task.begin, task.end, out);
    }
  }
}
