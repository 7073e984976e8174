// Lab 06: sizes at which convolution, pooling and padding, and their backwards, are checked and timed.
#include <algorithm>

#include "harness/core/lab.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"
#include "reference/pool_bwd/pool_bwd.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab {
namespace {

// Shapes of a convolution: n, groups, c, k, h, w, r, s, stride y and x, pad y and x, dilation y and x, nhwc.
const std::vector<BenchShape> kConvolutions = {
    {.name = "3x3, 64 to 64, 56x56",
     .shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0},
     .tour = true},
    {.name = "1x1, 256 to 64, 56x56", .shape = {1, 1, 256, 64, 56, 56, 1, 1, 1, 1, 0, 0, 1, 1, 0}},
    {.name = "3x3 stride 2, 128 to 256, 28x28", .shape = {1, 1, 128, 256, 28, 28, 3, 3, 2, 2, 1, 1, 1, 1, 0}},
    {.name = "5x5, 1 to 32, 28x28, 64 images", .shape = {64, 1, 1, 32, 28, 28, 5, 5, 1, 1, 2, 2, 1, 1, 0}},
    {.name = "depthwise 3x3, 64, 112x112", .shape = {1, 64, 1, 1, 112, 112, 3, 3, 1, 1, 1, 1, 1, 1, 0}},
    {.name = "3x3, 256 to 256, 28x28", .shape = {1, 1, 256, 256, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 0}},
    {.name = "channels last, 3x3, 64 to 64, 56x56",
     .shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 1}},
};

const std::vector<std::vector<int64_t>> kConvolutionChecks = {
    {0, 1, 2, 3},                        // n
    {1, 2, 3, 5},                        // groups
    {0, 1, 2, 3, 5, 8, 17},              // c
    {0, 1, 2, 3, 5, 7, 16, 33},          // k
    {0, 1, 2, 3, 5, 8, 13, 19, 31},      // h
    {0, 1, 2, 3, 5, 8, 13, 30, 57, 66},  // w
    {1, 2, 3, 4, 5, 7},                  // r
    {1, 2, 3, 4, 5, 7},                  // s
    {1, 2, 3, 4},                        // stride_y
    {1, 2, 3, 4},                        // stride_x
    {0, 1, 2, 3, 5},                     // pad_y
    {0, 1, 2, 3, 5},                     // pad_x
    {1, 2, 3},                           // dilation_y
    {1, 2, 3},                           // dilation_x
    {0, 1},                              // nhwc
    {0, 1, 2, 3, 4},                     // border
};

const std::vector<std::string> kConvolutionParameters = {"groups",     "r",     "s",     "stride_y",
                                                         "stride_x",   "pad_y", "pad_x", "dilation_y",
                                                         "dilation_x", "nhwc",  "border"};

/// Work of the CUDA rungs that fill whole tiles, regardless of the number of outputs: 8 channels of 8 x 32
/// outputs with the pixels that they see, or 64 channels of 64 pixels at a depth of whole 64s for each tap.
double busiest_convolution(ShapeView shape) {
  const auto s = shape_of<Conv2dFwd>(shape);
  const auto whole = [](int64_t size, int64_t tile) { return double((size + tile - 1) / tile); };
  const auto seen = [](int64_t outputs, int64_t stride, int64_t taps, int64_t dilation) {
    return double((outputs - 1) * stride + (taps - 1) * dilation + 1);
  };
  const double pixels = seen(8, s.stride_y, s.r, s.dilation_y) * seen(32, s.stride_x, s.s, s.dilation_x);
  const double shared = double(s.n * s.groups * s.c) * whole(s.k, 8) * whole(s.oh(), 8) * whole(s.ow(), 32) *
                        (2 * 8 * 256 * double(s.taps()) + 4 * pixels);
  const double product = double(s.groups * s.taps()) * whole(s.k, 64) * whole(s.c, 64) *
                         whole(s.n * std::max(s.oh() * s.ow(), s.h * s.w), 64) * 2 * 64 * 64 * 64;
  return std::max(shared, product);
}

// Small, with a window over every edge, two groups, and nothing that a tile divides.
const std::vector<int64_t> kConvolutionCounted = {2, 2, 5, 19, 13, 21, 3, 3, 1, 1, 1, 1, 1, 1, 0};

