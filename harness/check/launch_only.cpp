#include "harness/check/launch_only.h"

#include <exception>
#include <string>

#include "harness/check/cases.h"
#include "harness/core/fill.h"
#include "harness/core/registry.h"
#include "harness/simt/session.h"

namespace klab {

void LaunchOnly::check(const Variant& variant, const Given& given, std::vector<Failure>& failures) {
  {
    const std::lock_guard lock(mutex_);
    if (!tensors_) {
      tensors_ = std::make_unique<Tensors>(specs_, Tensors::View::variant);
      copy_given(specs_, given.inputs, *tensors_);
    }
  }
  simt::Session session({.traced = false, .counts = false, .step_limit = 1, .work_limit = 1});
  try {
    variant.bind(shape_, given_to(variant, specs_, tensors_->pointers()))();
  } catch (const std::exception& e) {
    const std::string note = e.what();
    // Other errors may be of this host: scratch memory may be more than it has.
    if (session.findings().empty() && note.starts_with("cudaErrorInvalidConfiguration"))
      failures.push_back({.fault = Fault::threw,
                          .inputs = shape_text(op_, shape_) + ", launched without being run",
                          .note = note});
  }
}

}  // namespace klab
