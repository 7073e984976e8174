// wrong: none of them will write it
// The host waits for a kernel that waits for the host.
__global__ void wait(const volatile int* flag) {
  while (*flag == 0) {  // found
  }
}
int main() {
  int* flag;
  cudaMallocManaged(&flag, sizeof *flag);
  *flag = 0;
  wait<<<1, 1>>>(flag);
  const bool timed_out = cudaDeviceSynchronize() == cudaErrorLaunchTimeout;
  cudaDeviceReset();
  return timed_out ? 0 : 3;
}
