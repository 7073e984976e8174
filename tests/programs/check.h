// Shared by the test programs: errors end them with a line, results are compared.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                        \
  do {                                                                                                     \
    const cudaError_t check_error = (call);                                                                \
    if (check_error != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error)); \
      std::exit(3);                                                                                        \
    }                                                                                                      \
  } while (0)

inline void require_near(double is, double wanted, double within, const char* what) {
  if (std::fabs(is - wanted) <= within) return;
  std::fprintf(stderr, "%s is %g, not %g\n", what, is, wanted);
  std::exit(1);
}
