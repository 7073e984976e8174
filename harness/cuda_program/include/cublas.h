// The older interface of cuBLAS; its types.
#pragma once
#include <cublas_v2.h>
