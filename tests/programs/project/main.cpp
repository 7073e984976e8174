#include <cstdio>
#include <cstdlib>
#include <vector>

#include "saxpy.h"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 100;
  std::vector<float> x(n), y(n);
  for (int k = 0; k < n; ++k) x[k] = float(k), y[k] = 1;
  if (const char* error = saxpy(2, x.data(), y.data(), n)) {
    std::printf("%s\n", error);
    return 1;
  }
  for (int k = 0; k < n; ++k)
    if (y[k] != 2 * float(k) + 1) return 1;
  std::printf("%d right on %s\n", n, device_name());
}
