#include "harness/step/step.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "harness/core/select.h"
#include "harness/core/source.h"

namespace klab {
namespace {

std::string number_of(const std::string& name) { return name.substr(0, 2); }

std::vector<Step> collect() {
  std::vector<Step> list;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops)
      for (const char* backend : {"cpu", "cuda"})
        for (const Variant* v : variants_of(op.op.name, backend)) {
          const Variant* parent = v->parent.empty() ? nullptr : find_variant(v->parent);
          if (v->peer || parent == nullptr) continue;
          const bool first = &op == &lab.ops.front(), cuda = v->backend == "cuda";
          const std::string ladder = first ? "" : op.op.name + ".", rung = number_of(v->rung);
          list.push_back({.lab = &lab,
                          .op = &op,
                          .parent = parent,
                          .own = v,
                          .name = number_of(lab.id) + "." + ladder + (cuda ? "cuda." : "") + rung,
                          .work = lab.id + "/" + ladder + rung + (cuda ? ".cu" : ".cpp")});
        }
  return list;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  return parts;
}

/// Returns whether the name means the lab: "03", "3", "03_transpose", "transpose".
bool is_called(const Lab& lab, const std::string& name) {
  return name == lab.id || name == number_of(lab.id) || "0" + name == number_of(lab.id) ||
         name == lab.id.substr(3);
}

bool is_rung(const Step& step, const std::string& name) {
  const std::string id = step.op->op.name + "." + step.own->backend + "." + name;
  return name == step.own->rung || std::ranges::find(step.own->was, id) != step.own->was.end() ||
         name == number_of(step.own->rung) || "0" + name == number_of(step.own->rung);
}

/// Returns whether the parts mean the step: [lab or op] [op] [backend] rung, as far as given.
bool is_meant(const Step& step, const std::vector<std::string>& parts) {
  size_t at = 0;
  bool op = false;
  const std::string& ladder = step.op->op.name;
  if (is_called(*step.lab, parts[0])) ++at;
  if (at < parts.size() && parts[at] == ladder) ++at, op = true;
  if (at == 0) return false;
  // A lab alone means its first op.
  if (!op && step.op != &step.lab->ops.front()) return false;
  const bool cuda = at < parts.size() && parts[at] == "cuda";
  if (at < parts.size() && (cuda || parts[at] == "cpu")) ++at;
  return cuda == step.cuda() && at + 1 == parts.size() && is_rung(step, parts[at]);
}

}  // namespace

const std::vector<Step>& steps() {
  static const std::vector<Step> list = collect();
  return list;
}

std::vector<const Step*> steps_of(const Lab& lab) {
  std::vector<const Step*> list;
  for (const Step& s : steps())
    if (s.lab == &lab) list.push_back(&s);
  return list;
}

const Step& find_step(const std::string& what) {
  const auto parts = parts_of(what);
  if (!parts.empty())
    for (const Step& s : steps())
      if (is_meant(s, parts)) return s;
  if (const Variant* v = find_variant(what); v != nullptr)
    throw NotFound(what + (v->peer ? " is a vendor baseline" : " is the first rung of its ladder") +
                   ", no step: there is nothing to make it from");
  std::vector<std::string> names;
  for (const Step& s : steps()) names.push_back(s.name);
  throw NotFound(not_found_text("step", what, names) +
                 "\nA step is LAB.NN (03.02), LAB.cuda.NN, or LAB.OP.NN for a lab's other operations.\n"
                 "klab step lists them.");
}

const Step* next_step(const Step& step) {
  for (size_t i = 0; i + 1 < steps().size(); ++i)
    if (&steps()[i] == &step) return steps()[i + 1].lab == step.lab ? &steps()[i + 1] : nullptr;
  return nullptr;
}

std::filesystem::path work_folder() {
  if (const char* named = std::getenv("KLAB_WORK"); named != nullptr && *named != '\0')
    return std::filesystem::absolute(named);
  if (source_root().empty())
    throw std::runtime_error(
        "klab's sources are not next to this program, and steps are made from them: set KLAB_ROOT to klab's "
        "folder");
  return source_root() / "work";
}

std::string work_id(const Step& step) {
  return step.op->op.name + "." + step.own->backend + "." + number_of(step.own->rung) + "_yours";
}

}  // namespace klab
