// klab: the command line.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "harness/bench.h"
#include "harness/check.h"

using namespace klab;

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "list";
  const std::string what = argc > 2 ? argv[2] : "";
  int bad = 0;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      std::vector<const Variant*> list;
      for (const Variant* v : variants_of(op.op.name))
        if (v->id.find(what) != std::string::npos) list.push_back(v);
      if (list.empty()) continue;
      if (verb == "list") for (const Variant* v : list) std::printf("%s\n", v->id.c_str());
      if (verb == "check")
        for (const CheckResult& r : check(op, list)) {
          std::printf("%-40s %s %d cases, worst %.3f of bound %s\n", r.variant.c_str(), r.passed() ? "ok" : "FAILED", r.cases, r.worst, r.skipped.c_str());
          for (const Failure& f : r.failures) { ++bad; std::printf("    %s %s%s expected %s got %s bound %s (%s) %s\n", name_of(f.fault), f.tensor.c_str(), f.index.c_str(), f.expected.c_str(), f.got.c_str(), f.bound.c_str(), f.inputs.c_str(), f.note.c_str()); }
        }
      if (verb == "bench")
        for (const BenchShape& shape : op.bench) {
          const Ladder l = bench(op, shape, list, {});
          std::printf("%s, %s\n", l.op.c_str(), shape.name.c_str());
          for (Series s : l.series) {
            if (s.seconds.empty()) { std::printf("  %-40s skipped: %s\n", s.variant.c_str(), s.skipped.c_str()); continue; }
            std::sort(s.seconds.begin(), s.seconds.end());
            const double t = s.seconds[s.seconds.size() / 2];
            std::printf("  %-40s %10.3f us  %8.2f GB/s %8.2f GFLOP/s\n", s.variant.c_str(), t * 1e6, l.cost.bytes / t * 1e-9, l.cost.flops / t * 1e-9);
          }
        }
    }
  return bad ? 1 : 0;
}
