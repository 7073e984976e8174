#include "harness/bench_loop.h"

#include <benchmark/benchmark.h>

#include <exception>

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

void run_one(Sample& sample, benchmark::State& state) {
  try {
    if (sample.before) sample.before();
    for (auto _ : state) sample.call();
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

bool time_round(std::vector<Sample*>& samples, const std::function<bool()>& stop) {
  bool stopped = false;
  benchmark::ClearRegisteredBenchmarks();
  for (size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = *samples[i];
    sample.seconds = 0;
    // A fixed number of iterations: the library's own search has no cap on real time.
    benchmark::RegisterBenchmark(std::to_string(i).c_str(),
                                 [&sample, &stop, &stopped](benchmark::State& state) {
                                   stopped = stopped || (stop && stop());
                                   if (stopped) {
                                     state.SkipWithError("stopped");
                                     return;
                                   }
                                   run_one(sample, state);
                                 })
        ->Iterations(sample.iterations)
        ->UseRealTime();
  }
  Collector collector(samples);
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  return !stopped;
}

}  // namespace klab
