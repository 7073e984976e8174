// Where klab's own files are, and what the header of a variant says.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/core/registry.h"

namespace klab {

/// The folder that holds kernels/ and labs/: $KLAB_ROOT, or the one this program was compiled from, or the
/// nearest above the program. Empty when there is none (a program copied elsewhere alone).
std::filesystem::path source_root();

/// The folder that holds klab's own harness/, reference/contract.h and kernels/common/: source_root(), or where klab is
/// installed when the program is another project's, which tells it by set_klab_home() before anything else.
std::filesystem::path klab_home();
void set_klab_home(const std::filesystem::path& folder);

/// Where a file lies that is named from the root: in source_root() or else in klab_home().
std::filesystem::path tree_file(const std::filesystem::path& name);

/// kernels/<op>/<backend>/<rung>.<ext>, whatever path the compiler was given.
std::string source_path(const Variant& variant);

/// What a variant's section in its lesson is called: the rung, and before it the backend where that is not the CPU,
/// "cuda.03_padded".
std::string section_name(const Variant& variant);

/// labs/<id>/README.md
std::string lesson_path(const std::string& lab_id);

/// The whole file. Throws std::runtime_error naming it.
std::string read_text(const std::filesystem::path& file);

/// The header of a variant's file: "CHANGE" -> its text in one line; likewise EXPECT, NUMERICS, NEEDS, TRIED.
/// Keys that the header lacks are absent.
std::map<std::string, std::string> header_of(const std::string& source_text);

}  // namespace klab
