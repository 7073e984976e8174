#include "harness/timing/ceiling_kernels.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/timing/ceiling_kernels.cpp"
#include "harness/core/registrar.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The compiler must have the value ready here, and must take it and all memory for changed afterwards.
template <class T>
HWY_INLINE void keep(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

/// Twelve independent chains: enough for two units of latency four to six, and they fit AVX2's sixteen
/// registers with the two operands. x = x/2 + 1 goes to 2 and stays there: no infinity, no denormal.
template <class T>
double fma(int64_t repeats) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kSteps = 1024, kChains = 12;
  T half = T(0.5), one = T(1);
  keep(half);
  keep(one);
  const auto m = hn::Set(d, half), a = hn::Set(d, one);
  // Each chain starts elsewhere: twelve equal ones are one to an optimizing compiler.
  T start[kChains];
  for (int64_t k = 0; k < kChains; ++k) start[k] = T(k) / 8;
  keep(start);
  auto x0 = hn::Set(d, start[0]), x1 = hn::Set(d, start[1]), x2 = hn::Set(d, start[2]),
       x3 = hn::Set(d, start[3]), x4 = hn::Set(d, start[4]), x5 = hn::Set(d, start[5]),
       x6 = hn::Set(d, start[6]), x7 = hn::Set(d, start[7]), x8 = hn::Set(d, start[8]),
       x9 = hn::Set(d, start[9]), x10 = hn::Set(d, start[10]), x11 = hn::Set(d, start[11]);
  for (int64_t i = 0; i < repeats * kSteps; ++i) {
    x0 = hn::MulAdd(x0, m, a);
    x1 = hn::MulAdd(x1, m, a);
    x2 = hn::MulAdd(x2, m, a);
    x3 = hn::MulAdd(x3, m, a);
    x4 = hn::MulAdd(x4, m, a);
    x5 = hn::MulAdd(x5, m, a);
    x6 = hn::MulAdd(x6, m, a);
    x7 = hn::MulAdd(x7, m, a);
    x8 = hn::MulAdd(x8, m, a);
    x9 = hn::MulAdd(x9, m, a);
    x10 = hn::MulAdd(x10, m, a);
    x11 = hn::MulAdd(x11, m, a);
  }
  const auto s0 = hn::Add(hn::Add(x0, x1), hn::Add(x2, x3)), s1 = hn::Add(hn::Add(x4, x5), hn::Add(x6, x7)),
             s2 = hn::Add(hn::Add(x8, x9), hn::Add(x10, x11));
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), s2)));
  keep(sum);
  return double(repeats * kSteps * kChains * 2) * double(hn::Lanes(d));
}

/// exp(x) for |x| <= 87, as 2^k·e^r with k = round(x/ln 2) and |r| <= ln 2/2: ln 2 is subtracted in two parts (Cody
/// and Waite, "Software Manual for the Elementary Functions", 1980), e^r is the Taylor polynomial of degree 6, and k
/// goes into the exponent by an addition. Relative error: 1.2e-7 by the terms that are left out, and 2 roundings. A
/// better polynomial of that degree costs the same; the ends of the range are left out, as a variant may do that knows
/// its arguments.
struct Exponential {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V shift = hn::Set(d, 12582912.0F + 127.0F);  // 1.5·2^23: no bits remain behind the point
    const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), shift);
    const V k = hn::Sub(shifted, shift);
    V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375F), x);
    r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), r);
    const V r2 = hn::Mul(r, r);
    const V low = hn::MulAdd(hn::Set(d, 0.16666667F), r, hn::Set(d, 0.5F));
    const V mid = hn::MulAdd(hn::Set(d, 0.00833333F), r, hn::Set(d, 0.04166667F));
    const V high = hn::MulAdd(hn::Set(d, 0.00138889F), r2, mid);
    const V p = hn::MulAdd(hn::MulAdd(high, r2, low), r2, r);
    const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
    return hn::MulAdd(p, scale, scale);
  }
};

struct Divide {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return hn::Div(hn::Set(hn::DFromV<V>(), 1.0F), x);
  }
};

