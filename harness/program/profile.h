// Where the time of a run goes, stage by stage.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/program/plan.h"

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

  /// Calls of one op that are a stage of their own.
  struct Calls {
    std::string op;
    std::vector<int64_t> shape;  // of the last call
    Cost cost;                   // of all calls; tables and entry_bytes of the last one
  };
  /// As time(), for a stage that is one op.
  template <class Contract>
  void run(const std::string& stage, const Plan& plan, const typename Contract::template Args<float>& args) {
    time(stage, [&] { plan.run<Contract>(args); });
    add_call(stage, Contract::name, dims_of<Contract>(args.shape),
             plan.cost_of(std::string(Contract::name), Contract::cost(args.shape)));
  }
  template <class Work>
  void run(const std::string& stage, const std::string& op, const std::vector<int64_t>& shape,
           const Cost& cost, Work&& work) {
    time(stage, work);
    add_call(stage, op, shape, cost);
  }
  const std::map<std::string, Calls>& calls() const { return calls_; }

  const std::map<std::string, double>& seconds() const { return seconds_; }
  double total() const {
    double sum = 0;
    for (const auto& [stage, s] : seconds_) sum += s;
    return sum;
  }
  void clear() {
    seconds_.clear();
    calls_.clear();
  }

 private:
  void add_call(const std::string& stage, std::string_view op, const std::vector<int64_t>& shape,
                const Cost& one) {
    Calls& calls = calls_[stage];
    calls.op = op;
    calls.shape = shape;
    const Cost before = calls.cost;
    calls.cost = one;
    calls.cost.bytes += before.bytes;
    calls.cost.flops += before.flops;
    calls.cost.table_bytes += before.table_bytes;
    calls.cost.transcendentals += before.transcendentals;
    calls.cost.divisions += before.divisions;
    calls.cost.roots += before.roots;
    calls.cost.gathers += before.gathers;
  }

  std::map<std::string, double> seconds_;
  std::map<std::string, Calls> calls_;
};

}  // namespace klab
