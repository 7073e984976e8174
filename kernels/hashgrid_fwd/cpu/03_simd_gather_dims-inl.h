// The part of hashgrid_fwd.cpu.03_simd_gather that the later rungs take over as it is.

template <int kDim>
void encode_dim(const HashgridFwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return encode<kDim, 1>(x);
    case 2:
      return encode<kDim, 2>(x);
    case 4:
      return encode<kDim, 4>(x);
    case 8:
      return encode<kDim, 8>(x);
  }
}

void encode_all(const HashgridFwd::Args<float>& x) { x.shape.dim == 3 ? encode_dim<3>(x) : encode_dim<2>(x); }
