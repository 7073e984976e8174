#include "harness/program/times_here.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "harness/core/source.h"
#include "harness/program/times_sources.h"
#include "harness/records/session.h"
#include "harness/report/table.h"
#include "harness/timing/machine.h"

namespace klab {

CallTimes::Sources sources_of_times_here() {
  CallTimes::Sources sources;
  if (const auto root = source_root(); !root.empty())
    sources.recorded = baseline_at(root.string(), fingerprint(this_machine()), "run").rows_file;
  sources.cache = call_times_cache();
  return sources;
}

CallTimes times_here() {
  CallTimes::Sources sources = sources_of_times_here();
  sources.note = [](const std::string& text) { fmt::print(stderr, "note      {}\n", text); };
  sources.progress = [line = std::make_shared<Progress>()](const std::string& text) {
    text.empty() ? line->clear() : line->show(text);
  };
  return CallTimes(std::move(sources));
}

}  // namespace klab
