#!/usr/bin/env python3
"""Writes CUDA programs that are right by construction, or that hold one planted fault each.

A program is an idiom of kernels (tests/programs/generated/kernels_*.in) together with one of host code (hosts.in), a type, a size of
block and a size of input. It compares its result with a serial form on the host. In the idioms,

  line  //! KIND:MARK -> OTHER   names a fault: with it, OTHER stands in the place of the line (nothing, if it is empty)
  line  //@ MARK ...             names a line that the faults with that mark break; without such a line it is the fault's own

MARK is KIND if it is left out. The mark "kernel" names all lines of the kernels. A fault of the host's is taken with any kernel, one
of the kernel's with any host code. The same seed writes the same files.

  make_programs.py OUT --seed 1 --programs 500 --files 20            right programs
  make_programs.py OUT --seed 1 --programs 500 --files 20 --faults   the same programs, each with one fault

Each file p00.cu has a p00.json, with for each program its name, idioms, and, with --faults, kind, line and the lines that a finding
has to name.
"""
import argparse
import json
import pathlib
import random
import re
import sys

IDIOMS = pathlib.Path(__file__).resolve().parent.parent / "programs/generated"

HEAD = """// Written by make_programs.py. Programs that check themselves: {what}.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

template <class T>
std::vector<T> inputs(int n) {{
  std::vector<T> h(n);
  for (int i = 0; i < n; ++i) h[i] = T((i * 37 + i / 5 + 11) % 23);
  return h;
}}
template <class T>
bool same(const T* is, const std::vector<T>& wanted) {{
  int wrong = 0;
  for (size_t o = 0; o < wanted.size(); ++o)
    if (is[o] != wanted[o] && ++wrong == 1)
      std::printf("result %zu is %g, not %g\\n", o, double(is[o]), double(wanted[o]));
  return wrong == 0;
}}
"""

TAIL = """
struct Program {
  const char* name;
  bool (*run)();
};
const Program programs[] = {%s};

int main(int argc, char** argv) {
  int wrong = 0;
  for (const Program& p : programs)
    if (argc < 2 || std::strcmp(argv[1], p.name) == 0) {
      const bool right = p.run();
      std::printf("%%s %%s\\n", p.name, right ? "right" : "wrong");
      wrong += !right;
    }
  return wrong != 0;
}
"""


class Idiom:
    """An idiom as a file has it: settings, then code."""

    SETTINGS = ("types", "B", "N", "grid", "outputs", "options")

    def __init__(self, name, lines):
        self.name = name
        self.settings = {}
        while lines and lines[0].split(" ")[0] in self.SETTINGS:
            key, value = lines.pop(0).split(" ", 1)
            self.settings[key] = value
        self.lines = lines
        self.text = "\n".join(lines)

    def faults(self):
        """Yields (number of line, kind, mark, text in its place)."""
        for k, line in enumerate(self.lines):
            found = re.search(r"//! ([a-z]+)(?::([a-z]+))? ->(.*)$", line)
            if found:
                indent = line[: len(line) - len(line.lstrip())]
                yield k, found[1], found[2] or found[1], (indent + found[3].strip()).rstrip()

    def marked(self, mark):
        """Returns the numbers of lines with this mark."""
        hits = []
        for k, line in enumerate(self.lines):
            found = re.search(r"//@([a-z ]*)", line)
            if found and mark in found[1].split():
                hits.append(k)
        return hits

    def code(self):
        return [re.split(r"\s*//[!@] ", line)[0] for line in self.lines]


def read_idioms(pattern):
    idioms = []
    for file in sorted(IDIOMS.glob(pattern)):
        for part in re.split(r"^= ", file.read_text(), flags=re.M)[1:]:
            name, *lines = part.rstrip("\n").split("\n")
            idioms.append(Idiom(name, lines))
    if not idioms:
        sys.exit(f"{IDIOMS}/{pattern}: no idioms there; run this script from its place in the checkout")
    return idioms


def fits(kernel, host):
    """A cooperative launch cannot be captured before CUDA 12.3."""
    return not (kernel.settings.get("options") == "cooperative" and "graph" in host.name)


def choose(kernels, hosts, seed, count):
    """Returns programs: all pairs of idioms in an order that the seed gives, again from the first if there are too few."""
    random_of = random.Random(seed)
    pairs = [(k, h) for k in kernels for h in hosts if fits(k, h)]
    random_of.shuffle(pairs)
    programs = []
    for k in range(count):
        kernel, host = pairs[k % len(pairs)]
        pick = {key: random_of.choice(kernel.settings[key].split()) for key in ("types", "B", "N")}
        programs.append((kernel, host, pick))
    return programs


