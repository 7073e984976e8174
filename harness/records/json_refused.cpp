#include "harness/records/json_refused.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/refused.h"

namespace klab {

nlohmann::json json_or_refuse(std::string_view text, const std::string& where, const std::string& remedy) {
  try {
    return parse_json(text, where);
  } catch (const std::runtime_error& e) {
    const std::string why = std::string(e.what()).substr(where.size() + 2);  // behind "<where>: "
    const bool names = why.find("JSON") != std::string::npos;
    throw Refused(where, "JSON", names ? why : "as JSON it " + why, remedy);
  }
}

}  // namespace klab
