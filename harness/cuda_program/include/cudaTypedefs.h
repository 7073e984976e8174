// Types of the driver's functions, for programs that ask the runtime for their addresses.
#pragma once
#include <cuda.h>

typedef decltype(&cuTensorMapEncodeTiled) PFN_cuTensorMapEncodeTiled;
typedef PFN_cuTensorMapEncodeTiled PFN_cuTensorMapEncodeTiled_v12000;
typedef decltype(&cuTensorMapEncodeIm2col) PFN_cuTensorMapEncodeIm2col;
typedef PFN_cuTensorMapEncodeIm2col PFN_cuTensorMapEncodeIm2col_v12000;
typedef decltype(&cuTensorMapReplaceAddress) PFN_cuTensorMapReplaceAddress;
typedef PFN_cuTensorMapReplaceAddress PFN_cuTensorMapReplaceAddress_v12000;