/// An estimate of 12 to 14 bits; the step doubles them.
struct DivideEstimate {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const V guess = hn::ApproximateReciprocal(x);
    return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(hn::DFromV<V>(), 1.0F)), guess);
  }
};

struct Root {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return hn::Sqrt(x);
  }
};

/// s = x·y with y near 1/sqrt(x), then s + y/2·(x - s^2).
struct RootEstimate {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const V y = hn::ApproximateReciprocalSqrt(x), s = hn::Mul(x, y);
    return hn::MulAdd(hn::Mul(y, hn::Set(hn::DFromV<V>(), 0.5F)), hn::NegMulAdd(s, s, x), s);
  }
};

/// One value for each float of the first half of the memory, four vectors at a time.
template <class Function>
double values(float* memory, int64_t bytes, int64_t repeats, Function f) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = bytes / 8 / (4 * lanes) * (4 * lanes);
  const float* in = memory;
  float* out = memory + bytes / 8;
  for (int64_t r = 0; r < repeats; ++r) {
    keep(in);
    for (int64_t i = 0; i < n; i += 4 * lanes) {
      const auto v0 = f(hn::LoadU(d, in + i)), v1 = f(hn::LoadU(d, in + i + lanes)),
                 v2 = f(hn::LoadU(d, in + i + 2 * lanes)), v3 = f(hn::LoadU(d, in + i + 3 * lanes));
      hn::StoreU(v0, d, out + i);
      hn::StoreU(v1, d, out + i + lanes);
      hn::StoreU(v2, d, out + i + 2 * lanes);
      hn::StoreU(v3, d, out + i + 3 * lanes);
    }
  }
  return double(n) * double(repeats);
}

/// Floats in each of `arrays` equal parts of a chunk, in whole steps of eight vectors.
int64_t part_of(int64_t bytes, int arrays, int64_t lanes) {
  return bytes / (arrays * 4) / (8 * lanes) * (8 * lanes);
}

double read(const float* p, int64_t bytes, int64_t repeats) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = part_of(bytes, 1, lanes);
  const auto* data = reinterpret_cast<const uint32_t*>(p);
  auto x0 = hn::Zero(d), x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, x6 = x0, x7 = x0;
  for (int64_t r = 0; r < repeats; ++r) {
    keep(data);
    for (int64_t i = 0; i < n; i += 8 * lanes) {
      const uint32_t* q = data + i;
      x0 = hn::Xor(x0, hn::Load(d, q));
      x1 = hn::Xor(x1, hn::Load(d, q + lanes));
      x2 = hn::Xor(x2, hn::Load(d, q + 2 * lanes));
      x3 = hn::Xor(x3, hn::Load(d, q + 3 * lanes));
      x4 = hn::Xor(x4, hn::Load(d, q + 4 * lanes));
      x5 = hn::Xor(x5, hn::Load(d, q + 5 * lanes));
      x6 = hn::Xor(x6, hn::Load(d, q + 6 * lanes));
      x7 = hn::Xor(x7, hn::Load(d, q + 7 * lanes));
    }
  }
  const auto s =
      hn::Xor(hn::Xor(hn::Xor(x0, x1), hn::Xor(x2, x3)), hn::Xor(hn::Xor(x4, x5), hn::Xor(x6, x7)));
  uint32_t sum = hn::GetLane(hn::SumOfLanes(d, s));
  keep(sum);
  return double(n) * 4 * double(repeats);
}

