// Where matmul_fp8 turns: the largest and the smallest numbers of e4m3, and both zeros.
#include "reference/boundaries.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {
namespace {

constexpr int kSign = 0x80, kLargest = 0x7E, kNormal = 8;

const Boundary<MatmulFp8> kZeros("-0 of e4m3", {"a", "b"}, {}, kEither, [](const auto& x, Sides& met) {
  for (int64_t i = 0; i < x.shape.m * x.shape.k; ++i) met.holds(x.a[i] == kSign);
});
const Boundary<MatmulFp8> kLast("largest number of e4m3", {"a", "b"}, {}, kEither,
                                [](const auto& x, Sides& met) {
                                  for (int64_t i = 0; i < x.shape.m * x.shape.k; ++i)
                                    met.holds((x.a[i] & ~kSign) == kLargest);
                                });
const Boundary<MatmulFp8> kDenormal("smallest normal number of e4m3", {"a", "b"}, {}, kThreeSides,
                                    [](const auto& x, Sides& met) {
                                      for (int64_t i = 0; i < x.shape.m * x.shape.k; ++i)
                                        met.compare(x.a[i] & ~kSign, kNormal);
                                    });

}  // namespace
}  // namespace klab
