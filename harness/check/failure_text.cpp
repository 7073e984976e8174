#include "harness/check/failure_text.h"

namespace klab {

std::string where_text(const Failure& f) {
  return name_of(f.fault) + (f.tensor.empty() ? "" : " in " + f.tensor + f.index);
}

std::string values_text(const Failure& f) {
  return where_text(f) + (f.expected.empty() ? "" : ", expected " + f.expected + ", got " + f.got);
}

std::string failure_text(const Failure& f) {
  std::string text = values_text(f);
  if (!f.bound.empty()) text += ", allowed " + f.bound;
  if (!f.note.empty()) text += ", " + f.note;
  if (!f.inputs.empty()) text += " (" + f.inputs + ")";
  return text;
}

std::vector<std::pair<std::string, std::string>> failure_fields(const Failure& f) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"expected", f.expected}, {"got", f.got}, {"bound", f.bound}, {"inputs", f.inputs}, {"note", f.note}};
  std::erase_if(fields, [](const auto& field) { return field.second.empty(); });
  return fields;
}

}  // namespace klab