// Shapes of a pool: n, c, h, w, r, s, stride y and x, pad y and x, kind, nhwc.
const std::vector<BenchShape> kPools = {
    {.name = "max 2x2, 64, 112x112", .shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .tour = true},
    {.name = "max 3x3 stride 2, 64, 112x112", .shape = {1, 64, 112, 112, 3, 3, 2, 2, 1, 1, 0, 0}},
    {.name = "average 3x3, 64, 56x56", .shape = {1, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 0}},
    {.name = "average of 7x7, 512", .shape = {8, 512, 7, 7, 7, 7, 1, 1, 0, 0, 2, 0}},
    {.name = "channels last, max 2x2, 64, 112x112", .shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 1}},
};

const std::vector<std::vector<int64_t>> kPoolChecks = {
    {0, 1, 2, 3},                              // n
    {0, 1, 2, 3, 5, 17, 64},                   // c
    {1, 2, 3, 5, 8, 13, 31},                   // h
    {1, 2, 3, 5, 8, 13, 30, 33, 57, 66, 130},  // w
    {1, 2, 3, 4, 5, 7},                        // r
    {1, 2, 3, 4, 5, 7},                        // s
    {1, 2, 3, 4},                              // stride_y
    {1, 2, 3, 4},                              // stride_x
    {0, 1, 2, 3},                              // pad_y
    {0, 1, 2, 3},                              // pad_x
    {0, 1, 2},                                 // kind
    {0, 1},                                    // nhwc
    {0, 1, 2, 3, 4},                           // border
};

const std::vector<std::string> kPoolParameters = {"r",     "s",    "stride_y", "stride_x", "pad_y",
                                                  "pad_x", "kind", "nhwc",     "border"};

const std::vector<int64_t> kPoolCounted = {2, 3, 21, 37, 3, 3, 2, 2, 1, 1, 0, 0};

// Shapes of a padding: pictures, h, w, pad y and x, kind.
const std::vector<BenchShape> kPads = {
    {.name = "mean by 1, 512 pictures of 56x56", .shape = {512, 56, 56, 1, 1, 4}, .tour = true},
    {.name = "reflect by 2, 512 pictures of 56x56", .shape = {512, 56, 56, 2, 2, 3}},
    {.name = "replicate by 3, 64 pictures of 112x112", .shape = {64, 112, 112, 3, 3, 1}},
};

const std::vector<std::vector<int64_t>> kPadChecks = {
    {0, 1, 2, 3, 5},               // planes
    {1, 2, 3, 5, 8, 13, 31},       // h
    {1, 2, 3, 5, 8, 13, 33, 130},  // w
    {0, 1, 2, 3, 5, 8},            // pad_y
    {0, 1, 2, 3, 5, 8, 33},        // pad_x
    {0, 1, 2, 3, 4},               // kind
};

const std::vector<std::string> kPadParameters = {"pad_y", "pad_x", "kind"};

const std::vector<int64_t> kPadCounted = {5, 19, 37, 2, 3, 4};

KLAB_LAB({
    .title = "Convolution: the same few weights everywhere",
    .question = "How does a sum over a small window, taken at every pixel, become a matrix product, and when "
                "should it not?",
    .ops = {{.op = make_op<Conv2dFwd>(),
             .bench = kConvolutions,
             .check = kConvolutionChecks,
             .counted = kConvolutionCounted,
             .traffic = Traffic::copy,
             .busiest = busiest_convolution,
             .parameters = kConvolutionParameters},
            {.op = make_op<Conv2dBwd>(),
             .bench = kConvolutions,
             .check = kConvolutionChecks,
             .counted = kConvolutionCounted,
             .traffic = Traffic::copy,
             .parameters = kConvolutionParameters},
            {.op = make_op<PoolFwd>(),
             .bench = kPools,
             .check = kPoolChecks,
             .counted = kPoolCounted,
             .traffic = Traffic::copy,
             .huge = 1e33,
             .parameters = kPoolParameters},
            {.op = make_op<PoolBwd>(),
             .bench = kPools,
             .check = kPoolChecks,
             .counted = kPoolCounted,
             .traffic = Traffic::copy,
             .huge = 1e33,
             .parameters = kPoolParameters},
            {.op = make_op<Pad2dFwd>(),
             .bench = kPads,
             .check = kPadChecks,
             .counted = kPadCounted,
             .traffic = Traffic::copy,
             .huge = 1e30,
             .parameters = kPadParameters},
            {.op = make_op<Pad2dBwd>(),
             .bench = kPads,
             .check = kPadChecks,
             .counted = kPadCounted,
             .traffic = Traffic::copy,
             .huge = 1e30,
             .parameters = kPadParameters}},
});

}  // namespace
}  // namespace klab
