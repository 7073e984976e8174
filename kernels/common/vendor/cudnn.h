// cuDNN's convolutions for the variants that compare with them. Loaded when first asked for, as cuBLAS is: where the library is
// missing only these variants are.
//
//   cudnn::supported(host, shape)                       "" or the reason why not
//   cudnn::forward(shape, x, w, b, y)                   device memory, on cuda::stream()
//   cudnn::backward(shape, x, w, d_y, d_x, d_w, d_b)
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/common/cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#if !KLAB_SIMT && __has_include(<cudnn.h>)
#define KLAB_HAVE_CUDNN 1
#include <cudnn.h>
#include <dlfcn.h>
#else
#define KLAB_HAVE_CUDNN 0
#endif

namespace klab::cudnn {

#if KLAB_HAVE_CUDNN

namespace detail {

// clang-format off: a list, one name a line
#define KLAB_CUDNN_CALLS(DO)                         \
  DO(cudnnCreate)                                    \
  DO(cudnnSetStream)                                 \
  DO(cudnnCreateTensorDescriptor)                    \
  DO(cudnnSetTensor4dDescriptor)                     \
  DO(cudnnCreateFilterDescriptor)                    \
  DO(cudnnSetFilter4dDescriptor)                     \
  DO(cudnnCreateConvolutionDescriptor)               \
  DO(cudnnSetConvolution2dDescriptor)                \
  DO(cudnnSetConvolutionGroupCount)                  \
  DO(cudnnSetConvolutionMathType)                    \
  DO(cudnnGetConvolutionForwardWorkspaceSize)        \
  DO(cudnnConvolutionForward)                        \
  DO(cudnnAddTensor)                                 \
  DO(cudnnGetConvolutionBackwardDataWorkspaceSize)   \
  DO(cudnnConvolutionBackwardData)                   \
  DO(cudnnGetConvolutionBackwardFilterWorkspaceSize) \
  DO(cudnnConvolutionBackwardFilter)                 \
  DO(cudnnConvolutionBackwardBias)
// clang-format on

struct Library {
  std::string why_not;
#define KLAB_CUDNN_POINTER(name) decltype(&::name) name = nullptr;
  KLAB_CUDNN_CALLS(KLAB_CUDNN_POINTER)
#undef KLAB_CUDNN_POINTER
  cudnnHandle_t handle = nullptr;
};

inline Library load() {
  Library library;
  const std::string versioned = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
  void* object = dlopen(versioned.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    library.why_not = versioned + " was not found on this machine";
    return library;
  }
#define KLAB_CUDNN_FIND(name)                                                    \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(object, #name)); \
  if (library.name == nullptr) library.why_not = versioned + " has no " #name;
  KLAB_CUDNN_CALLS(KLAB_CUDNN_FIND)
#undef KLAB_CUDNN_FIND
  return library;
}
#undef KLAB_CUDNN_CALLS

inline Library& library() {
  static Library one = load();
  return one;
}

inline void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + " failed with status " + std::to_string(int(status)));
}

/// Descriptors of one layer. Kept for the life of the program: a few hundred bytes for each shape that was asked for last.
struct Layer {
  cudnnTensorDescriptor_t x{}, y{}, b{};
  cudnnFilterDescriptor_t w{};
  cudnnConvolutionDescriptor_t how{};

  Layer() {
    Library& l = library();
    if (!l.why_not.empty()) throw std::runtime_error(l.why_not);
    if (l.handle == nullptr) {
      check(l.cudnnCreate(&l.handle), "cudnnCreate");
      check(l.cudnnSetStream(l.handle, cuda::stream()), "cudnnSetStream");
    }
    for (cudnnTensorDescriptor_t* one : {&x, &y, &b})
      check(l.cudnnCreateTensorDescriptor(one), "cudnnCreateTensorDescriptor");
    check(l.cudnnCreateFilterDescriptor(&w), "cudnnCreateFilterDescriptor");
    check(l.cudnnCreateConvolutionDescriptor(&how), "cudnnCreateConvolutionDescriptor");
  }

