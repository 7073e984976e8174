// cuFFT on the host: plans, and their execution in stream order. Transforms are made in double precision, by KissFFT where
// klab was built with it, and are not scaled, as cuFFT's (cuFFT manual, "Data Layout", "Advanced Data Layout").
#include <cufft.h>

#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "harness/cuda_program/library_calls.h"
#ifdef KLAB_HAVE_KISSFFT
#include <kissfft/kissfft.hh>
#endif

namespace klab::program {
namespace {

using Complex = std::complex<double>;

/// A transform of one length and direction.
class Transform {
 public:
#ifdef KLAB_HAVE_KISSFFT
  Transform(size_t n, bool inverse) : n_(n), of_(n, inverse) {}
  void operator()(const Complex* from, Complex* to) {
    if (n_ == 1)
      *to = *from;
    else
      of_.transform(from, to);
  }

 private:
  size_t n_;
  kissfft<double> of_;
#else
  Transform(size_t n, bool inverse) : n_(n), roots_(n) {
    for (size_t k = 0; k < n; ++k)
      roots_[k] = std::polar(1.0, (inverse ? 2 : -2) * 3.14159265358979323846 * double(k) / double(n));
  }
  void operator()(const Complex* from, Complex* to) { transform(from, to, n_, 1); }

 private:
  /// Transforms n numbers that lie `step` apart: one transform for each remainder by the least factor, then their sums.
  void transform(const Complex* from, Complex* to, size_t n, size_t step) {
    if (n == 1) {
      *to = *from;
      return;
    }
    size_t factor = 2;
    while (n % factor != 0) factor = factor * factor > n ? n : factor + 1;
    const size_t m = n / factor;
    for (size_t r = 0; r < factor; ++r) transform(from + r * step, to + r * m, m, step * factor);
    std::vector<Complex> sums(factor);
    for (size_t k = 0; k < m; ++k) {
      for (size_t q = 0; q < factor; ++q) {
        sums[q] = 0;
        for (size_t r = 0; r < factor; ++r) sums[q] += to[r * m + k] * roots_[r * (k + q * m) % n * step];
      }
      for (size_t q = 0; q < factor; ++q) to[q * m + k] = sums[q];
    }
  }
  size_t n_;
  std::vector<Complex> roots_;
#endif
};

/// Where the numbers of one side lie: element (x, y, z) of batch b at b dist + ((x rows[1] + y) rows[2] + z) step.
struct Layout {
  std::array<int64_t, 3> rows{1, 1, 1};
  int64_t step = 1, dist = 0;
  int64_t at(int64_t b, int64_t x, int64_t y, int64_t z) const {
    return b * dist + ((x * rows[1] + y) * rows[2] + z) * step;
  }
};

struct Plan {
  bool made = false;
  std::array<int64_t, 3> n{1, 1, 1};
  cufftType type = CUFFT_C2C;
  int64_t batch = 1;
  bool basic = true;  // rows without gaps
  Layout from, to;    // if not
  cudaStream_t stream = nullptr;
};

std::map<cufftHandle, Plan>& plans() {
  static auto& list = *new std::map<cufftHandle, Plan>;
  return list;
}
Plan* plan_of(cufftHandle handle) {
  const auto at = plans().find(handle);
  return at == plans().end() ? nullptr : &at->second;
}
cufftHandle new_handle() {
  static cufftHandle last = 0;
  plans()[++last] = {};
  return last;
}

bool from_real(cufftType t) { return t == CUFFT_R2C || t == CUFFT_D2Z; }
bool to_real(cufftType t) { return t == CUFFT_C2R || t == CUFFT_Z2D; }
bool is_type(cufftType t) { return t == CUFFT_C2C || t == CUFFT_Z2Z || from_real(t) || to_real(t); }

struct Shape {
  int rank;
  const long long* n;
  const long long* from_rows;  // nullptr: no gaps
  long long from_step, from_dist;
  const long long* to_rows;
  long long to_step, to_dist;
};

cufftResult check(int rank, const long long* n, cufftType type, long long batch) {
  if (rank < 1 || rank > 3 || n == nullptr) return CUFFT_INVALID_VALUE;
  if (!is_type(type)) return CUFFT_INVALID_TYPE;
  long long all = 1;
  for (int k = 0; k < rank; ++k)
    if (n[k] <= 0 || __builtin_mul_overflow(all, n[k], &all)) return CUFFT_INVALID_SIZE;
  return batch <= 0 || all > (1LL << 31) ? CUFFT_INVALID_SIZE : CUFFT_SUCCESS;
}

/// Describes the transform. The work of a plan takes no memory of the device.
cufftResult make(cufftHandle handle, const Shape& s, cufftType type, long long batch, size_t* work) {
  Plan* plan = plan_of(handle);
  if (plan == nullptr || plan->made) return CUFFT_INVALID_PLAN;
  if (work == nullptr) return CUFFT_INVALID_VALUE;
  if (const cufftResult bad = check(s.rank, s.n, type, batch); bad != CUFFT_SUCCESS) return bad;
  Plan made{.made = true, .n = {}, .type = type, .batch = batch, .stream = plan->stream};
  made.n = {1, 1, 1};
  made.basic = s.from_rows == nullptr || s.to_rows == nullptr;
  if (!made.basic) {
    if (s.from_step < 1 || s.to_step < 1 || s.from_dist < 0 || s.to_dist < 0) return CUFFT_INVALID_VALUE;
    made.from.step = s.from_step, made.from.dist = s.from_dist;
    made.to.step = s.to_step, made.to.dist = s.to_dist;
  }
  for (int k = 0; k < s.rank; ++k) {
    const size_t axis = size_t(3 - s.rank + k);
    made.n[axis] = s.n[k];
    if (made.basic) continue;
    made.from.rows[axis] = s.from_rows[k];
    made.to.rows[axis] = s.to_rows[k];
  }
  *plan = made;
  *work = 0;
  return CUFFT_SUCCESS;
}

cufftResult make_basic(cufftHandle plan, const std::vector<long long>& n, cufftType type, long long batch,
                       size_t* work) {
  return make(plan, {int(n.size()), n.data(), nullptr, 1, 0, nullptr, 1, 0}, type, batch, work);
}

/// Makes a plan with a handle of its own.
template <class Make>
cufftResult with_handle(cufftHandle* plan, Make make_it) {
  if (plan == nullptr) return CUFFT_INVALID_VALUE;
  const cufftHandle handle = new_handle();
  size_t work = 0;
  const cufftResult result = make_it(handle, &work);
  if (result != CUFFT_SUCCESS)
    plans().erase(handle);
  else
    *plan = handle;
  return result;
}

/// The layout of numbers without gaps. `padded`: real numbers of a transform in place, whose rows take as much as the
/// complex ones.
Layout without_gaps(const Plan& p, int64_t row, bool padded) {
  Layout l;
  l.rows = {p.n[0], p.n[1], padded ? 2 * (p.n[2] / 2 + 1) : row};
  l.dist = l.rows[0] * l.rows[1] * l.rows[2];
  return l;
}

/// Calls `each(first, count)` for the runs of neighbors of one batch; strided elements are runs of one.
template <class Each>
void each_run(const Plan& p, const Layout& l, int64_t b, int64_t row, Each each) {
  for (int64_t x = 0; x < p.n[0]; ++x)
    for (int64_t y = 0; y < p.n[1]; ++y)
      if (l.step == 1)
        each(l.at(b, x, y, 0), row);
      else
        for (int64_t z = 0; z < row; ++z) each(l.at(b, x, y, z), int64_t(1));
}

template <class T>
Complex value_of(const T& v) {
  if constexpr (std::is_floating_point_v<T>)
    return v;
  else
    return {v.x, v.y};
}
template <class T>
void set(T& to, Complex v) {
  if constexpr (std::is_floating_point_v<T>)
    to = T(v.real());
  else
    to.x = decltype(to.x)(v.real()), to.y = decltype(to.y)(v.imag());
}

/// Transforms along each dimension in place.
void transform(std::vector<Complex>& all, const std::array<int64_t, 3>& n, bool inverse) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto length = size_t(n[size_t(axis)]);
    if (length == 1) continue;
    Transform line(length, inverse);
    size_t step = 1;
    for (int k = axis + 1; k < 3; ++k) step *= size_t(n[size_t(k)]);
    std::vector<Complex> from(length), to(length);
    for (size_t first = 0; first < all.size(); ++first) {
      if (first / step % length != 0) continue;
      for (size_t k = 0; k < length; ++k) from[k] = all[first + k * step];
      line(from.data(), to.data());
      for (size_t k = 0; k < length; ++k) all[first + k * step] = to[k];
    }
  }
}

