// What klab-nvcc tells about its options.
#pragma once

#include <string>

namespace klab::cuda_compiler {

std::string help_text();
/// Returns the same text for man(1).
std::string manual_page();

}  // namespace klab::cuda_compiler
