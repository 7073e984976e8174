// Runs the ceilings' loops on all threads at once and finds which of a ceiling's methods is the fastest here.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "harness/buffers.h"
#include "harness/ceiling_kernels.h"
#include "harness/ceilings.h"
#include "harness/statistics.h"

namespace klab {
namespace {

struct Method {
  CeilingLoop loop;
  const char* name;
};

std::vector<Method> methods_of(CeilingKind kind) {
  switch (kind) {
    case CeilingKind::fma_f32:
      return {{CeilingLoop::fma_f32, "12 chains"}};
    case CeilingKind::fma_f64:
      return {{CeilingLoop::fma_f64, "12 chains"}};
    case CeilingKind::read:
      return {{CeilingLoop::read, "one stream"}, {CeilingLoop::read_streams, "four streams"}};
    case CeilingKind::copy:
      return {{CeilingLoop::copy_plain, "plain stores"}, {CeilingLoop::copy_stream, "streaming stores"}};
    case CeilingKind::copy_2_to_1:
      return {{CeilingLoop::add_plain, "plain stores"}, {CeilingLoop::add_stream, "streaming stores"}};
    case CeilingKind::gather4:
      return {{CeilingLoop::gather4_simd, "gather instructions"},
              {CeilingLoop::gather4_scalar, "scalar loads"},
              {CeilingLoop::gather4_prefetch, "prefetched loads"}};
    case CeilingKind::gather8:
      return {{CeilingLoop::gather8_simd, "gather instructions"},
              {CeilingLoop::gather8_scalar, "scalar loads"},
              {CeilingLoop::gather8_prefetch, "prefetched loads"}};
  }
  return {};
}

bool shared_table(CeilingKind kind) { return kind == CeilingKind::gather4 || kind == CeilingKind::gather8; }

}  // namespace

struct CeilingSampler::State {
  Ceiling which;
  Buffer memory;
  std::vector<uint32_t> random;  // one a thread, 64 bytes apart
  Method method{};
  std::string name;
  int64_t repeats = 1;

  struct Measured {
    double seconds, work;
  };

  int64_t chunk() const {
    return shared_table(which.kind) ? which.working_set : which.working_set / which.threads / 4096 * 4096;
  }

  Measured once(CeilingLoop loop, int64_t count) {
    double work = 0;
    const int64_t bytes = chunk();
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(which.threads) reduction(+ : work)
    {
      const int t = omp_get_thread_num();
      std::byte* mine = memory.as<std::byte>() + (shared_table(which.kind) ? 0 : t * bytes);
      work += run_ceiling_loop(loop, mine, bytes, count, &random[size_t(t) * 16]);
    }
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), work};
  }

  /// Repeats that take about that long. Never fewer than one: at memory size one pass may take longer.
  int64_t calibrate(CeilingLoop loop, double seconds) {
    int64_t count = 1;
    for (;;) {
      const Measured m = once(loop, count);
      if (m.seconds >= seconds / 4 || count > (int64_t(1) << 40))
        return std::max<int64_t>(1, std::llround(double(count) * seconds / m.seconds));
      count *= m.seconds > 0 ? std::clamp<int64_t>(int64_t(seconds / 2 / m.seconds), 2, 64) : 64;
    }
  }
};

CeilingSampler::CeilingSampler(const Ceiling& which) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.which = which;
  s.which.threads = std::max(1, which.threads);
  s.memory = Buffer(std::max<int64_t>(which.working_set, 4096), 0);
  s.random.assign(size_t(s.which.threads) * 16, 0);
  const int64_t bytes = s.chunk();
#pragma omp parallel num_threads(s.which.threads)
  {
    // Touched first by the thread that will use it, where memory belongs to a processor.
    const int t = omp_get_thread_num(), team = omp_get_num_threads();
    float* f = s.memory.as<float>();
    if (shared_table(s.which.kind)) {
      for (int64_t i = t; i < s.which.working_set / 4; i += team) f[i] = 1;
    } else {
      std::fill_n(f + t * bytes / 4, bytes / 4, 1.0F);
    }
    s.random[size_t(t) * 16] = 12345U + 7919U * unsigned(t);
  }
  double best = -1;
  const auto methods = methods_of(which.kind);
  for (const Method& m : methods) {
    if (methods.size() > 1) {
      const int64_t count = s.calibrate(m.loop, 0.002);
      std::vector<double> tries;
      for (int i = 0; i < 3; ++i) {
        const auto r = s.once(m.loop, count);
        tries.push_back(r.work / r.seconds);
      }
      if (!(median(tries) > best)) continue;
      best = median(tries);
    }
    s.method = m;
    s.name = m.name;
  }
  s.repeats = s.calibrate(s.method.loop, 0.002);
}

CeilingSampler::~CeilingSampler() = default;

const std::string& CeilingSampler::method() const { return state_->name; }

double CeilingSampler::sample(double seconds) {
  State& s = *state_;
  const int64_t count = std::max<int64_t>(1, std::llround(double(s.repeats) * seconds / 0.002));
  const auto r = s.once(s.method.loop, count);
  return r.work / r.seconds;
}

}  // namespace klab