template <class From, class To>
cufftResult run(const char* name, cufftType type, cufftHandle handle, From* from, To* to, int direction) {
  Plan* const found = plan_of(handle);
  if (found == nullptr || !found->made) return CUFFT_INVALID_PLAN;
  if (from == nullptr || to == nullptr || (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) ||
      found->type != type)
    return CUFFT_INVALID_VALUE;
  const Plan p = *found;
  const cudaError_t error = library_call(name, p.stream, [=](LibraryCall& call) {
    const int64_t half = p.n[2] / 2 + 1, in_row = to_real(type) ? half : p.n[2],
                  out_row = from_real(type) ? half : p.n[2];
    const bool in_place = static_cast<const void*>(from) == to;
    const Layout in = p.basic ? without_gaps(p, in_row, in_place && from_real(type)) : p.from;
    const Layout out = p.basic ? without_gaps(p, out_row, in_place && to_real(type)) : p.to;
    // All batches are read before the first is written: their places may overlap.
    std::vector<std::vector<Complex>> batches(size_t(p.batch),
                                              std::vector<Complex>(size_t(p.n[0] * p.n[1] * p.n[2])));
    for (int64_t b = 0; b < p.batch; ++b) {
      each_run(p, in, b, in_row,
               [&](int64_t at, int64_t count) { call.reads(from + at, sizeof(From) * size_t(count)); });
      size_t k = 0;
      for (int64_t x = 0; x < p.n[0]; ++x)
        for (int64_t y = 0; y < p.n[1]; ++y)
          for (int64_t z = 0; z < p.n[2]; ++z, ++k) {
            if (z < in_row) {
              batches[size_t(b)][k] = value_of(from[in.at(b, x, y, z)]);
              continue;
            }
            // The half that is not stored is the conjugate of the other.
            const int64_t u = (p.n[0] - x) % p.n[0], v = (p.n[1] - y) % p.n[1];
            batches[size_t(b)][k] = std::conj(value_of(from[in.at(b, u, v, p.n[2] - z)]));
          }
    }
    for (int64_t b = 0; b < p.batch; ++b) {
      std::vector<Complex>& all = batches[size_t(b)];
      transform(all, p.n, direction == CUFFT_INVERSE);
      each_run(p, out, b, out_row,
               [&](int64_t at, int64_t count) { call.writes(to + at, sizeof(To) * size_t(count)); });
      size_t k = 0;
      for (int64_t x = 0; x < p.n[0]; ++x)
        for (int64_t y = 0; y < p.n[1]; ++y)
          for (int64_t z = 0; z < p.n[2]; ++z, ++k)
            if (z < out_row) set(to[out.at(b, x, y, z)], all[k]);
    }
  });
  return error == cudaSuccess                     ? CUFFT_SUCCESS
         : error == cudaErrorMemoryAllocation     ? CUFFT_ALLOC_FAILED
         : error == cudaErrorInvalidDevicePointer ? CUFFT_INVALID_VALUE
                                                  : CUFFT_EXEC_FAILED;
}

