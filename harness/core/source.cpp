#include "harness/core/source.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/core/lab.h"

namespace klab {
namespace fs = std::filesystem;
namespace {

bool is_root(const fs::path& folder) {
  std::error_code ignored;
  return !folder.empty() && fs::is_directory(folder / "kernels", ignored) &&
         fs::is_directory(folder / "labs", ignored);
}

fs::path find_root() {
  if (const char* named = std::getenv("KLAB_ROOT"); named != nullptr && is_root(named)) return named;
  // Registered files have the path that the compiler was given: <root>/kernels/<op>/<backend>/<file>.
  for (const Variant& v : variants()) {
    const fs::path file = v.file;
    const fs::path root = file.parent_path().parent_path().parent_path().parent_path();
    if (file.is_absolute() && is_root(root)) return root;
  }
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (; !error && folder.has_relative_path(); folder = folder.parent_path())
    if (is_root(folder)) return folder;
  return {};
}

}  // namespace

fs::path source_root() {
  static const fs::path root = find_root();
  return root;
}

namespace {
fs::path& home_folder() {
  static fs::path folder;
  return folder;
}
}  // namespace

fs::path klab_home() {
  std::error_code ignored;
  const fs::path root = source_root();
  if (fs::is_directory(root / "harness", ignored) || home_folder().empty()) return root;
  return home_folder();
}

void set_klab_home(const fs::path& folder) { home_folder() = folder; }

fs::path tree_file(const fs::path& name) {
  std::error_code ignored;
  const fs::path own = source_root() / name;
  return fs::exists(own, ignored) ? own : klab_home() / name;
}

std::string source_path(const Variant& v) {
  return "kernels/" + v.op + "/" + fs::path(v.file).parent_path().filename().string() + "/" +
         fs::path(v.file).filename().string();
}

std::string section_name(const Variant& v) { return v.backend == "cpu" ? v.rung : v.backend + "." + v.rung; }

std::string lesson_path(const std::string& lab_id) { return "labs/" + lab_id + "/README.md"; }

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  // Inserting an empty file's buffer fails too.
  const bool empty = in && in.peek() == std::ifstream::traits_type::eof() && !in.bad();
  if (!empty && (!in || !(text << in.rdbuf()))) throw std::runtime_error("cannot read " + file.string());
  return text.str();
}

std::map<std::string, std::string> header_of(const std::string& source_text) {
  std::map<std::string, std::string> header;
  std::istringstream in(source_text);
  std::string line;
  std::string key;
  while (std::getline(in, line) && line.starts_with("//")) {
    const size_t begin = line.find_first_not_of(' ', 2);
    if (begin == std::string::npos) {
      key.clear();
      continue;
    }
    size_t end = begin;
    while (end < line.size() && line[end] >= 'A' && line[end] <= 'Z') ++end;
    const bool starts_key = begin == 3 && end - begin >= 4 && (end == line.size() || line[end] == ' ');
    if (starts_key) key = line.substr(begin, end - begin);
    if (key.empty()) continue;
    const size_t text = line.find_first_not_of(' ', starts_key ? end : begin);
    if (text == std::string::npos) continue;
    std::string& value = header[key];
    if (!value.empty()) value += " ";
    value += line.substr(text);
  }
  return header;
}

}  // namespace klab
