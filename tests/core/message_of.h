// What a refusal says.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace klab {

/// Returns the message of the exception that `work` throws; "" if it throws none.
template <class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

/// Returns whether a text has a part.
inline bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace klab
