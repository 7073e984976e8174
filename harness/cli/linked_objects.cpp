#include "harness/cli/linked_objects.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "harness/core/source.h"
#include "harness/records/digest.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// Names the commit, compiler and flags, and computes nothing. The machine's fingerprint has the latter two.
constexpr const char* kBuildInfo = "build_info.cpp.o";

/// Reads structures of an ELF file. Throws std::out_of_range where the file is cut off.
class ElfView {
 public:
  explicit ElfView(std::string_view content) : content_(content) {}

  std::string_view bytes(uint64_t at, uint64_t count) const {
    if (at > content_.size() || count > content_.size() - at) throw std::out_of_range("cut off");
    return content_.substr(at, count);
  }
  template <class T>
  T get(uint64_t at) const {
    T value;
    std::memcpy(&value, bytes(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::vector<Elf64_Shdr> sections() const {
    const auto header = get<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shnum == 0)
      throw std::out_of_range("no 64-bit ELF object");
    std::vector<Elf64_Shdr> list;
    for (uint64_t s = 0; s < header.e_shnum; ++s)
      list.push_back(get<Elf64_Shdr>(header.e_shoff + s * sizeof(Elf64_Shdr)));
    return list;
  }
  std::string name(const Elf64_Shdr& strings, uint64_t at) const {
    const std::string_view all = bytes(strings.sh_offset, strings.sh_size);
    if (at >= all.size()) throw std::out_of_range("cut off");
    return std::string(all.substr(at, all.find('\0', at) - at));
  }

 private:
  std::string_view content_;
};

/// The loaded sections, what relocates them, and the symbols that relocations name.
std::string loaded_parts(const ElfView& elf, const std::vector<Elf64_Shdr>& sections) {
  std::string text;
  for (const Elf64_Shdr& s : sections) {
    const bool relocates = (s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && s.sh_info < sections.size() &&
                           (sections[s.sh_info].sh_flags & SHF_ALLOC) != 0;
    const bool symbols = s.sh_type == SHT_SYMTAB;
    if ((s.sh_flags & SHF_ALLOC) == 0 && !relocates && !symbols) continue;
    for (const uint64_t field :
         {uint64_t(s.sh_type), s.sh_flags, s.sh_size, s.sh_addralign, uint64_t(s.sh_info)})
      text += std::to_string(field) + " ";
    if (s.sh_type != SHT_NOBITS) text += elf.bytes(s.sh_offset, s.sh_size);
    if (!symbols) continue;
    const Elf64_Shdr& strings = sections.at(s.sh_link);
    text += elf.bytes(strings.sh_offset, strings.sh_size);
  }
  return text;
}

void list_symbols(const ElfView& elf, const std::vector<Elf64_Shdr>& sections,
                  std::vector<std::string>& defines, std::vector<std::string>& needs) {
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_SYMTAB) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = elf.get<Elf64_Sym>(s.sh_offset + at);
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_name == 0) continue;
      auto& list = symbol.st_shndx == SHN_UNDEF ? needs : defines;
      list.push_back(elf.name(sections.at(s.sh_link), symbol.st_name));
    }
  }
}

}  // namespace

std::string digest_of_object(std::string_view content, std::vector<std::string>& defines,
                             std::vector<std::string>& needs) {
  try {
    const ElfView elf(content);
    const auto sections = elf.sections();
    list_symbols(elf, sections, defines, needs);
    return sha256(loaded_parts(elf, sections));
  } catch (const std::out_of_range&) {
    return sha256(content);
  }
}

fs::path build_folder_of(const fs::path& program) {
  std::error_code error;
  for (fs::path folder = program.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / "CMakeCache.txt", error)) return folder;
    if (folder == folder.root_path()) break;
  }
  return {};
}

LinkedObjects::LinkedObjects(fs::path build) : build_(std::move(build)) {
  std::error_code error;
  fs::recursive_directory_iterator all(build_, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && all != end; all.increment(error)) {
    if (all.depth() == 0 && all->path().filename() == "tests") all.disable_recursion_pending();
    if (all->path().extension() != ".o" || all->path().filename() == kBuildInfo) continue;
    objects_.push_back({.file = all->path(), .path = "/" + all->path().lexically_relative(build_).string()});
  }
  std::ranges::sort(objects_, {}, &Object::path);
}

void LinkedObjects::read_all() {
  if (!defined_.empty()) return;
  for (size_t i = 0; i < objects_.size(); ++i) {
    Object& o = objects_[i];
    std::error_code error;
    o.time = fs::last_write_time(o.file, error);
    o.code = digest_of_object(read_text(o.file), o.defines, o.needs);
    for (const std::string& name : o.defines) defined_.emplace(name, i);
  }
}

std::string LinkedObjects::digest(std::span<const std::string> parts, const LinkTime& linked) {
  read_all();
  std::set<size_t> chosen;
  std::vector<size_t> open;
  const auto choose = [&](size_t i) {
    if (chosen.insert(i).second) open.push_back(i);
  };
  for (const std::string& part : parts) {
    bool found = false;
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i].path.find(part) == std::string::npos) continue;
      choose(i);
      found = true;
    }
    if (!found) return "";
  }
  while (!open.empty()) {
    const size_t i = open.back();
    open.pop_back();
    for (const std::string& name : objects_[i].needs)
      for (auto [at, end] = defined_.equal_range(name); at != end; ++at) choose(at->second);
  }
  std::string text;
  for (const size_t i : chosen) {
    const Object& o = objects_[i];
    std::error_code error;
    const auto now = fs::last_write_time(o.file, error);
    if (error || now != o.time || now > linked(o.path)) return "";
    text += o.path + " " + o.code + "\n";
  }
  return sha256(text);
}

}  // namespace klab