/// Four places at once, a quarter of the chunk apart: more streams for the prefetchers to follow.
double read_streams(const float* p, int64_t bytes, int64_t repeats) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = part_of(bytes, 4, lanes);
  const auto* data = reinterpret_cast<const uint32_t*>(p);
  auto x0 = hn::Zero(d), x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, x6 = x0, x7 = x0;
  for (int64_t r = 0; r < repeats; ++r) {
    keep(data);
    for (int64_t i = 0; i < n; i += 2 * lanes) {
      const uint32_t* q = data + i;
      x0 = hn::Xor(x0, hn::Load(d, q));
      x1 = hn::Xor(x1, hn::Load(d, q + lanes));
      x2 = hn::Xor(x2, hn::Load(d, q + n));
      x3 = hn::Xor(x3, hn::Load(d, q + n + lanes));
      x4 = hn::Xor(x4, hn::Load(d, q + 2 * n));
      x5 = hn::Xor(x5, hn::Load(d, q + 2 * n + lanes));
      x6 = hn::Xor(x6, hn::Load(d, q + 3 * n));
      x7 = hn::Xor(x7, hn::Load(d, q + 3 * n + lanes));
    }
  }
  const auto s =
      hn::Xor(hn::Xor(hn::Xor(x0, x1), hn::Xor(x2, x3)), hn::Xor(hn::Xor(x4, x5), hn::Xor(x6, x7)));
  uint32_t sum = hn::GetLane(hn::SumOfLanes(d, s));
  keep(sum);
  return double(n) * 16 * double(repeats);
}

template <bool kStream, class V>
HWY_INLINE void put(V v, float* p) {
  const hn::ScalableTag<float> d;
  if constexpr (kStream) {
    hn::Stream(v, d, p);
  } else {
    hn::Store(v, d, p);
  }
}

/// Fills c with load(i), kVectors at a time: all are loaded before the first is stored.
template <bool kStream, int kVectors, class Load>
HWY_INLINE void fill(float* c, int64_t n, Load load) {
  const int64_t lanes = int64_t(hn::Lanes(hn::ScalableTag<float>()));
  for (int64_t i = 0; i < n; i += kVectors * lanes) {
    if constexpr (kVectors == 1) {
      put<kStream>(load(i), c + i);
    } else {
      static_assert(kVectors == 4);
      const auto v0 = load(i), v1 = load(i + lanes), v2 = load(i + 2 * lanes), v3 = load(i + 3 * lanes);
      put<kStream>(v0, c + i);
      put<kStream>(v1, c + i + lanes);
      put<kStream>(v2, c + i + 2 * lanes);
      put<kStream>(v3, c + i + 3 * lanes);
    }
  }
}

template <bool kStream, int kVectors>
double copy(const float* a, float* c, int64_t n, int64_t repeats) {
  const hn::ScalableTag<float> d;
  for (int64_t r = 0; r < repeats; ++r) {
    keep(a);
    fill<kStream, kVectors>(c, n, [&](int64_t i) HWY_ATTR { return hn::Load(d, a + i); });
  }
  if (kStream) hwy::FlushStream();
  return double(n) * 8 * double(repeats);
}

template <bool kStream, int kVectors>
double add(const float* a, const float* b, float* c, int64_t n, int64_t repeats) {
  const hn::ScalableTag<float> d;
  for (int64_t r = 0; r < repeats; ++r) {
    keep(a);
    fill<kStream, kVectors>(
        c, n, [&](int64_t i) HWY_ATTR { return hn::Add(hn::Load(d, a + i), hn::Load(d, b + i)); });
  }
  if (kStream) hwy::FlushStream();
  return double(n) * 12 * double(repeats);
}

/// Each vector read and written back, in kStreams places at once. What is written is what was there, which the
/// compiler is not told.
template <int kStreams>
double update(float* p, int64_t bytes, int64_t repeats) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = part_of(bytes, kStreams, lanes);
  auto* data = reinterpret_cast<uint32_t*>(p);
  uint32_t nothing = 0;
  keep(nothing);
  const auto change = hn::Set(d, nothing);
  for (int64_t r = 0; r < repeats; ++r) {
    keep(data);
    for (int64_t i = 0; i < n; i += 4 * lanes)
      for (int64_t s = 0; s < kStreams; ++s) {
        uint32_t* q = data + s * n + i;
        const auto v0 = hn::Load(d, q), v1 = hn::Load(d, q + lanes);
        const auto v2 = hn::Load(d, q + 2 * lanes), v3 = hn::Load(d, q + 3 * lanes);
        hn::Store(hn::Xor(v0, change), d, q);
        hn::Store(hn::Xor(v1, change), d, q + lanes);
        hn::Store(hn::Xor(v2, change), d, q + 2 * lanes);
        hn::Store(hn::Xor(v3, change), d, q + 3 * lanes);
      }
  }
  return double(n) * kStreams * 8 * double(repeats);
}

