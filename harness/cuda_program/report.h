// Output about a program when it ends: a file for klab trace, or its findings as text.
#pragma once

#include <string>

namespace klab::program {

/// Returns the seconds from which on a share of the blocks is watched; 0: all are, or the share was given.
double thinned_after();
/// Adds findings for device memory that was not freed. They alone do not fail a program.
void add_leaks();
/// Returns whether there are findings other than leaks.
bool something_illegal();
void write_report(const std::string& file, int exit_code);
void print_findings();

}  // namespace klab::program
