#include "harness/check/failure_json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace klab {
namespace {

Fault fault_named(const std::string& name) {
  for (int f = 0; f <= int(Fault::finding); ++f)
    if (name == name_of(Fault(f))) return Fault(f);
  return Fault::threw;
}

}  // namespace

nlohmann::json to_json(const Failure& f) {
  return {{"fault", name_of(f.fault)}, {"tensor", f.tensor}, {"index", f.index},
          {"expected", f.expected},    {"got", f.got},       {"bound", f.bound},
          {"inputs", f.inputs},        {"note", f.note}};
}

Failure failure_from(const nlohmann::json& j) {
  return {.fault = fault_named(j.value("fault", "")),
          .tensor = j.value("tensor", ""),
          .index = j.value("index", ""),
          .expected = j.value("expected", ""),
          .got = j.value("got", ""),
          .bound = j.value("bound", ""),
          .inputs = j.value("inputs", ""),
          .note = j.value("note", "")};
}

}  // namespace klab
