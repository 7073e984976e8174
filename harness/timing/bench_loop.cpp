#include "harness/timing/bench_loop.h"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>

namespace klab {
namespace {

/// Takes the times and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  explicit Collector(std::vector<Sample*>& samples) : samples_(samples) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred || run.iterations <= 0) continue;
      const size_t index = std::stoul(run.run_name.function_name);
      samples_[index]->seconds = run.real_accumulated_time / double(run.iterations);
    }
  }

 private:
  std::vector<Sample*>& samples_;
};

/// Nanoseconds that the threads of this process have spent waiting for a processor since they began: the second
/// field of Linux's schedstat. Negative where there is none.
double waited_nanoseconds() {
  std::error_code error;
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream in(task.path() / "schedstat");
    double ran = 0, waited = 0;
    if (!(in >> ran >> waited)) return -1;
    sum += waited;
  }
  return error ? -1 : sum;
}

void run_one(Sample& sample, benchmark::State& state, const std::function<double()>& now) {
  try {
    if (sample.before) sample.before();
    const double before = waited_nanoseconds();
    const auto begin = std::chrono::steady_clock::now();
    const double other = now ? now() : 0;
    for (auto _ : state) sample.call();  // NOLINT(clang-analyzer-deadcode.DeadStores): the library's loop
    if (now) state.SetIterationTime(now() - other);  // once for all iterations
    const double nanoseconds =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    const double after = waited_nanoseconds();
    sample.waited = before < 0 || after < before ? -1 : (after - before) / std::max(nanoseconds, 1.0);
    if (sample.after) sample.after();
  } catch (const std::exception& error) {
    sample.threw = error.what();
    state.SkipWithError("threw");
  } catch (...) {
    sample.threw = "an exception of unknown type";
    state.SkipWithError("threw");
  }
}

}  // namespace

bool time_round(std::vector<Sample*>& samples, const std::function<bool()>& stop,
                const std::function<double()>& now) {
  bool stopped = false;
  benchmark::ClearRegisteredBenchmarks();
  for (size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = *samples[i];
    sample.seconds = 0;
    // A fixed number of iterations: the library's own search has no cap on real time.
    auto* const timed = benchmark::RegisterBenchmark(
        std::to_string(i).c_str(), [&sample, &stop, &stopped, &now](benchmark::State& state) {
          stopped = stopped || (stop && stop());
          if (stopped) {
            state.SkipWithError("stopped");
            return;
          }
          run_one(sample, state, now);
        });
    timed->Iterations(sample.iterations);
    now ? timed->UseManualTime() : timed->UseRealTime();
  }
  Collector collector(samples);
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  return !stopped;
}

}  // namespace klab
