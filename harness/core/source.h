// Locates klab's own files, and reads the headers of variants.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/core/registry.h"

namespace klab {

/// Returns the folder that contains kernels/ and labs/: $KLAB_ROOT, the one this program was compiled from,
/// or the nearest above the program. Empty if there is none (a program copied elsewhere on its own).
std::filesystem::path source_root();

/// Returns the folder that contains klab's own harness/, reference/contract.h and kernels/common/:
/// source_root(), or the installation of klab if the program belongs to another project. Such a program calls
/// set_klab_home() before anything else.
std::filesystem::path klab_home();
void set_klab_home(const std::filesystem::path& folder);

/// Returns the path of a file named relative to the root: in source_root(), or else in klab_home().
std::filesystem::path tree_file(const std::filesystem::path& name);

/// Returns kernels/<op>/<backend>/<rung>.<ext> for any path given to the compiler.
std::string source_path(const Variant& variant);

/// Returns the name of a variant's section in its lesson: the rung, prefixed with the backend unless that is
/// the CPU, "cuda.03_padded".
std::string section_name(const Variant& variant);

/// Returns labs/<id>/README.md.
std::string lesson_path(const std::string& lab_id);

/// Returns the whole file. Throws std::runtime_error that names it.
std::string read_text(const std::filesystem::path& file);

/// Parses the header of a variant's file: "CHANGE" -> its text in one line; likewise EXPECT, NUMERICS, NEEDS,
/// TRIED. Keys that the header lacks are absent.
std::map<std::string, std::string> header_of(const std::string& source_text);

}  // namespace klab