/// The next random indices into a table of 2^bits entries: a linear congruential generator a lane (Numerical
/// Recipes' constants), of which the high bits are the good ones. They cost far less than the loads they are
/// for.
void next_indices(int32_t* index, int bits, uint32_t* state) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  // Lane l starts at another point of the sequence: multiplying the odd offsets scatters them.
  auto x = hn::Add(hn::Set(d, *state), hn::Mul(hn::Iota(d, 1), hn::Set(d, 0x9E3779B9U)));
  const auto factor = hn::Set(d, 1664525U), step = hn::Set(d, 1013904223U);
  const auto mix = hn::Set(d, 0x85EBCA6BU);
  for (int64_t i = 0; i < kGathersPerRepeat; i += lanes) {
    x = hn::Add(hn::Mul(x, factor), step);
    const auto y = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), mix);
    hn::Store(hn::ShiftRightSame(y, 32 - bits), d, reinterpret_cast<uint32_t*>(index) + i);
  }
  *state = hn::GetLane(x);
}

enum class How { simd, scalar, prefetch };

/// Random reads of entries of type T (uint32_t or uint64_t), 1024 a repeat.
template <class T, How kHow>
double gather(const T* table, int64_t bytes, int64_t repeats, uint32_t* state) {
  int bits = 0;
  while ((int64_t(2) << bits) * int64_t(sizeof(T)) <= bytes) ++bits;
  constexpr int64_t kAhead = 64;
  HWY_ALIGN int32_t index[kGathersPerRepeat + kAhead] = {};
  T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  auto v0 = hn::Zero(d), v1 = v0, v2 = v0, v3 = v0;
  for (int64_t r = 0; r < repeats; ++r) {
    next_indices(index, bits, state);
    if constexpr (kHow == How::simd) {
      const auto load = [&](int64_t i) {
        if constexpr (sizeof(T) == 4) {
          return hn::GatherIndex(d, table, hn::Load(hn::RebindToSigned<decltype(d)>(), index + i));
        } else {
          const hn::RebindToSigned<decltype(d)> di;
          return hn::GatherIndex(
              d, table, hn::PromoteTo(di, hn::LoadU(hn::Rebind<int32_t, decltype(di)>(), index + i)));
        }
      };
      for (int64_t i = 0; i < kGathersPerRepeat; i += 4 * lanes) {
        v0 = hn::Xor(v0, load(i));
        v1 = hn::Xor(v1, load(i + lanes));
        v2 = hn::Xor(v2, load(i + 2 * lanes));
        v3 = hn::Xor(v3, load(i + 3 * lanes));
      }
    } else {
      if constexpr (kHow == How::prefetch)
        for (int64_t i = 0; i < kAhead; ++i) hwy::Prefetch(table + index[i]);
      for (int64_t i = 0; i < kGathersPerRepeat; i += 4) {
        if constexpr (kHow == How::prefetch)
          for (int64_t k = 0; k < 4; ++k) hwy::Prefetch(table + index[i + kAhead + k]);
        s0 ^= table[index[i]];
        s1 ^= table[index[i + 1]];
        s2 ^= table[index[i + 2]];
        s3 ^= table[index[i + 3]];
      }
    }
  }
  T sum = (s0 ^ s1 ^ s2 ^ s3) ^ hn::GetLane(hn::SumOfLanes(d, hn::Xor(hn::Xor(v0, v1), hn::Xor(v2, v3))));
  keep(sum);
  return double(kGathersPerRepeat) * double(sizeof(T)) * double(repeats);
}