  void set(const Conv2dShape& s) {
    Library& l = library();
    const cudnnTensorFormat_t format = s.nhwc != 0 ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const int channels = int(s.out_channels());
    check(l.cudnnSetTensor4dDescriptor(x, format, CUDNN_DATA_FLOAT, int(s.n), int(s.in_channels()), int(s.h),
                                       int(s.w)),
          "cudnnSetTensor4dDescriptor of x");
    check(l.cudnnSetTensor4dDescriptor(y, format, CUDNN_DATA_FLOAT, int(s.n), channels, int(s.oh()),
                                       int(s.ow())),
          "cudnnSetTensor4dDescriptor of y");
    check(l.cudnnSetTensor4dDescriptor(b, format, CUDNN_DATA_FLOAT, 1, channels, 1, 1),
          "cudnnSetTensor4dDescriptor of b");
    check(l.cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, channels, int(s.c), int(s.r),
                                       int(s.s)),
          "cudnnSetFilter4dDescriptor");
    check(l.cudnnSetConvolution2dDescriptor(how, int(s.pad_y), int(s.pad_x), int(s.stride_y), int(s.stride_x),
                                            int(s.dilation_y), int(s.dilation_x), CUDNN_CROSS_CORRELATION,
                                            CUDNN_DATA_FLOAT),
          "cudnnSetConvolution2dDescriptor");
    check(l.cudnnSetConvolutionGroupCount(how, int(s.groups)), "cudnnSetConvolutionGroupCount");
    check(l.cudnnSetConvolutionMathType(how, CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");  // no TF32
  }
};

inline Layer& layer_of(const Conv2dShape& s) {
  static Layer one;
  one.set(s);
  return one;
}

}  // namespace detail

template <class Host>
std::string supported(const Host& host, const Conv2dShape& s) {
  const std::string no = cuda::needs_gpu(host, 50);
  if (!no.empty()) return no;
  if (std::min({s.n, s.c, s.k, s.h, s.w}) == 0) return "cuDNN takes no tensors without elements";
  if (s.nhwc != 0) return "cuDNN's float kernels for NHWC want weights in that order, too";
  if (std::max({s.n * s.in_channels() * s.h * s.w, s.n * s.out_channels() * s.oh() * s.ow()}) >
      std::numeric_limits<int32_t>::max())
    return "cuDNN takes tensors of less than 2^31 elements";
  return detail::library().why_not;
}

/// y = conv(x, w) + b, in float, by the implicit product. Throws std::runtime_error with the status of a call that fails.
inline void forward(const Conv2dShape& s, const float* x, const float* w, const float* b, float* y) {
  constexpr auto algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  const float one = 1, zero = 0;
  detail::Layer& l = detail::layer_of(s);
  detail::Library& c = detail::library();
  size_t bytes = 0;
  detail::check(c.cudnnGetConvolutionForwardWorkspaceSize(c.handle, l.x, l.w, l.how, l.y, algorithm, &bytes),
                "cudnnGetConvolutionForwardWorkspaceSize");
  cuda::Scratch space(bytes);
  detail::check(c.cudnnConvolutionForward(c.handle, &one, l.x, x, l.w, w, l.how, algorithm, space.as<void>(),
                                          bytes, &zero, l.y, y),
                "cudnnConvolutionForward");
  detail::check(c.cudnnAddTensor(c.handle, &one, l.b, b, &one, l.y, y), "cudnnAddTensor");
}

/// The three gradients. Throws as forward().
inline void backward(const Conv2dShape& s, const float* x, const float* w, const float* d_y, float* d_x,
                     float* d_w, float* d_b) {
  constexpr auto of_data = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
  constexpr auto of_weights = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
  const float one = 1, zero = 0;
  detail::Layer& l = detail::layer_of(s);
  detail::Library& c = detail::library();
  size_t for_data = 0, for_weights = 0;
  detail::check(
      c.cudnnGetConvolutionBackwardDataWorkspaceSize(c.handle, l.w, l.y, l.how, l.x, of_data, &for_data),
      "cudnnGetConvolutionBackwardDataWorkspaceSize");
  detail::check(c.cudnnGetConvolutionBackwardFilterWorkspaceSize(c.handle, l.x, l.y, l.how, l.w, of_weights,
                                                                 &for_weights),
                "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  cuda::Scratch space(std::max(for_data, for_weights));
  detail::check(c.cudnnConvolutionBackwardData(c.handle, &one, l.w, w, l.y, d_y, l.how, of_data,
                                               space.as<void>(), for_data, &zero, l.x, d_x),
                "cudnnConvolutionBackwardData");
  detail::check(c.cudnnConvolutionBackwardFilter(c.handle, &one, l.x, x, l.y, d_y, l.how, of_weights,
                                                 space.as<void>(), for_weights, &zero, l.w, d_w),
                "cudnnConvolutionBackwardFilter");
  detail::check(c.cudnnConvolutionBackwardBias(c.handle, &one, l.y, d_y, &zero, l.b, d_b),
                "cudnnConvolutionBackwardBias");
}

#else

template <class Host>
std::string supported(const Host& host, const Conv2dShape&) {
  const std::string no = cuda::needs_gpu(host, 50);
  return no.empty() ? "cuDNN's headers were not found when klab was built" : no;
}

inline void forward(const Conv2dShape&, const float*, const float*, const float*, float*) {
  throw std::logic_error("cuDNN runs on a GPU only");
}
inline void backward(const Conv2dShape&, const float*, const float*, const float*, float*, float*, float*) {
  throw std::logic_error("cuDNN runs on a GPU only");
}

#endif

}  // namespace klab::cudnn
