#include "harness/core/lab.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

namespace klab {
namespace {

std::vector<Lab>& storage() {
  static std::vector<Lab> list;
  return list;
}

std::map<std::string, LabLadder>& ladders() {
  static std::map<std::string, LabLadder> by_id;
  return by_id;
}

[[noreturn]] void refuse(const char* what, const std::string& name, const Lab& a, const Lab& b) {
  std::fprintf(stderr, "klab: two labs %s %s:\n  %s\n  %s\n", what, name.c_str(), a.file.c_str(),
               b.file.c_str());
  std::exit(2);
}

}  // namespace

LabRegistrar::LabRegistrar(const char* file, Lab lab) {
  lab.file = file;
  const size_t slash = lab.file.rfind('/');
  const size_t before = lab.file.rfind('/', slash - 1);
  lab.id = lab.file.substr(before + 1, slash - before - 1);
  auto& list = storage();
  for (const Lab& other : list) {
    if (other.id == lab.id) refuse("are called", lab.id, other, lab);
    for (const LabOp& a : other.ops)
      for (const LabOp& b : lab.ops)
        if (a.op.name == b.op.name) refuse("teach", a.op.name, other, lab);
  }
  const auto at =
      std::lower_bound(list.begin(), list.end(), lab, [](const Lab& a, const Lab& b) { return a.id < b.id; });
  list.insert(at, std::move(lab));
}

const char* name_of(Traffic traffic) {
  switch (traffic) {
    case Traffic::unknown:
      return "unknown";
    case Traffic::copy:
      return "copy";
    case Traffic::update:
      return "update";
    case Traffic::read:
      return "read";
  }
  return "?";
}

LadderRegistrar::LadderRegistrar(const char* file, LabLadder ladder) {
  const std::filesystem::path commands = std::filesystem::path(file).parent_path();
  ladders()[commands.parent_path().filename().string()] = std::move(ladder);
}

const LabLadder& ladder_of(const Lab& lab) { return ladders()[lab.id]; }

const std::vector<Lab>& labs() { return storage(); }

const Lab* lab_of(const std::string& op) {
  for (const Lab& lab : labs())
    for (const LabOp& entry : lab.ops)
      if (entry.op.name == op) return &lab;
  return nullptr;
}

const LabOp* find_op(const std::string& op) {
  for (const Lab& lab : labs())
    for (const LabOp& entry : lab.ops)
      if (entry.op.name == op) return &entry;
  return nullptr;
}

int64_t size_of(Element element) {
  switch (element) {
    case Element::f64:
    case Element::i64:
      return 8;
    case Element::f32:
    case Element::i32:
    case Element::u32:
      return 4;
    case Element::f16:
    case Element::bf16:
      return 2;
    case Element::i8:
    case Element::u8:
      return 1;
  }
  return 0;
}

}  // namespace klab
