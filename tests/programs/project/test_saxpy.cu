#include <cstdio>

#include "saxpy.h"

int main() {
  float x[3] = {1, 2, 3}, y[3] = {4, 5, 6};
  if (saxpy(10, x, y, 3) != nullptr || y[0] != 14 || y[1] != 25 || y[2] != 36) return 1;
  std::printf("right\n");
}
