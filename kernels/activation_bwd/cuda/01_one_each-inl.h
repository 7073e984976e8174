// The part of activation_bwd.cuda.01_one_each that 02_vectorized takes over as it is.

__device__ __forceinline__ float logistic(float x) { return 1 / (1 + expf(-x)); }

__device__ __forceinline__ float slope(int64_t kind, float x) {
  switch (kind) {
    case activation::relu:
      return x > 0 ? 1 : 0;
    case activation::sigmoid: {
      const float s = logistic(x);
      return s * (1 - s);
    }
    case activation::tanh: {
      const float t = tanhf(x);
      return 1 - t * t;
    }
    case activation::gelu:
      return 0.5F * (1 + erff(x * 0.70710678F)) + x * expf(-0.5F * x * x) * 0.39894228F;
    case activation::swish: {
      const float s = logistic(x);
      return s * (1 + x * (1 - s));
    }
    default:
      return logistic(x);
  }
}
