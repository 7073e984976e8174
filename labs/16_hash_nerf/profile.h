// Where the time of a run goes, stage by stage.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace klab {

class Profile {
 public:
  /// Runs `work` and adds its time to the stage.
  template <class Work>
  void time(const std::string& stage, Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds_[stage] += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void add(const std::string& stage, double seconds) { seconds_[stage] += seconds; }
  const std::map<std::string, double>& seconds() const { return seconds_; }
  double total() const {
    double sum = 0;
    for (const auto& [stage, s] : seconds_) sum += s;
    return sum;
  }
  void clear() { seconds_.clear(); }

 private:
  std::map<std::string, double> seconds_;
};

}  // namespace klab
