#include "harness/simt/layouts.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "harness/simt/debug_info.h"

namespace klab::simt {
namespace {

using Covered = std::vector<bool>;  // by byte: whether a member covers it that needs a value

Dwarf_Word number(Dwarf_Die* die, unsigned name, Dwarf_Word otherwise) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value) == 0 ? value : otherwise;
}

/// Follows type definitions and qualifiers.
bool type_of(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) == nullptr) return false;
  return dwarf_peel_type(type, type) == 0;
}

bool is_structure(Dwarf_Die* die) {
  const int tag = dwarf_tag(die);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

void cover(Dwarf_Die* type, size_t at, Covered& covered, int depth) {
  Dwarf_Word size = 0;
  if (depth > 20 || dwarf_aggregate_size(type, &size) != 0) return;
  if (dwarf_tag(type) == DW_TAG_array_type) {
    Dwarf_Die element;
    Dwarf_Word each = 0;
    if (!type_of(type, &element) || dwarf_aggregate_size(&element, &each) != 0 || each == 0) return;
    // Nothing needs to be behind the end of a text.
    if (const char* name = dwarf_diename(&element); name != nullptr && std::strcmp(name, "char") == 0) return;
    for (Dwarf_Word k = 0; k + each <= size; k += each) cover(&element, at + k, covered, depth + 1);
    return;
  }
  if (!is_structure(type)) {
    for (size_t b = at; b < at + size && b < covered.size(); ++b) covered[b] = true;
    return;
  }
  Dwarf_Die member;
  if (dwarf_child(type, &member) != 0) return;
  do {
    const int tag = dwarf_tag(&member);
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(&member, DW_AT_external) ||
        dwarf_hasattr(&member, DW_AT_declaration))
      continue;
    Dwarf_Die own;
    if (!type_of(&member, &own)) continue;
    if (dwarf_hasattr(&member, DW_AT_bit_size)) {
      const Dwarf_Word first = number(&member, DW_AT_data_bit_offset, 0),
                       bits = number(&member, DW_AT_bit_size, 0);
      for (size_t b = at + first / 8; b < at + (first + bits + 7) / 8 && b < covered.size(); ++b)
        covered[b] = true;
      continue;
    }
    cover(&own, at + number(&member, DW_AT_data_member_location, 0), covered, depth + 1);
  } while (dwarf_siblingof(&member, &member) == 0);
}

/// Layouts that have padding, by size. Those of the system's headers come second.
using Layouts = std::map<size_t, std::array<std::set<Covered>, 2>>;

bool is_of_system(Dwarf_Die* die) {
  const char* file = dwarf_decl_file(die);
  return file == nullptr || std::strncmp(file, "/usr/", 5) == 0;
}

void collect(Dwarf_Die* die, Layouts& layouts) {
  do {
    if (is_structure(die) && !dwarf_hasattr(die, DW_AT_declaration)) {
      Covered covered(std::min<size_t>(number(die, DW_AT_byte_size, 0), 4096), false);
      cover(die, 0, covered, 0);
      const auto count = std::ranges::count(covered, true);
      if (count > 0 && size_t(count) < covered.size())
        layouts[covered.size()][is_of_system(die) ? 1 : 0].insert(covered);
    }
    Dwarf_Die child;
    if (dwarf_child(die, &child) == 0) collect(&child, layouts);
  } while (dwarf_siblingof(die, die) == 0);
}

/// Adds a type, what it points to, and what its members are, if they are structures.
void collect_used(Dwarf_Die* type, std::set<Covered>& layouts, std::set<void*>& seen, int depth) {
  const int tag = dwarf_tag(type);
  if (depth > 8 || !seen.insert(type->addr).second) return;
  if (!is_structure(type)) {
    Dwarf_Die of;
    if ((tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_array_type ||
         tag == DW_TAG_rvalue_reference_type) &&
        type_of(type, &of))
      collect_used(&of, layouts, seen, depth + 1);
    return;
  }
  Covered covered(std::min<size_t>(number(type, DW_AT_byte_size, 0), 4096), false);
  cover(type, 0, covered, 0);
  if (covered.size() > 1) layouts.insert(covered);
  Dwarf_Die member, own;
  if (dwarf_child(type, &member) != 0) return;
  do {
    if ((dwarf_tag(&member) == DW_TAG_member || dwarf_tag(&member) == DW_TAG_inheritance) &&
        type_of(&member, &own))
      collect_used(&own, layouts, seen, depth + 1);
  } while (dwarf_siblingof(&member, &member) == 0);
}

/// Returns the structures that the functions around that place have parameters and variables of.
std::set<Covered> used_at(const void* return_address) {
  std::set<Covered> layouts;
  std::set<void*> seen;
  each_scope_at(return_address, [&](Dwarf_Die* scope) {
    Dwarf_Die child, type;
    if (dwarf_tag(scope) == DW_TAG_compile_unit || dwarf_tag(scope) == DW_TAG_namespace) return;
    if (is_structure(scope)) collect_used(scope, layouts, seen, 0);
    if (dwarf_child(scope, &child) != 0) return;
    do {
      if ((dwarf_tag(&child) == DW_TAG_formal_parameter || dwarf_tag(&child) == DW_TAG_variable) &&
          type_of(&child, &type))
        collect_used(&type, layouts, seen, 0);
    } while (dwarf_siblingof(&child, &child) == 0);
  });
  return layouts;
}

/// Returns whether a structure of the layout, or an array of them, leaves the bytes free.
bool leaves_free(const Covered& covered, size_t begin, size_t end) {
  for (size_t b = begin; b < end; ++b)
    if (covered[b % covered.size()]) return false;
  return true;
}

}  // namespace

bool is_padding(const void* return_address, size_t bytes, size_t begin, size_t end) {
  static std::mutex mutex;
  static auto& known = *new std::map<const Module*, Layouts>;
  const Module* m = module_at(return_address);
  if (m == nullptr) return false;
  const std::lock_guard lock(mutex);
  // The type of the access is not known. It is one of those that the function uses, if one has the right size.
  static auto& used = *new std::map<const void*, std::set<Covered>>;
  const auto [here, first_time] = used.try_emplace(return_address);
  if (first_time) here->second = used_at(return_address);
  bool is_used = false;
  for (const Covered& covered : here->second) {
    if (covered.size() > bytes || bytes % covered.size() != 0) continue;
    if (leaves_free(covered, begin, end)) return true;
    is_used = is_used || covered.size() == bytes;
  }
  if (is_used) return false;
  const auto [at, fresh] = known.try_emplace(m);
  Layouts& of_module = at->second;
  if (fresh)
    each_unit(*m, [&](Dwarf_Die* unit) {
      Dwarf_Die first;
      if (dwarf_child(unit, &first) == 0) collect(&first, of_module);
    });
  for (const auto& [size, layouts] : of_module) {
    if (size > bytes || bytes % size != 0) continue;
    for (const auto& of_one_kind : layouts) {
      if (&of_one_kind == &layouts[1] && size != bytes) continue;
      for (const Covered& covered : of_one_kind)
        if (leaves_free(covered, begin, end)) return true;
    }
  }
  return false;
}

}  // namespace klab::simt
