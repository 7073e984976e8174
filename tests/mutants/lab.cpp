// The lab of the test-only contracts. It exists in test programs only, so no command lists it.
#include "harness/core/lab.h"
#include "tests/mutants/probe_bend/probe_bend.h"
#include "tests/mutants/probe_count/probe_count.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

const std::vector<std::vector<int64_t>> kSizes = {{0, 1, 2, 3, 5, 8, 13, 17, 32, 67, 130}};

KLAB_LAB({
    .title = "Probes",
    .question = "Does the checker catch what it must?",
    .ops =
        {
            {.op = make_op<ProbeMatmul>(), .check = kSizes, .check_flops = 1e6},
            {.op = make_op<ProbeMatmulBwd>(), .check = kSizes, .check_flops = 1e6},
            {.op = make_op<ProbeScale>(), .check = kSizes},
            {.op = make_op<ProbeCount>(), .check = kSizes},
            {.op = make_op<ProbeBend>(), .check = kSizes},
            {.op = make_op<ProbeBendBwd>(), .check = kSizes},
        },
});

}  // namespace
}  // namespace klab
