"""Twenty mistakes that were drawn from lessons and contracts before the answers were looked at, one for each lab that has steps: the step,
the rung's file, the replacements, and two patterns as in planted.py: of what failing cases have in common, and of the first mistake."""

RUNNING_SUM = """  if (n == 0) return;
  static_cast<void>(group);
  float sum = 0;
  for (int64_t i = 0; i < r; ++i) sum += x.x[i];
  for (int64_t i = 0; i < n; ++i) {
    if (i + r < n) sum += x.x[i + r];
    if (i - r - 1 >= 0) sum -= x.x[i - r - 1];
    x.y[i] = sum;
  }
"""

DRAWN = [
    ("01.02", "vector_add/cpu/02_simd.cpp",
     [("  for (; i < n; ++i) x.c[i] = x.a[i] + x.b[i];\n", "")],
     r"n mod \d+ > 0", r"elements without an owner\?"),
    ("02.02", "window_sum/cpu/02_running_sum.cpp",
     [("  for (int64_t first = 0; first < n; first += 2 * r + 1) group(x.x, x.y, n, r, first);\n", RUNNING_SUM)],
     r"", r"(errors that are carried along|not accurate enough)\?"),
    ("02.cuda.02", "window_sum/cuda/02_shared_tile.cu",
     [("    __syncthreads();  // all have read the piece before\n", "")],
     r"r > 64", r"missing barrier\?"),
    ("03.02", "transpose/cpu/02_blocked.cpp",
     [("i1 = std::min(m, i0 + kSide), j1 = std::min(n, j0 + kSide);", "i1 = i0 + kSide, j1 = j0 + kSide;")],
     r"", r"(written beyond an array|unguarded edge)"),
    ("04.02", "softmax_xent_fwd/cpu/02_accumulators.cpp",
     [("std::exp(row[j + k] - largest)", "std::exp(row[j + k])"),
      ("std::exp(row[j] - largest)", "std::exp(row[j])"),
      ("+ (largest - row[x.labels[i]])", "- row[x.labels[i]]")],
     r"huge or wide inputs", r"an overflow\?"),
    ("04.cuda.03", "softmax_xent_fwd/cuda/03_warp_shuffle.cu",
     [("for (int w = 1; w < kWarps; ++w) sum", "for (int w = 1; w < kWarps - 1; ++w) sum")],
     r"c > \d", r""),
    ("05.04", "matmul/cpu/04_cache_tile.cpp",
     [("x.c + ic * n + jc, n, pc > 0);", "x.c + ic * n + jc, n, false);")],
     r"k > 256", r""),
    ("06.02", "conv2d_fwd/cpu/02_loop_order.cpp",
     [("to / s.k * s.c + c, row", "c, row")],
     r"", r""),
    ("07.02", "layernorm_fwd/cpu/02_accumulators.cpp",
     [("std::sqrt(squares / float(c) +", "std::sqrt(squares / float(c - 1) +")],
     r"", r""),
    ("08.02", "adam/cpu/02_fused.cpp",
     [("(std::sqrt(x.v[i] / correct2) + h[Adam::epsilon])", "std::sqrt(x.v[i] / correct2 + h[Adam::epsilon])")],
     r"denormal or wide inputs", r"not accurate enough\?.*epsilon"),
    ("09.02", "cast/cpu/02_bits.cpp",
     [("((1U << (drop - 1)) - 1) + (size >> drop & 1U) - rebias", "(1U << (drop - 1)) - rebias")],
     r"", r"one term\?.*off by 1: .*rounding"),
    ("10.02", "hashgrid_fwd/cpu/02_level_major.cpp",
     [("x.features[(l * s.features + f) * s.n + i] = sum[f]", "x.features[(i * s.levels + l) * s.features + f] = sum[f]")],
     r"", r""),
    ("11.02", "sh_fwd/cpu/02_factored.cpp",
     [("put(0.94617469575755997F * zz - 0.31539156525252001F);", "put(0.94617469575755997F * zz);")],
     r"degree > 2", r"one term\?.*0\.315.*row 6"),
    ("12.02", "mlp_fwd/cpu/02_layer_by_layer.cpp",
     [("1 / (1 + std::exp(-x.y[i]))", "1 / (1 + std::exp(x.y[i]))")],
     r"", r"a function of the result\?.*1 minus"),
    ("13.04", "ray_march/cpu/04_threads.cpp",
     [("#pragma omp parallel\n  {\n    std::vector<float> one(static_cast<size_t>(s.max_samples));\n", "  std::vector<float> one(static_cast<size_t>(s.max_samples));\n#pragma omp parallel\n  {\n")],
     r"", r"threads in one place\?"),
    ("14.02", "composite_fwd/cpu/02_alpha_first.cpp",
     [("    float transmittance = 1, red = 0,", "    float red = 0,"),
      ("  for (int64_t r = 0; r < rays; ++r) {\n", "  float transmittance = 1;\n  for (int64_t r = 0; r < rays; ++r) {\n")],
     r"", r"(one part of the output|one factor)\?.*outside the first column"),
    ("15.gs_rasterize_fwd.cuda.02", "gs_rasterize_fwd/cuda/02_shared_batches.cu",
     [("  bool ended = !inside;\n", "  if (!inside) return;\n  bool ended = false;\n")],
     r"", r"a barrier not all threads reach\?"),
    ("18.03", "allreduce_gradients/cpu/03_sharded.cpp",
     [("if (q != rank) std::copy_n", "if (q > rank) std::copy_n")],
     r"ranks > 1", r"old contents\?"),
    ("20.scan.cuda.02", "scan/cuda/02_three_kernels.cu",
     [("  for (int w = 0; w < warp; ++w) start += of_warps[w];\n", "")],
     r"n > 512", r""),
    ("21.02", "cell_distance/cpu/02_two_passes.cpp",
     [("for (int64_t i = x.shape.cells() - 1; i >= 0; --i)", "for (int64_t i = 0; i < x.shape.cells(); ++i)")],
     r"", r""),
]
