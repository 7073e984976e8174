// cuRAND's host side: fills memory with the numbers that one thread of a kernel would draw (curand_kernel.h).
#include <curand_kernel.h>

#include <set>
#include <variant>

#include "harness/cuda_program/library_calls.h"
#include "harness/simt/memory.h"

struct curandGenerator_st {
  std::variant<curandStateXORWOW_t, curandStatePhilox4_32_10_t, curandStateMRG32k3a_t> state;
  unsigned long long seed = 0, offset = 0;
  bool begun = false, of_host = false;
  cudaStream_t stream = nullptr;
};

namespace klab::program {
namespace {

std::set<curandGenerator_t>& generators() {
  static auto& list = *new std::set<curandGenerator_t>;
  return list;
}
bool is_generator(curandGenerator_t g) {
  const std::lock_guard lock(state().mutex);
  return generators().contains(g);
}

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool of_host) {
  auto made = std::make_unique<curandGenerator_st>();
  made->of_host = of_host;
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
      break;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      made->state = curandStatePhilox4_32_10_t{};
      break;
    case CURAND_RNG_PSEUDO_MRG32K3A:
      made->state = curandStateMRG32k3a_t{};
      break;
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32:
      absent("curandCreateGenerator with this generator", "cuRAND");
    default:
      return CURAND_STATUS_TYPE_ERROR;
  }
  const std::lock_guard lock(state().mutex);
  generators().insert(*generator = made.release());
  return CURAND_STATUS_SUCCESS;
}

template <class T, class Draw>
curandStatus_t generate(const char* name, curandGenerator_t g, T* to, size_t n, bool in_pairs, Draw draw) {
  if (!is_generator(g)) return CURAND_STATUS_NOT_INITIALIZED;
  if (in_pairs && n % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  const auto all = [=](T* out) {
    std::visit(
        [&](auto& s) {
          if (!std::exchange(g->begun, true)) curand_init(g->seed, 0, g->offset, &s);
          for (size_t k = 0; k < n; ++k) out[k] = draw(&s);
        },
        g->state);
  };
  if (g->of_host) {
    written_by_host(to, n * sizeof(T));
    all(to);
    return CURAND_STATUS_SUCCESS;
  }
  const cudaError_t error = library_call(name, g->stream, [=](LibraryCall& call) {
    call.writes(to, n * sizeof(T));
    all(to);
  });
  return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

}  // namespace
}  // namespace klab::program

using namespace klab::program;

extern "C" {
curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  const std::lock_guard lock(state().mutex);
  if (generators().erase(generator) == 0) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;
  generator->begun = false;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  generator->offset = offset;
  generator->begun = false;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t) {
  return is_generator(generator) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return is_generator(generator) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}
curandStatus_t curandGenerate(curandGenerator_t g, unsigned* to, size_t n) {
  return generate("curandGenerate", g, to, n, false, [](auto* s) { return curand(s); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t g, float* to, size_t n) {
  return generate("curandGenerateUniform", g, to, n, false, [](auto* s) { return curand_uniform(s); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t g, double* to, size_t n) {
  return generate("curandGenerateUniformDouble", g, to, n, false,
                  [](auto* s) { return curand_uniform_double(s); });
}
curandStatus_t curandGenerateNormal(curandGenerator_t g, float* to, size_t n, float mean, float deviation) {
  return generate("curandGenerateNormal", g, to, n, true,
                  [=](auto* s) { return mean + deviation * curand_normal(s); });
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double* to, size_t n, double mean,
                                          double deviation) {
  return generate("curandGenerateNormalDouble", g, to, n, true,
                  [=](auto* s) { return mean + deviation * curand_normal_double(s); });
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t g, float* to, size_t n, float mean,
                                       float deviation) {
  return generate("curandGenerateLogNormal", g, to, n, true,
                  [=](auto* s) { return curand_log_normal(s, mean, deviation); });
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t g, double* to, size_t n, double mean,
                                             double deviation) {
  return generate("curandGenerateLogNormalDouble", g, to, n, true,
                  [=](auto* s) { return curand_log_normal_double(s, mean, deviation); });
}
curandStatus_t curandGeneratePoisson(curandGenerator_t g, unsigned* to, size_t n, double lambda) {
  return generate("curandGeneratePoisson", g, to, n, false,
                  [=](auto* s) { return curand_poisson(s, lambda); });
}
curandStatus_t curandGetVersion(int* version) {
  *version = 10300;
  return CURAND_STATUS_SUCCESS;
}
}
