// The part of transpose.cpu.10_realign that 11_whole_lines and 12_row_runs take over as it is.

constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kBeyond = 1000000;  // elements from which on they are streamed

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// About 1 / parts of `size`, a multiple of sixteen.
int64_t even_part(int64_t size, int64_t parts) { return ceil_div(ceil_div(size, parts), 16) * 16; }

// How the matrix is cut: tiles of `rows` x `cols` elements, numbered along the rows first.
struct Tiling {
  int64_t rows, cols;
};

// A band; 4 kB of each input row.
constexpr Tiling kBands{32, 1024};

// Panels at most as wide as any_tile can take, and tall, so that few lines are cut; the same number for each
// thread. A matrix too narrow for that is cut across.
Tiling panels(int64_t m, int64_t n, int64_t threads) {
  constexpr int64_t kWide = 1024, kNarrow = 64, kTall = 8192, kShort = 256;
  const int64_t across = ceil_div(ceil_div(n, kWide), threads) * threads;
  const int64_t down = ceil_div(m, kTall);
  if (n / across >= kNarrow) return {even_part(m, down), even_part(n, across)};
  return {std::max(even_part(m, ceil_div(down, threads) * threads), kShort), kWide};
}

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool plain = m * n < kBeyond;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Tiling tiling = plain || aligned ? kBands : panels(m, n, omp_get_max_threads());
  const int64_t down = ceil_div(m, tiling.rows), across = ceil_div(n, tiling.cols);
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * tiling.rows, j = t % across * tiling.cols;
    const int64_t rows = std::min(tiling.rows, m - i), j_end = std::min(n, j + tiling.cols);
    if (plain) {
      HWY_DYNAMIC_DISPATCH(plain_tile)(x, i, rows, j, j_end);
    } else if (aligned) {
      HWY_DYNAMIC_DISPATCH(aligned_tile)(x, i, rows, j, j_end);
    } else {
      HWY_DYNAMIC_DISPATCH(any_tile)(x, i, i + rows, j, j_end);
    }
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();
    return;
  }
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();  // once a thread: the lines it streamed become visible to the others
  }
}
