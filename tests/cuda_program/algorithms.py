#!/usr/bin/env python3
"""Makes and checks the table of docs/cuda-algorithms.md: each public algorithm of CUB and Thrust, and whether klab counts, runs or refuses it.

  algorithms.py NVCC PROGRAMS PAGE [--only FILE]... [--write] [--seconds 600]

PROGRAMS holds programs that call the algorithms, tests/programs/algorithms. A program that is compiled by NVCC (klab-nvcc) prints the
names of its algorithms; with a name as argument it runs that one and compares with loops. --write puts the table into PAGE;
without it, what PAGE says of the algorithms of these programs must hold. Exit code 1 if it does not, if a result is wrong, or if a
public algorithm of the toolkit has no program.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- algorithms.py: begin -->\n", "<!-- algorithms.py: end -->\n"
# Functions about memory, and one that is not public.
NONE = {"DeviceAdjacentDifference::AdjacentDifference", "thrust::free", "thrust::get_per_device_resource", "thrust::get_temporary_buffer",
        "thrust::malloc", "thrust::return_temporary_buffer"}
INCLUDES = ["/usr/local/cuda/include/cccl", "/usr/local/cuda/include"]
STATES = ["counted", "runs", "refused", "finding"]


def public(top):
    """Returns the names of the public algorithms of a toolkit's headers."""
    names = set()
    for header in sorted((top / "cub/device").glob("device_*.cuh")):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", header.read_text(), flags=re.S)
        of = re.search(r"\bstruct\s+(Device\w+)\s*\{", text)
        for name in re.findall(r"\bstatic\s+(?:CUB_RUNTIME_FUNCTION\s+)?cudaError_t\s+(\w+)\s*\(", text):
            if of and name[0].isupper() and not name.endswith("NoNVTX"):
                names.add(f"{of.group(1)}::{name}")
    for header in sorted((top / "thrust").glob("*.h")):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for name in re.findall(r"\b(\w+)\s*\(\s*const\s+(?:thrust::)?detail::execution_policy_base<", text):
            names.add(f"thrust::{name}")
    return names - NONE


def run(command, seconds, environment=None):
    """Returns the exit code and what was printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, stdin=subprocess.DEVNULL,
                              env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired:
        return 124, f"no end within {seconds} s"
    return done.returncode, done.stdout + done.stderr


def state_of(program, name, scratch, seconds):
    """Returns the state of an algorithm, and a complaint or nothing."""
    report = scratch / "report.json"
    report.unlink(missing_ok=True)
    code, text = run([str(program), name], seconds, {"KLAB_PROGRAM_REPORT": str(report)})
    j = json.loads(report.read_text()) if report.exists() else {"findings": [], "lines": []}
    found = [f["words"] for f in j["findings"] if not f["harmless"]]
    refusal = [words for words in found if "GPU" in words and ("is not known on the host" in words or "needs a GPU" in words)]
    if code == 2 or refusal:
        return "refused", ""
    if found:
        return ("finding", "") if code == 1 else ("wrong", f"{name}: exit code {code}: {found[0]}")
    if code != 0:
        return "wrong", f"{name}: exit code {code}: {text[-300:]}"
    return ("counted" if any(sum(line["counts"]) > 0 for line in j["lines"]) else "runs"), ""


def table_of(states):
    lines = ["| | counted | runs | refused | a finding |\n|---|---|---|---|---|\n"]
    by_class = {}
    for name, state in sorted(states.items()):
        of, member = name.split("::")
        by_class.setdefault(of, {}).setdefault(state, []).append(member)
    for of, members in sorted(by_class.items()):
        cells = [", ".join(f"`{m}`" for m in members.get(state, [])) for state in STATES]
        lines.append(f"| `{of}` | " + " | ".join(cells) + " |\n")
    return "".join(lines)


def states_of(page):
    """Reads the table of a page."""
    states = {}
    text = page.read_text()
    for line in text[text.index(BEGIN) + len(BEGIN):text.index(END)].splitlines()[2:]:
        of, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for state, cell in zip(STATES, cells):
            for member in re.findall(r"`(\w+)`", cell):
                states[f"{of.strip('`')}::{member}"] = state
    return states


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvcc")
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--only", action="append", help="only this program, device_scan for example")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--seconds", type=float, default=600, help="to compile one program, and to run one algorithm")
    options = parser.parse_args()
    top = next((pathlib.Path(i) for i in INCLUDES if pathlib.Path(i, "thrust/version.h").exists()), None)
    if top is None:
        print("no toolkit with CUB and Thrust is installed")
        return 77
    sources = [s for s in sorted(options.programs.glob("*.cu")) if not options.only or s.stem in options.only]
    if not sources or (options.only and len(sources) != len(options.only)):
        sys.exit(f"{options.programs}: no program of that name")
    complaints, states = [], {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for source in sources:
            program = scratch / source.stem
            code, text = run([options.nvcc, str(source), "-o", str(program)], options.seconds)
            if code != 0:
                complaints.append(f"{source.name}: does not compile: {text[:600]}")
                continue
            for name in run([str(program)], options.seconds)[1].split():
                states[name], complaint = state_of(program, name, scratch, options.seconds)
                print(f"{name}: {states[name]}", flush=True)
                if complaint:
                    complaints.append(complaint)
    if options.write:
        known = states_of(options.page) if options.only else {}
        known.update({name: state for name, state in states.items() if state in STATES})
        text = options.page.read_text()
        options.page.write_text(text[:text.index(BEGIN) + len(BEGIN)] + table_of(known) + text[text.index(END):])
    listed = states_of(options.page)
    for name, state in states.items():
        if state in STATES and listed.get(name) != state:
            complaints.append(f"{name}: {state}, but {options.page.name} says {listed.get(name)}; algorithms.py --write makes the table")
    for name in sorted(public(top) - set(listed)):
        complaints.append(f"{name}: {options.page.name} does not have it")
    for complaint in complaints:
        print(f"FAILED: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