def default_functions(kernel):
    text = []
    if not re.search(r"^void launch\(", kernel.text, re.M):
        if kernel.settings.get("options") == "cooperative":
            text += ["void launch(const T* in, T* out, cudaStream_t stream) {",
                     "  int n = N;",
                     "  void* arguments[] = {&in, &out, &n};",
                     "  cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(k), dim3(GRID), dim3(B), arguments, 0, stream);",
                     "}"]
        else:
            text.append("void launch(const T* in, T* out, cudaStream_t stream) { k<<<GRID, B, 0, stream>>>(in, out, N); }")
    if not re.search(r"^void prepare\(", kernel.text, re.M):
        text.append("void prepare() {}")
    return text


def write_program(out, name, program, fault):
    """Appends a program to the lines `out`. Returns what a test has to know of it."""
    kernel, host, pick = program
    known = {"name": name, "kernel": kernel.name, "host": host.name, "type": pick["types"]}
    out += ["", f"namespace {name} {{  // {kernel.name}, {host.name}",
            f"using T = {pick['types']};",
            f"constexpr int B = {pick['B']}, N = {pick['N']}, GRID = {kernel.settings.get('grid', '(N + B - 1) / B')};",
            f"constexpr int M = {kernel.settings['outputs']};"]
    first = {}
    for idiom in (kernel, host):
        first[idiom] = len(out) + 1
        code = idiom.code()
        if fault and fault[0] is idiom:
            code[fault[1]] = fault[4]
        out += code
        if idiom is kernel:
            last = len(out)
            out += default_functions(kernel)
            out.append("bool matches(const T* is) {")
            out += ["  std::vector<T> wanted(M, T(0));", "  serial(inputs<T>(N).data(), wanted.data());",
                    "  return same(is, wanted);", "}"]
    out.append(f"}}  // namespace {name}")
    if fault:
        idiom, line, kind, mark, _ = fault
        wanted = {first[idiom] + line, *(first[idiom] + k for k in idiom.marked(mark))}
        if mark == "kernel":
            wanted |= set(range(first[kernel], last + 1))
        if kind == "unset":  # a value that was never set is found where it is read: by the copy to the host, at the latest
            wanted |= {first[host] + k for k in host.marked("back")}
        known |= {"kind": kind, "mark": mark, "where": "host" if idiom is host else "kernel", "line": first[idiom] + line,
                  "wanted": sorted(wanted)}
    return known


def plant(programs, seed):
    """Chooses a fault for each program: every fault of an idiom once before any comes again."""
    random_of = random.Random(seed * 7919 + 1)
    turns = {}
    chosen = []
    for kernel, host, _ in programs:
        sites = [(idiom, *f) for idiom in (kernel, host) for f in idiom.faults()]
        random_of.shuffle(sites)
        site = min(sites, key=lambda s: turns.get((s[0].name, s[1]), 0))
        turns[site[0].name, site[1]] = turns.get((site[0].name, site[1]), 0) + 1
        chosen.append(site)
    return chosen


def main():
    parser = argparse.ArgumentParser(description="Writes CUDA programs that check themselves.")
    parser.add_argument("out", type=pathlib.Path, help="folder for the files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--faults", action="store_true", help="plant one fault in each program")
    parser.add_argument("--kernel", default="", help="only idioms of kernels whose name has this text")
    parser.add_argument("--host", default="", help="only idioms of host code whose name has this text")
    a = parser.parse_args()
    if not 1 <= a.files <= a.programs:
        parser.error(f"--files {a.files}: wants 1 to --programs, {a.programs}")
    kernels = [k for k in read_idioms("kernels_*.in") if a.kernel in k.name]
    hosts = [h for h in read_idioms("hosts.in") if a.host in h.name]
    if not kernels or not hosts:
        parser.error("--kernel, --host: no idiom has such a name")
    programs = choose(kernels, hosts, a.seed, a.programs)
    faults = plant(programs, a.seed) if a.faults else [None] * len(programs)
    a.out.mkdir(parents=True, exist_ok=True)
    for f in range(a.files):
        lines = HEAD.format(what="each has one fault" if a.faults else "all are right").rstrip("\n").split("\n")
        known = []
        for k in range(f, len(programs), a.files):
            known.append(write_program(lines, f"p{k:03}", programs[k], faults[k]))
        table = ", ".join(f'{{"{p["name"]}", {p["name"]}::run}}' for p in known)
        (a.out / f"p{f:02}.cu").write_text("\n".join(lines) + "\n" + TAIL % table)
        (a.out / f"p{f:02}.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
