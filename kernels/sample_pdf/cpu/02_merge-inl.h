// The part of sample_pdf.cpu.02_merge that 03_threads takes over as it is.

void ray(const SamplePdf::Args<float>& x, int64_t r) {
  const int64_t bins = x.shape.bins, count = x.shape.count;
  const float *edges = x.edges + r * (bins + 1), *weights = x.weights + r * bins;
  float total = 0;
  for (int64_t b = 0; b < bins; ++b) total += weights[b] + kFloor;
  const float scale = total / float(count);
  int64_t b = 0;
  float below = 0, own = weights[0] + kFloor;
  for (int64_t j = 0; j < count; ++j) {
    const float u = (float(j) + x.jitter[r * count + j]) * scale;
    while (b + 1 < bins && below + own <= u) {
      below += own;
      own = weights[++b] + kFloor;
    }
    x.t[r * count + j] = edges[b] + std::min((u - below) / own, 1.0F) * (edges[b + 1] - edges[b]);
  }
}
