// Variables and functions of the device that other files define.
#pragma once

extern __constant__ int edges[5];
extern __device__ unsigned below, counts[4];
extern __device__ int factor;

__device__ int bin_of(int x);
__global__ void count(const int* x, int n);
void set_edges(const int* list);