double move(CeilingLoop loop, const MoveOperands& on, int64_t repeats) {
  const int64_t n = part_of(on.n * 4, 1, int64_t(hn::Lanes(hn::ScalableTag<float>())));
  switch (loop) {
    case CeilingLoop::copy_plain:
      return copy<false, 4>(on.a, on.c, n, repeats);
    case CeilingLoop::copy_stream:
      return copy<true, 4>(on.a, on.c, n, repeats);
    case CeilingLoop::copy_stream_single:
      return copy<true, 1>(on.a, on.c, n, repeats);
    case CeilingLoop::add_plain:
      return add<false, 4>(on.a, on.b, on.c, n, repeats);
    case CeilingLoop::add_stream:
      return add<true, 4>(on.a, on.b, on.c, n, repeats);
    case CeilingLoop::add_stream_single:
      return add<true, 1>(on.a, on.b, on.c, n, repeats);
    default:
      return 0;
  }
}

double run(CeilingLoop loop, std::byte* memory, int64_t bytes, int64_t repeats, uint32_t* state) {
  float* f = reinterpret_cast<float*>(memory);
  const int64_t lanes = int64_t(hn::Lanes(hn::ScalableTag<float>()));
  const int64_t half = part_of(bytes, 2, lanes), third = part_of(bytes, 3, lanes);
  const auto* t4 = reinterpret_cast<const uint32_t*>(memory);
  const auto* t8 = reinterpret_cast<const uint64_t*>(memory);
  switch (loop) {
    case CeilingLoop::fma_f32:
      return fma<float>(repeats);
    case CeilingLoop::fma_f64:
#if HWY_HAVE_FLOAT64
      return fma<double>(repeats);
#else
      return 0;
#endif
    case CeilingLoop::exp_f32:
      return values(f, bytes, repeats, Exponential());
    case CeilingLoop::divide_f32:
      return values(f, bytes, repeats, Divide());
    case CeilingLoop::divide_estimate:
      return values(f, bytes, repeats, DivideEstimate());
    case CeilingLoop::root_f32:
      return values(f, bytes, repeats, Root());
    case CeilingLoop::root_estimate:
      return values(f, bytes, repeats, RootEstimate());
    case CeilingLoop::read:
      return read(f, bytes, repeats);
    case CeilingLoop::read_streams:
      return read_streams(f, bytes, repeats);
    case CeilingLoop::copy_plain:
    case CeilingLoop::copy_stream:
    case CeilingLoop::copy_stream_single:
      return move(loop, {f, nullptr, f + half, half}, repeats);
    case CeilingLoop::add_plain:
    case CeilingLoop::add_stream:
    case CeilingLoop::add_stream_single:
      return move(loop, {f, f + third, f + 2 * third, third}, repeats);
    case CeilingLoop::update:
      return update<1>(f, bytes, repeats);
    case CeilingLoop::update_streams:
      return update<4>(f, bytes, repeats);
    case CeilingLoop::gather4_simd:
      return gather<uint32_t, How::simd>(t4, bytes, repeats, state);
    case CeilingLoop::gather4_scalar:
      return gather<uint32_t, How::scalar>(t4, bytes, repeats, state);
    case CeilingLoop::gather4_prefetch:
      return gather<uint32_t, How::prefetch>(t4, bytes, repeats, state);
    case CeilingLoop::gather8_simd:
      return gather<uint64_t, How::simd>(t8, bytes, repeats, state);
    case CeilingLoop::gather8_scalar:
      return gather<uint64_t, How::scalar>(t8, bytes, repeats, state);
    case CeilingLoop::gather8_prefetch:
      return gather<uint64_t, How::prefetch>(t8, bytes, repeats, state);
  }
  return 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {
HWY_EXPORT(run);
HWY_EXPORT(move);
KLAB_VECTOR_CODE(ceilings);
}  // namespace

double run_ceiling_loop(CeilingLoop loop, std::byte* memory, int64_t bytes, int64_t repeats,
                        uint32_t* state) {
  return HWY_DYNAMIC_DISPATCH(run)(loop, memory, bytes, repeats, state);
}

double run_move_loop(CeilingLoop loop, const MoveOperands& on, int64_t repeats) {
  return HWY_DYNAMIC_DISPATCH(move)(loop, on, repeats);
}

}  // namespace klab
#endif
