// The part of matmul_bwd.cpu.03_packed_simd that 04_threads takes over as it is.

// As in the forward.
constexpr int64_t kBlockDepth = 384;
constexpr int64_t kBlockRows = 16 * kRows;
constexpr int64_t kBlockColumns = 4096;

/// An operand of a product, [rows,columns] or, transposed, [columns,rows] in memory.
struct Operand {
  const float* data;
  int64_t stride;  // floats between rows in memory
  bool transposed;
};

/// Panels of kRows rows, of the block of `left` that begins at row i and column p.
void pack_left(const Operand& left, int64_t i, int64_t p, int64_t rows, int64_t depth, float* to) {
  if (left.transposed)
    sgemm::copy_panels(left.data + p * left.stride + i, left.stride, rows, depth, kRows, to);
  else
    sgemm::transpose_panels(left.data + i * left.stride + p, left.stride, rows, depth, kRows, to);
}

/// Panels of sgemm::columns() columns, of the block of `right` that begins at row p and column j.
void pack_right(const Operand& right, int64_t p, int64_t j, int64_t depth, int64_t columns, float* to) {
  if (right.transposed)
    sgemm::transpose_panels(right.data + j * right.stride + p, right.stride, columns, depth, sgemm::columns(),
                            to);
  else
    sgemm::copy_panels(right.data + p * right.stride + j, right.stride, columns, depth, sgemm::columns(), to);
}

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
