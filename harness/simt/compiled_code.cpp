#include "harness/simt/compiled_code.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "harness/simt/modules.h"

namespace klab::simt {
namespace {

constexpr int kNoLoop = -1;
constexpr int kCalled = 1000;  // loop depth for code of a called function, whose callers' loops are not known

/// A load or store in the machine code.
struct Instruction {
  size_t at = 0;  // index of the instruction in its kernel
  CompiledAccess what;
  unsigned width = 4;
};

struct Branch {
  size_t at;
  std::string to;
};

/// A kernel whose text is being read.
struct Open {
  std::string mangled;
  size_t count = 0;
  std::vector<Instruction> accesses;
  std::vector<CompiledUnit> units;
  std::vector<Branch> branches;
  size_t called_from = SIZE_MAX;  // index of the first instruction of called functions
  std::map<std::string, size_t> labels;
  int64_t local_loads = 0, local_stores = 0;
};

bool is_toolkit(const std::string& file) {
  if (file.find("kernels/common/cuda") != std::string::npos ||
      file.find("kernels/common/mma.h") != std::string::npos)
    return true;
  const size_t at = file.rfind("/include/");
  return at != std::string::npos && file.find("cuda") != std::string::npos;
}

/// Splits "LDG.E.128.CONSTANT" into its parts.
std::vector<std::string> parts_of(const std::string& opcode) {
  std::vector<std::string> parts;
  std::istringstream in(opcode);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  return parts;
}

unsigned width_of(const std::vector<std::string>& parts) {
  unsigned width = 4;
  for (const std::string& p : parts) {
    if (p == "U8" || p == "S8" || p == "8") width = 1;
    if (p == "U16" || p == "S16" || p == "16") width = 2;
    if (p == "64" || p == "S64" || p == "U64" || p == "F32x2") width = 8;
    if (p == "128" || p == "F32x4") width = 16;
    if (p == "256") width = 32;
  }
  return width;
}

/// Returns the accesses that an opcode makes: none, one, or two for copies into shared memory and for generic
/// addresses.
std::vector<CompiledAccess> accesses_of(const std::vector<std::string>& parts) {
  const std::string& op = parts[0];
  const auto one = [](Space space, bool write, bool atomic = false, bool generic = false) {
    return CompiledAccess{.space = space, .write = write, .atomic = atomic, .generic = generic};
  };
  if (op == "LDG") return {one(Space::global, false)};
  if (op == "STG") return {one(Space::global, true)};
  if (op == "LDS") return {one(Space::shared, false)};
  if (op == "STS") return {one(Space::shared, true)};
  if (op == "LDSM") return {one(Space::shared, false)};
  if (op == "LDGSTS") return {one(Space::global, false), one(Space::shared, true)};
  if (op == "LD") return {one(Space::global, false, false, true), one(Space::shared, false, false, true)};
  if (op == "ST") return {one(Space::global, true, false, true), one(Space::shared, true, false, true)};
  if (op == "ATOMS") return {one(Space::shared, true, true)};
  if (op == "ATOMG" || op == "RED" || op == "REDG") {
    CompiledAccess a = one(Space::global, true, true);
    a.atomics = op == "ATOMG" ? kAtomicResult : kReduction;
    return {a};
  }
  const auto engine = [&](bool write, bool atomic) {
    CompiledAccess a = one(Space::global, write, atomic);
    a.engine = true;
    return std::vector{a};
  };
  if (op == "UTMALDG") return engine(false, false);
  if (op == "UTMASTG") return engine(true, false);
  if (op == "UTMAREDG" || op == "UBLKRED") return engine(true, true);
  if (op == "UBLKCP") return engine(parts.size() > 1 && parts[1] == "G", false);  // .S.G: to shared memory
  if (op == "ATOM") {
    CompiledAccess a = one(Space::global, true, true, true);
    a.atomics = kAtomicResult;
    return {a, one(Space::shared, true, true, true)};
  }
  return {};
}

/// Returns whether an instruction is one of CompiledUnit's.
bool is_unit(const std::vector<std::string>& parts) {
  const std::string& op = parts[0];
  for (const char* begin : {"UTMA", "UBLK", "SYNCS", "UCGABAR"})
    if (op.starts_with(begin)) return true;
  return op.ends_with("GMMA") || (op == "FENCE" && parts.size() > 2 && parts[2] == "ASYNC");
}

void read_instruction(Open& kernel, const std::string& text, const std::string& file, int line) {
  std::istringstream in(text);
  std::string opcode, target;
  in >> opcode;
  if (opcode.starts_with("@")) in >> opcode;
  if (opcode.starts_with("{")) in >> opcode;
  const std::vector<std::string> parts = parts_of(opcode);
  const size_t at = kernel.count++;
  if (parts.empty()) return;
  if (parts[0] == "BRA") {
    const size_t from = text.find("`("), to = text.find(')');
    if (from != std::string::npos && to != std::string::npos && to > from)
      kernel.branches.push_back({at, text.substr(from + 2, to - from - 2)});
    return;
  }
  kernel.local_loads += parts[0] == "LDL";
  kernel.local_stores += parts[0] == "STL";
  if (line == 0) return;
  if (is_unit(parts)) {
    const auto same = [&](const CompiledUnit& u) {
      return u.file == file && u.line == line && u.name == opcode;
    };
    auto known = std::ranges::find_if(kernel.units, same);
    if (known == kernel.units.end()) known = kernel.units.insert(known, {file, line, opcode});
    ++known->instructions;
  }
  for (CompiledAccess& a : accesses_of(parts)) {
    a.file = file;
    a.line = line;
    a.constant = std::ranges::find(parts, "CONSTANT") != parts.end();
    a.matrix = parts[0] == "LDSM";
    // LDSM: each lane names a row of 16 bytes.
    kernel.accesses.push_back({at, a, a.matrix ? 16 : width_of(parts)});
  }
}

/// Returns the index of the innermost loop that contains an instruction; kNoLoop if there is none.
int loop_of(const std::vector<std::pair<size_t, size_t>>& loops, size_t at) {
  int best = kNoLoop;
  for (size_t k = 0; k < loops.size(); ++k) {
    if (at < loops[k].first || at > loops[k].second) continue;
    const auto length = [&](int l) { return loops[size_t(l)].second - loops[size_t(l)].first; };
    if (best == kNoLoop || length(int(k)) < length(best)) best = int(k);
  }
  return best;
}

int depth_of(const std::vector<std::pair<size_t, size_t>>& loops, size_t at) {
  std::set<size_t> begins;
  for (const auto& [from, to] : loops)
    if (at >= from && at <= to) begins.insert(from);
  return int(begins.size());
}

unsigned power_of(unsigned width) { return unsigned(__builtin_ctz(width)); }

CompiledKernel closed(const Open& open) {
  CompiledKernel kernel{.name = short_name(open.mangled)};
  kernel.local_loads = open.local_loads;
  kernel.local_stores = open.local_stores;
  kernel.units = open.units;
  std::vector<std::pair<size_t, size_t>> loops;
  for (const Branch& b : open.branches)
    if (const auto to = open.labels.find(b.to); to != open.labels.end() && to->second < b.at)
      loops.emplace_back(to->second, b.at);
  // Groups by line and kind, then by loop.
  struct Loop {
    std::array<int, 6> widths{};
    unsigned bytes = 0;
    int depth = 0;
  };
  std::vector<std::map<int, Loop>> by_loop;
  for (const Instruction& i : open.accesses) {
    const auto same = [&](const CompiledAccess& a) {
      return a.file == i.what.file && a.line == i.what.line && a.space == i.what.space &&
             a.write == i.what.write && a.atomic == i.what.atomic && a.engine == i.what.engine;
    };
    auto found = std::ranges::find_if(kernel.accesses, same);
    if (found == kernel.accesses.end()) {
      kernel.accesses.push_back(i.what);
      by_loop.emplace_back();
      found = kernel.accesses.end() - 1;
    }
    const int loop = loop_of(loops, i.at);
    found->constant = found->constant && i.what.constant;
    found->generic = found->generic || i.what.generic;
    found->matrix = found->matrix || i.what.matrix;
    found->atomics |= i.what.atomics;
    ++found->instructions;
    Loop& l = by_loop[size_t(found - kernel.accesses.begin())][loop];
    ++l.widths[power_of(i.width)];
    l.bytes += i.width;
    l.depth = i.at >= open.called_from ? kCalled : depth_of(loops, i.at);
  }
  for (size_t k = 0; k < by_loop.size(); ++k)
    for (const auto& [number, loop] : by_loop[k])
      if (loop.bytes > kernel.accesses[k].bytes) {
        kernel.accesses[k].bytes = loop.bytes;
        kernel.accesses[k].widths = loop.widths;
        kernel.accesses[k].depth = loop.depth;
      }
  return kernel;
}

/// Reads file (with its folders) and line from `//## File "/a.h", line 5 inlined at "/b.cu", line 40`.
bool read_place(const std::string& text, std::string* file, int* line) {
  const size_t open = text.find('"'), close = text.find('"', open + 1);
  const size_t number = text.find("line ", close);
  if (open == std::string::npos || close == std::string::npos || number == std::string::npos) return false;
  *file = text.substr(open + 1, close - open - 1);
  *line = std::atoi(text.c_str() + number + 5);
  return true;
}

}  // namespace

const CompiledKernel* CompiledCode::find(const std::string& kernel) const {
  const auto plain = [](const std::string& name) { return name.substr(0, name.find('<')); };
  const CompiledKernel* alike = nullptr;
  int many = 0;
  for (const CompiledKernel& k : kernels) {
    if (k.name == kernel) return &k;
    if (plain(k.name) == plain(kernel)) alike = &k, ++many;
  }
  return many == 1 ? alike : nullptr;
}

CompiledCode read_disassembly(const std::string& text, const std::string& file) {
  CompiledCode code;
  std::istringstream in(text);
  Open open;
  bool in_kernel = false, places = false, found = false;
  std::string place;  // of the instructions that follow: the file without folders
  int place_line = 0;
  const auto close = [&] {
    if (in_kernel) code.kernels.push_back(closed(open));
    in_kernel = false;
  };
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view section = "//--------------------- .text.";
    if (line.starts_with("//---------------------")) {
      close();
      if (!line.starts_with(section)) continue;
      const size_t end = line.find(' ', section.size());
      open = Open{.mangled = line.substr(section.size(), end - section.size())};
      in_kernel = found = true;
      place.clear();
      place_line = 0;
      continue;
    }
    if (!in_kernel) continue;
    if (const size_t at = line.find("//## File "); at != std::string::npos) {
      std::string name;
      int number = 0;
      if (!read_place(line.substr(at), &name, &number)) continue;
      // The first of several lines is the innermost; the others name the callers. Lines in the toolkit's own
      // files are skipped.
      if (places && place_line != 0) continue;
      places = true;
      const bool passed = is_toolkit(name);
      place = name.substr(name.rfind('/') + 1);
      place_line = passed ? 0 : number;
      continue;
    }
    places = false;
    if (const size_t at = line.find("*/"); line.find("/*") != std::string::npos && at != std::string::npos) {
      const size_t end = line.find(';', at);
      if (end != std::string::npos)
        read_instruction(open, line.substr(at + 2, end - at - 2), place, place_line);
    } else if (line.starts_with("$") && line.ends_with(":")) {
      open.called_from = std::min(open.called_from, open.count);
    } else if (line.starts_with(".L_")) {
      open.labels[line.substr(0, line.find(':'))] = open.count;
    }
  }
  close();
  if (!found) throw std::runtime_error(file + ": no machine code of a kernel in what nvdisasm printed");
  return code;
}

}  // namespace klab::simt
