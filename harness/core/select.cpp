#include "harness/core/select.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/core/names.h"

namespace klab {
namespace {

bool is_glob(const std::string& what) { return what.find_first_of("*?[") != std::string::npos; }

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// Returns whether the name means the lab: "05", "5", "matmul" or "05_matmul".
bool names_lab(const std::string& what, const std::string& id) {
  const size_t bar = id.find('_');
  const std::string number = id.substr(0, bar);
  const std::string rest = bar == std::string::npos ? "" : id.substr(bar + 1);
  const std::string bare = number.substr(std::min(number.find_first_not_of('0'), number.size()));
  return what == id || what == number || (!bare.empty() && what == bare) || (!rest.empty() && what == rest);
}

bool names_id(const std::string& what, const std::string& op, const std::string& id) {
  if (is_glob(what)) return matches(what, id);
  return what == op || what == id || (id.starts_with(what) && id[what.size()] == '.');
}

bool names_variant(const std::string& what, const Variant& v) {
  return names_id(what, v.op, v.id) || (!is_glob(what) && std::ranges::find(v.was, what) != v.was.end());
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Lab& lab : labs()) {
    names.push_back(lab.id);
    for (const LabOp& op : lab.ops) names.push_back(op.op.name);
  }
  for (const Variant& v : variants()) names.push_back(v.id);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Returns the variants that a name means. A lab's name has precedence: "matmul" is the lab with all its ops,
/// if there is one.
std::set<const Variant*> meant_by(const std::string& what) {
  std::set<const Variant*> found;
  const Lab* lab = nullptr;
  for (const Lab& l : labs())
    if (names_lab(what, l.id)) lab = &l;
  for (const Variant& v : variants()) {
    const bool of_lab = lab != nullptr && lab_of(v.op) == lab;
    if (what.empty() || of_lab || names_variant(what, v)) found.insert(&v);
  }
  if (!found.empty() || what.empty()) return found;
  if (lab != nullptr) {
    std::string text = "lab " + lab->id + " has no variants";
    for (const std::string& command : lab->commands)
      text += (command == lab->commands.front() ? "; it is run by klab " : ", klab ") + command;
    throw NotFound(text);
  }
  throw NotFound(not_found_text("lab, op or variant", what, all_names()) +
                 "\nklab list shows what there is.");
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = int(i);
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + int(a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names, size_t count) {
  std::vector<std::tuple<int, int, std::string>> ranked;  // class, distance, name
  for (const std::string& name : names) {
    // Also compare with the part after the number ("05_matmul"), or after the last dot of an id.
    const size_t bar = name.find('_');
    const size_t dot = name.rfind('.');
    int distance = edit_distance(wrong, name);
    if (bar != std::string::npos && dot == std::string::npos)
      distance = std::min(distance, edit_distance(wrong, std::string_view(name).substr(bar + 1)));
    if (dot != std::string::npos)
      distance = std::min(distance, edit_distance(wrong, std::string_view(name).substr(dot + 1)));
    const bool part = wrong.size() >= 2 && name.find(wrong) != std::string::npos;
    const int far = std::max(2, int(std::min(wrong.size(), name.size())) / 2);
    if (part || distance <= far) ranked.emplace_back(part ? 0 : 1, distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> list;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i) list.push_back(std::get<2>(ranked[i]));
  return list;
}

std::string not_found_text(const std::string& kind, const std::string& wrong,
                           std::span<const std::string> names) {
  std::string text = "no " + kind + " is called '" + wrong + "'";
  const auto near = nearest(wrong, names);
  if (near.empty()) return text;
  text += "; did you mean ";
  for (size_t i = 0; i < near.size(); ++i)
    text += (i == 0 ? "" : i + 1 == near.size() ? " or " : ", ") + near[i];
  return text + "?";
}

std::vector<Selected> select(std::span<const std::string> what, const std::string& backend) {
  std::set<const Variant*> wanted;
  if (what.empty()) wanted = meant_by("");
  for (const std::string& name : what) wanted.merge(meant_by(name));
  if (!backend.empty()) {
    std::set<std::string> known;
    for (const Variant& v : variants()) {
      known.insert(v.backend);
      if (v.host) known.insert("simt");
    }
    if (known.count(backend) == 0)
      throw NotFound(
          not_found_text("backend", backend, std::vector<std::string>(known.begin(), known.end())));
    std::erase_if(wanted,
                  [&](const Variant* v) { return backend == "simt" ? !v->host : v->backend != backend; });
    if (wanted.empty()) throw NotFound("nothing of what is asked for runs on the backend '" + backend + "'");
  }
  std::vector<Selected> list;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      Selected entry{&lab, &op, {}};
      for (const Variant* v : variants_of(op.op.name))
        if (wanted.count(v) != 0) entry.variants.push_back(v);
      if (!entry.variants.empty()) list.push_back(std::move(entry));
    }
  if (list.empty()) throw NotFound("no lab teaches what is asked for");
  return list;
}

std::vector<const Lab*> select_labs(const std::string& what) {
  std::vector<const Lab*> found;
  for (const Lab& lab : labs())
    if (what.empty() || names_lab(what, lab.id) || (is_glob(what) && matches(what, lab.id)))
      found.push_back(&lab);
  if (!found.empty()) return found;
  for (const Lab& lab : labs()) {
    bool meant = false;
    for (const LabOp& op : lab.ops)
      for (const Variant* v : variants_of(op.op.name)) meant = meant || names_variant(what, *v);
    for (const LabOp& op : lab.ops) meant = meant || op.op.name == what;
    if (meant) found.push_back(&lab);
  }
  if (found.empty())
    throw NotFound(not_found_text("lab, op or variant", what, all_names()) +
                   "\nklab list shows what there is.");
  return found;
}

bool means(const std::string& what, const std::string& lab, const std::string& op, const std::string& id) {
  return what.empty() || names_lab(what, lab) || names_id(what, op, id);
}

const Lab& select_lab(const std::string& what) {
  const auto found = select_labs(what);
  if (found.size() == 1) return *found.front();
  std::string text = "'" + what + "' means several labs:";
  for (const Lab* lab : found) text += " " + lab->id;
  throw NotFound(text);
}

}  // namespace klab
