// A failed check as JSON, and back: what one process finds and another one tells.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/check/check.h"

namespace klab {

/// {"fault": "wrong value", "tensor", "index", "expected", "got", "bound", "inputs", "note"}, all of them texts.
nlohmann::json to_json(const Failure& failure);

/// The reverse. What is missing becomes empty; a fault of no known name becomes Fault::threw.
Failure failure_from(const nlohmann::json& json);

}  // namespace klab
