// The pattern that wrong elements form: often it names the mistake.
#include <algorithm>
#include <set>

#include "harness/check/compare.h"

namespace klab {
namespace {

// The indices along dimension d that occur among the wrong elements, ascending.
std::vector<int64_t> along(const std::vector<int64_t>& wrong, const Dims& dims, size_t d) {
  int64_t inner = 1;
  for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
  std::set<int64_t> found;
  for (const int64_t i : wrong) found.insert(i / inner % dims[d]);
  return {found.begin(), found.end()};
}

// The step of an arithmetic sequence of at least three, else 0.
int64_t stride(const std::vector<int64_t>& list) {
  if (list.size() < 3) return 0;
  const int64_t step = list[1] - list[0];
  for (size_t i = 2; i < list.size(); ++i)
    if (list[i] - list[i - 1] != step) return 0;
  return step;
}

// What one dimension is called: the slower of two are rows, the faster columns.
std::string dimension(size_t d, size_t rank) {
  if (rank == 1) return "index";
  if (rank == 2) return d == 0 ? "row" : "column";
  return "dimension " + std::to_string(d) + " index";
}

std::string plural(const std::string& word) {
  return word.ends_with("index") ? word.substr(0, word.size() - 2) + "ices" : word + "s";
}

// Wrong elements whose indices along d are these, all others free.
std::string slab(const std::vector<int64_t>& at, size_t d, const Dims& dims) {
  const std::string name = dimension(d, dims.size());
  const int64_t n = dims[d];
  const std::string last = at.back() == n - 1 ? "the last " : "";
  if (at.size() == 1) return (last.empty() ? name + " " + std::to_string(at[0]) : last + name);
  const int64_t step = stride(at);
  if (step > 1) return "every " + std::to_string(step) + ". " + name + " from " + std::to_string(at[0]);
  if (at.back() - at.front() + 1 != int64_t(at.size())) return "";
  if (!last.empty()) return last + std::to_string(at.size()) + " " + plural(name);
  return plural(name) + " " + std::to_string(at.front()) + " to " + std::to_string(at.back());
}

}  // namespace

std::string describe_wrong(const std::vector<int64_t>& wrong, const Dims& dims) {
  const int64_t n = volume(dims);
  const auto count = int64_t(wrong.size());
  if (count == n)
    return n == 1 ? "the only element is wrong" : "all " + std::to_string(n) + " elements are wrong";
  if (count == 1) return "1 of " + std::to_string(n) + " elements is wrong";
  const std::string many = std::to_string(count) + " of " + std::to_string(n) + " elements are wrong";
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<int64_t> at = along(wrong, dims, d);
    const int64_t slab_size = n / dims[d];
    if (int64_t(at.size()) == dims[d]) continue;
    const std::string name = slab(at, d, dims);
    if (name.empty()) continue;
    if (count == int64_t(at.size()) * slab_size) return many + ": " + name;
    if (at.size() == 1 || d + 1 == dims.size()) return many + ", in " + name;
  }
  if (const int64_t step = stride(wrong); step > 1)
    return many + ": every " + std::to_string(step) + ". from " + std::to_string(wrong[0]);
  return many + ", the last at " + index_text(wrong.back(), dims);
}

}  // namespace klab
