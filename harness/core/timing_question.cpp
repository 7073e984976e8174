#include "harness/core/timing_question.h"

namespace klab {
namespace {
thread_local bool about_timing = false;
}

bool asked_for_timing() { return about_timing; }

std::string supported_for_timing(const Variant& variant, ShapeView shape, const Host& host) {
  struct Question {
    Question() { about_timing = true; }
    ~Question() { about_timing = false; }
  } const question;
  return variant.supported(shape, host);
}

}  // namespace klab
