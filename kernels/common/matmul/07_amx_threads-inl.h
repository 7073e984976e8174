// The part of matmul_bf16.cpu.07_amx_threads that matmul_int8.cpu.08_amx_threads takes over as it is.

void run(const Args& x) {
  constexpr double kEnough = 1 << 20;  // products worth waking a team for
  const auto [m, n, k] = x.shape;
  const int64_t strips = (n + kBlock - 1) / kBlock, blocks = (m + kBlock - 1) / kBlock;
  const int team = double(m) * double(n) * double(k) < kEnough ? 1 : omp_get_max_threads();
  // Few strips are cut across, in whole blocks of rows.
  const int64_t cuts = std::clamp<int64_t>((team + strips - 1) / std::max<int64_t>(strips, 1), 1,
                                           std::max<int64_t>(blocks, 1));
#pragma omp parallel num_threads(team)
  tiles::on_tiles([&](auto tiles) {
    static thread_local Scratch scratch;
    auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + kDepth) / kPerWord * kBlock));
#pragma omp for schedule(static)
    for (int64_t part = 0; part < strips * cuts; ++part) {
      const int64_t j = part / cuts * kBlock, cut = part % cuts;
      pack(x, j, packed);
      strip<decltype(tiles)>(x, j, packed, std::min(x.shape.m, blocks * cut / cuts * kBlock),
                             std::min(x.shape.m, blocks * (cut + 1) / cuts * kBlock));
    }
    tiles.release();
  });
}
