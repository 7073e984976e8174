// Runs the ceilings' loops on all threads at once and finds which of a ceiling's methods is the fastest here.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "harness/core/buffers.h"
#include "harness/timing/ceiling_kernels.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/flush.h"
#include "harness/timing/statistics.h"

namespace klab {

struct CeilingMethod {
  CeilingLoop loop;
  const char* name;
};

namespace {

std::vector<CeilingMethod> methods_of(CeilingKind kind) {
  switch (kind) {
    case CeilingKind::fma_f32:
      return {{CeilingLoop::fma_f32, "12 chains"}};
    case CeilingKind::fma_f64:
      return {{CeilingLoop::fma_f64, "12 chains"}};
    case CeilingKind::transcendental:
      return {{CeilingLoop::exp_f32, "exp by a polynomial"}};
    case CeilingKind::division:
      return {{CeilingLoop::divide_f32, "instruction"},
              {CeilingLoop::divide_estimate, "estimate and Newton's step"}};
    case CeilingKind::root:
      return {{CeilingLoop::root_f32, "instruction"},
              {CeilingLoop::root_estimate, "estimate and Newton's step"}};
    case CeilingKind::read:
      return {{CeilingLoop::read, "one stream"}, {CeilingLoop::read_streams, "four streams"}};
    case CeilingKind::copy:
      return {{CeilingLoop::copy_plain, "plain stores"},
              {CeilingLoop::copy_stream, "streaming stores"},
              {CeilingLoop::copy_stream_single, "single streaming stores"}};
    case CeilingKind::copy_2_to_1:
      return {{CeilingLoop::add_plain, "plain stores"},
              {CeilingLoop::add_stream, "streaming stores"},
              {CeilingLoop::add_stream_single, "single streaming stores"}};
    case CeilingKind::update:
      return {{CeilingLoop::update, "one stream"}, {CeilingLoop::update_streams, "four streams"}};
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
  CeilingMethod method{};
  std::string name;
  int64_t repeats = 1;
  std::vector<MoveOperands> arrays;  // of somebody else, in place of `memory`
  size_t* turn = nullptr;            // passes over them so far
  bool flushed = false;              // `memory`, before each pass

  struct Measured {
    double seconds, work;
  };

  /// The calling thread's part of arrays.
  static MoveOperands part(const MoveOperands& all) {
    constexpr int64_t kLine = 1024;  // floats: a page
    const int64_t team = omp_get_num_threads(), each = (all.n + team * kLine - 1) / (team * kLine) * kLine;
    const int64_t begin = std::min(all.n, omp_get_thread_num() * each);
    return {all.a + begin, all.b == nullptr ? nullptr : all.b + begin, all.c + begin,
            std::min(all.n - begin, each)};
  }

  int64_t chunk() const {
    return shared_table(which.kind) ? which.working_set : which.working_set / which.threads / 4096 * 4096;
  }

  /// The calling thread's part of `count` repeats; random reads fall into one table after the other.
  double run(CeilingLoop loop, std::byte* mine, int64_t count, uint32_t* random_state) const {
    if (which.tables.empty()) return run_ceiling_loop(loop, mine, chunk(), count, random_state);
    double work = 0;
    for (const TableShare& t : which.tables) {
      const auto repeats_here = std::max<int64_t>(1, std::llround(double(count) * t.share));
      work += run_ceiling_loop(loop, mine, int64_t(t.bytes), repeats_here, random_state);
    }
    return work;
  }

  /// Repeats until lines that were flushed come again: one pass, or random reads of a quarter of the table's lines.
  int64_t repeats_of_pass() const {
    constexpr int64_t kLine = 64, kShare = 4;
    return shared_table(which.kind)
               ? std::max<int64_t>(1, which.working_set / kLine / kShare / kGathersPerRepeat / which.threads)
               : 1;
  }

  Measured once(CeilingLoop loop, int64_t count) {
    if (!flushed) return without_flush(loop, count);
    Measured sum{0, 0};
    for (int64_t left = count; left > 0; left -= repeats_of_pass()) {
      flush_from_caches(memory.data(), memory.bytes());
      const Measured pass = without_flush(loop, std::min(left, repeats_of_pass()));
      sum.seconds += pass.seconds;
      sum.work += pass.work;
    }
    return sum;
  }

  Measured without_flush(CeilingLoop loop, int64_t count) {
    double work = 0;
    if (!arrays.empty()) {
      const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(which.threads) reduction(+ : work)
      for (int64_t i = 0; i < count; ++i)
        work += run_move_loop(loop, part(arrays[(*turn + size_t(i)) % arrays.size()]), 1);
      *turn += size_t(count);
      return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), work};
    }
    const int64_t bytes = chunk();
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(which.threads) reduction(+ : work)
    {
      const int t = omp_get_thread_num();
      std::byte* mine = memory.as<std::byte>() + (shared_table(which.kind) ? 0 : t * bytes);
      work += run(loop, mine, count, &random[size_t(t) * 16]);
    }
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), work};
  }

  /// The fastest here, and how often it fits into 2 ms.
  void choose_method() {
    double best = -1;
    const auto methods = methods_of(which.kind);
    for (const CeilingMethod& m : methods) {
      if (methods.size() > 1) {
        const int64_t count = calibrate(m.loop, 0.002);
        std::vector<double> tries;
        for (int i = 0; i < 3; ++i) {
          const auto r = once(m.loop, count);
          tries.push_back(r.work / r.seconds);
        }
        if (!(median(tries) > best)) continue;
        best = median(tries);
      }
      method = m;
      name = m.name;
    }
    repeats = calibrate(method.loop, 0.002);
  }

  /// Repeats that take about that long; at memory size one pass may take longer. Found on one thread, where
  /// no barrier hides a short loop, and from the fastest of several tries: a thread that was held up once
  /// must not make all later samples too short to mean anything.
  int64_t calibrate(CeilingLoop loop, double seconds) {
    double fastest = HUGE_VAL;
    int64_t count = 1;
    for (int attempt = 0; attempt < 40; ++attempt) {
      const auto begin = std::chrono::steady_clock::now();
      double taken = 0;
      if (!arrays.empty() || flushed)
        taken = once(loop, count).seconds;
      else
        run(loop, memory.as<std::byte>(), count, random.data());
      if (taken == 0) taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      fastest = std::min(fastest, taken / double(count));
      const int64_t wanted = std::max<int64_t>(1, std::llround(seconds / std::max(fastest, 1e-12)));
      if (attempt >= 2 && wanted <= 2 * count) return wanted;
      count = std::min(wanted, 64 * count);
    }
    return count;
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
      // Between 1 and 2, no two alike: some dividers are done early with short numbers.
      for (int64_t i = 0; i < bytes / 4; ++i)
        f[t * bytes / 4 + i] = 1.0F + float(uint32_t(i) * 2654435769U >> 9) * 0x1p-23F;
    }
    s.random[size_t(t) * 16] = 12345U + 7919U * unsigned(t);
  }
  const bool in_caches = within_caches(this_machine(), s.which);
  s.flushed = in_caches && can_flush();
  s.choose_method();
  if (s.flushed) s.name += ", flushed";
  if (in_caches && !s.flushed) s.name += ", as much as the caches hold";
}

CeilingSampler::CeilingSampler(const Ceiling& which, std::vector<MoveOperands> arrays, size_t& turn)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.which = which;
  s.which.threads = std::max(1, which.threads);
  s.arrays = std::move(arrays);
  s.turn = &turn;
  s.choose_method();
}

CeilingSampler::~CeilingSampler() = default;

const std::string& CeilingSampler::method() const { return state_->name; }

double CeilingSampler::sample(double seconds) {
  State& s = *state_;
  const int64_t count = std::max<int64_t>(1, std::llround(double(s.repeats) * seconds / 0.002));
  // The same time as one sample would take, in parts if it has several repeats.
  constexpr int64_t kParts = 3;
  const int64_t parts = s.which.level == 0 ? 1 : std::min(kParts, count);
  std::vector<double> rates;
  for (int64_t k = 0; k < parts; ++k) {
    const auto r = s.once(s.method.loop, count * (k + 1) / parts - count * k / parts);
    rates.push_back(r.work / r.seconds);
  }
  return ceiling_of(s.which.level, rates);
}

}  // namespace klab
