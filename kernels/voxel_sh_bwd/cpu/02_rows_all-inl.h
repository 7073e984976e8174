// The part of voxel_sh_bwd.cpu.02_rows that 03_prefetch takes over as it is.

void all_points(const VoxelShBwd::Args<float>& x) {
  switch (x.shape.basis) {
    case 0:
      return points<0>(x);
    case 1:
      return points<1>(x);
    case 4:
      return points<4>(x);
    default:
      return points<9>(x);
  }
}