/// Checks a plan that is not made, and says how much memory its work takes.
cufftResult estimate(const std::vector<long long>& n, cufftType type, long long batch, size_t* work) {
  if (work == nullptr) return CUFFT_INVALID_VALUE;
  *work = 0;
  return check(int(n.size()), n.data(), type, batch);
}

cufftResult with_plan(cufftHandle handle, const std::function<void(Plan&)>& what) {
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  what(*plan);
  return CUFFT_SUCCESS;
}

/// Calls of the library from several threads are serialized, as those of the runtime are.
template <class Body>
cufftResult locked(Body body) {
  cufftResult result = CUFFT_INTERNAL_ERROR;
  api([&] { result = body(); }, true);
  return result;
}

}  // namespace
}  // namespace klab::program

using namespace klab::program;

extern "C" {
cufftResult cufftPlan1d(cufftHandle* plan, int nx, cufftType type, int batch) {
  return locked([&] {
    return with_handle(plan,
                       [&](cufftHandle p, size_t* work) { return make_basic(p, {nx}, type, batch, work); });
  });
}
cufftResult cufftPlan2d(cufftHandle* plan, int nx, int ny, cufftType type) {
  return locked([&] {
    return with_handle(plan, [&](cufftHandle p, size_t* work) {
      return make_basic(p, {nx, ny}, type, 1, work);
    });
  });
}
cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type) {
  return locked([&] {
    return with_handle(plan, [&](cufftHandle p, size_t* work) {
      return make_basic(p, {nx, ny, nz}, type, 1, work);
    });
  });
}
cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed, int istride, int idist,
                          int* onembed, int ostride, int odist, cufftType type, int batch) {
  return locked([&] {
    return with_handle(plan, [&](cufftHandle p, size_t* work) {
      return cufftMakePlanMany(p, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                               work);
    });
  });
}
cufftResult cufftCreate(cufftHandle* plan) {
  if (plan == nullptr) return CUFFT_INVALID_VALUE;
  return locked([&] {
    *plan = new_handle();
    return CUFFT_SUCCESS;
  });
}
cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t* work) {
  return locked([&] { return make_basic(plan, {nx}, type, batch, work); });
}
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t* work) {
  return locked([&] { return make_basic(plan, {nx, ny}, type, 1, work); });
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t* work) {
  return locked([&] { return make_basic(plan, {nx, ny, nz}, type, 1, work); });
}
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int* n, int* inembed, int istride, int idist,
                              int* onembed, int ostride, int odist, cufftType type, int batch, size_t* work) {
  if (rank < 1 || rank > 3 || n == nullptr) return CUFFT_INVALID_VALUE;
  const std::vector<long long> sizes(n, n + rank),
      from(inembed, inembed == nullptr ? inembed : inembed + rank),
      to(onembed, onembed == nullptr ? onembed : onembed + rank);
  return locked([&] {
    return make(plan,
                {rank, sizes.data(), inembed == nullptr ? nullptr : from.data(), istride, idist,
                 onembed == nullptr ? nullptr : to.data(), ostride, odist},
                type, batch, work);
  });
}
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long int* n, long long int* inembed,
                                long long int istride, long long int idist, long long int* onembed,
                                long long int ostride, long long int odist, cufftType type,
                                long long int batch, size_t* work) {
  return locked([&] {
    return make(plan, {rank, n, inembed, istride, idist, onembed, ostride, odist}, type, batch, work);
  });
}
cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t* work) {
  return estimate({nx}, type, batch, work);
}
cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t* work) {
  return estimate({nx, ny}, type, 1, work);
}
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t* work) {
  return estimate({nx, ny, nz}, type, 1, work);
}
cufftResult cufftGetSize(cufftHandle plan, size_t* work) {
  if (work == nullptr) return CUFFT_INVALID_VALUE;
  return locked([&] { return with_plan(plan, [&](Plan&) { *work = 0; }); });
}
cufftResult cufftGetSize1d(cufftHandle plan, int nx, cufftType type, int batch, size_t* work) {
  const cufftResult known = cufftGetSize(plan, work);
  return known != CUFFT_SUCCESS ? known : estimate({nx}, type, batch, work);
}
cufftResult cufftGetSize2d(cufftHandle plan, int nx, int ny, cufftType type, size_t* work) {
  const cufftResult known = cufftGetSize(plan, work);
  return known != CUFFT_SUCCESS ? known : estimate({nx, ny}, type, 1, work);
}
cufftResult cufftGetSize3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t* work) {
  const cufftResult known = cufftGetSize(plan, work);
  return known != CUFFT_SUCCESS ? known : estimate({nx, ny, nz}, type, 1, work);
}
cufftResult cufftSetWorkArea(cufftHandle plan, void*) {
  return locked([&] { return with_plan(plan, [](Plan&) {}); });
}
cufftResult cufftSetAutoAllocation(cufftHandle plan, int) {
  return locked([&] { return with_plan(plan, [](Plan&) {}); });
}
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
  return locked([&] { return with_plan(plan, [&](Plan& p) { p.stream = stream; }); });
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* from, cufftComplex* to, int direction) {
  return locked([&] { return run("cufftExecC2C", CUFFT_C2C, plan, from, to, direction); });
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* from, cufftComplex* to) {
  return locked([&] { return run("cufftExecR2C", CUFFT_R2C, plan, from, to, CUFFT_FORWARD); });
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* from, cufftReal* to) {
  return locked([&] { return run("cufftExecC2R", CUFFT_C2R, plan, from, to, CUFFT_INVERSE); });
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction) {
  return locked([&] { return run("cufftExecZ2Z", CUFFT_Z2Z, plan, from, to, direction); });
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* from, cufftDoubleComplex* to) {
  return locked([&] { return run("cufftExecD2Z", CUFFT_D2Z, plan, from, to, CUFFT_FORWARD); });
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleReal* to) {
  return locked([&] { return run("cufftExecZ2D", CUFFT_Z2D, plan, from, to, CUFFT_INVERSE); });
}
cufftResult cufftDestroy(cufftHandle plan) {
  return locked([&] { return plans().erase(plan) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; });
}
cufftResult cufftGetVersion(int* version) {
  if (version == nullptr) return CUFFT_INVALID_VALUE;
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}
cufftResult cufftGetProperty(libraryPropertyType property, int* value) {
  if (value == nullptr || property > PATCH_LEVEL) return CUFFT_INVALID_VALUE;
  *value = property == MAJOR_VERSION ? CUFFT_VER_MAJOR : property == MINOR_VERSION ? 2 : 0;
  return CUFFT_SUCCESS;
}
}
