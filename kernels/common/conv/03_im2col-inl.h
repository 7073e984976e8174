// The part of conv2d_fwd.cpu.03_im2col that conv2d_bwd.cpu.03_im2col takes over as it is.

/// An operand of a product, [rows,columns] or, transposed, [columns,rows] in memory.
struct Operand {
  const float* data;
  int64_t stride;  // floats between rows in memory
  bool transposed;
};

/// C[rows,columns] += the product of packed blocks, rows of C `stride` floats apart.
void block(int64_t rows, int64_t columns, int64_t depth, const float* a, const float* b, float* c,
           int64_t stride) {
  for (int64_t j = 0; j < columns; j += sgemm::columns())
    for (int64_t i = 0; i < rows; i += kRows) {
      const int64_t height = std::min(kRows, rows - i), width = std::min(sgemm::columns(), columns - j);
      if (height == kRows && width == sgemm::columns())
        sgemm::tile(depth, a + i * depth, b + j * depth, c + i * stride + j, stride, true);
      else
        sgemm::edge_tile(height, width, depth, a + i * depth, b + j * depth, c + i * stride + j, stride,
                         true);
    }
}

/// C[m,n] += left[m,k]·right[k,n], rows of C `stride` floats apart.
void add_product(int64_t m, int64_t n, int64_t k, const Operand& left, const Operand& right, float* c,
                 int64_t stride) {
  static thread_local Scratch left_scratch, right_scratch;
  const int64_t most_depth = std::min(k, kBlockDepth), columns_of_tile = sgemm::columns();
  float* a = left_scratch.floats(whole(std::min(m, kBlockRows), kRows) * most_depth);
  float* b = right_scratch.floats(whole(std::min(n, kBlockColumns), columns_of_tile) * most_depth);
  for (int64_t jc = 0; jc < n; jc += kBlockColumns)
    for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
      const int64_t columns = std::min(kBlockColumns, n - jc), depth = std::min(kBlockDepth, k - pc);
      if (right.transposed)
        sgemm::transpose_panels(right.data + jc * right.stride + pc, right.stride, columns, depth,
                                columns_of_tile, b);
      else
        sgemm::copy_panels(right.data + pc * right.stride + jc, right.stride, columns, depth, columns_of_tile,
                           b);
      for (int64_t ic = 0; ic < m; ic += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, m - ic);
        if (left.transposed)
          sgemm::copy_panels(left.data + pc * left.stride + ic, left.stride, rows, depth, kRows, a);
        else
          sgemm::transpose_panels(left.data + ic * left.stride + pc, left.stride, rows, depth, kRows, a);
        block(rows, columns, depth, a, b, c + ic * stride + jc, stride);
      }
    }
}
