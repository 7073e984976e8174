// The part of matmul.cpu.06_threads that 07_skinny takes over as it is.

/// C[rows,columns] = or += the product of packed blocks.
void block(int64_t rows, int64_t columns, int64_t depth, const float* a, const float* b, float* c, int64_t n,
           bool add) {
  for (int64_t j = 0; j < columns; j += sgemm::columns())
    for (int64_t i = 0; i < rows; i += kRows) {
      const int64_t height = std::min(kRows, rows - i), width = std::min(sgemm::columns(), columns - j);
      if (height == kRows && width == sgemm::columns())
        sgemm::tile(depth, a + i * depth, b + j * depth, c + i * n + j, n, add);
      else
        sgemm::edge_tile(height, width, depth, a + i * depth, b + j * depth, c + i * n + j, n, add);
    }
}

/// A part of C: rows [i0, i1) and columns [j0, j1).
struct Rectangle {
  int64_t i0, i1, j0, j1;
};

void multiply_part(const Matmul::Args<float>& x, const Rectangle& part) {
  static thread_local Scratch a_scratch, b_scratch;
  const auto [m, n, k] = x.shape;
  const int64_t most_depth = std::min(k, kBlockDepth);
  float* a_packed = a_scratch.floats(whole(std::min(part.i1 - part.i0, kBlockRows), kRows) * most_depth);
  float* b_packed =
      b_scratch.floats(whole(std::min(part.j1 - part.j0, kBlockColumns), sgemm::columns()) * most_depth);
  for (int64_t jc = part.j0; jc < part.j1; jc += kBlockColumns)
    for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
      const int64_t columns = std::min(kBlockColumns, part.j1 - jc);
      const int64_t depth = std::min(kBlockDepth, k - pc);
      sgemm::copy_panels(x.b + pc * n + jc, n, columns, depth, sgemm::columns(), b_packed);
      for (int64_t ic = part.i0; ic < part.i1; ic += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, part.i1 - ic);
        sgemm::transpose_panels(x.a + ic * k + pc, k, rows, depth, kRows, a_packed);
        block(rows, columns, depth, a_packed, b_packed, x.c + ic * n + jc, n, pc > 0);
      }
    }
}

struct Grid {
  int64_t rows, columns;
};

/// Chooses how to cut C among threads: the grid whose largest rectangle has the fewest tiles, because the
/// slowest thread sets the time. Among equals it takes the one whose rectangle has the shortest sides,
/// because those are packed.
Grid choose_grid(const Matmul::Shape& s, int64_t threads) {
  const int64_t tile_rows = whole(s.m, kRows) / kRows;
  const int64_t tile_columns = whole(s.n, sgemm::columns()) / sgemm::columns();
  const auto cost = [&](int64_t rows, int64_t columns) {
    const int64_t height = (tile_rows + rows - 1) / rows, width = (tile_columns + columns - 1) / columns;
    return std::pair(height * width, height * kRows + width * sgemm::columns());
  };
  Grid best{1, 1};
  for (int64_t rows = 1; rows <= threads; ++rows)
    if (cost(rows, threads / rows) < cost(best.rows, best.columns)) best = {rows, threads / rows};
  return best;
}

/// The part-th of `parts` nearly equal shares of [0, size), in whole panels, begins here.
int64_t cut(int64_t size, int64_t panel, int64_t part, int64_t parts) {
  return std::min(size, whole(size, panel) / panel * part / parts * panel);
}

/// As many threads as there are portions of work that take several times as long as waking a thread.
int choose_threads(const Matmul::Shape& s) {
  constexpr double portion = 5e5;  // operations: some microseconds
  const double portions = 2.0 * double(s.m) * double(s.n) * double(s.k) / portion;
  return std::max(1, int(std::min(portions, double(omp_get_max_threads()))));
}
