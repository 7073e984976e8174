// The part of activation_fwd.cuda.01_one_each that 02_vectorized takes over as it is.

__device__ __forceinline__ float value(int64_t kind, float x) {
  switch (kind) {
    case activation::relu:
      return x > 0 ? x : 0;
    case activation::sigmoid:
      return 1 / (1 + expf(-x));
    case activation::tanh:
      return tanhf(x);
    case activation::gelu:
      return 0.5F * x * (1 + erff(x * 0.70710678F));
    case activation::swish:
      return x / (1 + expf(-x));
    default:
      return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
  }
}
