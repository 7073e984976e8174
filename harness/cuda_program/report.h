// What is said of a program when it ends: a file for klab trace, or its findings in words.
#pragma once

#include <string>

namespace klab::program {

/// Device memory that has not been freed, as findings; for these alone no program fails.
void add_leaks();
/// Whether there are findings beyond leaks.
bool something_illegal();
void write_report(const std::string& file, int exit_code);
void print_findings();

}  // namespace klab::program
