#!/usr/bin/env python3
"""Compiles and runs the programs of make_programs.py: right ones must have no finding, each fault must be found at its line.

  check_programs.py FOLDER --nvcc klab-nvcc [--seeds 1,2,3] [--faults] [--least 0.99]

FOLDER holds what make_programs.py has written. Exit code 1 if a right program has a finding or a wrong result, or if fewer than
the share --least of the faults are found. Misses are listed with their reason.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Faults that the executor does not see, by the idiom that has them and their mark: why.
UNSEEN = {}


def why_unseen(program):
    """Returns why the fault of a program need not be found, or nothing."""
    idiom = program["kernel"] if program["where"] == "kernel" else program["host"]
    return UNSEEN.get((idiom, program["mark"]), "")


def run(command, seconds=120, seed=None):
    env = dict(os.environ)
    if seed is not None:
        env["KLAB_PROGRAM_SEED"] = str(seed)
    env.setdefault("KLAB_PROGRAM_STEPS", "20000000")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=env, errors="replace")
    except subprocess.TimeoutExpired:
        return 124, f"no end within {seconds} s"
    return done.returncode, done.stdout + done.stderr


def findings(text):
    return [line for line in text.splitlines() if line.startswith("klab:")]


def compiled(nvcc, source, program):
    code, text = run([nvcc, str(source), "-o", str(program)], 1200)
    return "" if code == 0 else f"{source}: does not compile\n{text}"


def right_file(nvcc, source, seeds, scratch):
    """Returns complaints about a file of right programs, and how many programs were run."""
    program = pathlib.Path(scratch) / source.stem
    wrong = compiled(nvcc, source, program)
    if wrong:
        return [wrong], 0
    names = [p["name"] for p in json.loads(source.with_suffix(".json").read_text())]
    complaints = []
    for seed in seeds:
        code, text = run([str(program)], 600, seed)
        said = set(re.findall(r"^(p\d+) right$", text, re.M))
        complaints += [f"seed {seed}: {line}" for line in findings(text)]
        complaints += [f"{source} {n}, seed {seed}: wrong, or it did not end" for n in names if n not in said]
        if code != 0 and not complaints:
            complaints.append(f"{source}, seed {seed}: exit code {code}")
    program.unlink()
    return complaints, len(names) * len(seeds)


def fault_file(nvcc, source, seeds, scratch):
    """Returns a list of (program, verdict, text) for a file of programs with a fault each."""
    program = pathlib.Path(scratch) / source.stem
    wrong = compiled(nvcc, source, program)
    known = json.loads(source.with_suffix(".json").read_text())
    if wrong:
        return [(p, "not compiled", wrong) for p in known]
    results = []
    for p in known:
        verdict, text = "", ""
        for seed in seeds:
            code, text = run([str(program), p["name"]], 120, seed)
            named = {int(n) for line in findings(text) for n in re.findall(re.escape(source.name) + r":(\d+):", line)}
            if named & set(p["wanted"]):
                verdict = "found"
            elif findings(text):
                verdict = "elsewhere"
            elif code != 0:
                verdict = "wrong result"
            else:
                verdict = "silent"
            if verdict != "found":
                break
        results.append((p, verdict, text))
    program.unlink()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--least", type=float, default=0.99)
    parser.add_argument("--jobs", type=int, default=2)
    a = parser.parse_args()
    seeds = [int(s) for s in a.seeds.split(",")]
    sources = sorted(a.folder.glob("p*.cu"))
    if not sources:
        sys.exit(f"{a.folder}: no p*.cu; write them with make_programs.py")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        work = fault_file if a.faults else right_file
        done = list(pool.map(lambda s: work(a.nvcc, s, seeds, scratch), sources))
    if not a.faults:
        complaints = [c for one, _ in done for c in one]
        print("\n".join(complaints[:200]))
        print(f"{sum(n for _, n in done)} runs of right programs, {len(complaints)} complaints")
        sys.exit(1 if complaints else 0)
    results = [r for one in done for r in one]
    by_kind = collections.defaultdict(collections.Counter)
    for p, verdict, text in results:
        by_kind[p["where"], p["kind"]][verdict] += 1
        if verdict == "found":
            continue
        why = why_unseen(p) or "NOT EXPLAINED"
        print(f"{verdict}: {p['name']} {p['kernel']} / {p['host']}, {p['type']}: {p['kind']}:{p['mark']} at line {p['line']}: {why}")
        for line in (findings(text) or text.splitlines())[:4]:
            print("   ", line)
    for (where, kind), count in sorted(by_kind.items()):
        print(f"{where:6} {kind:10}", ", ".join(f"{n} {verdict}" for verdict, n in count.most_common()))
    found = sum(v == "found" for _, v, _ in results)
    print(f"{found} of {len(results)} faults found at their line")
    sys.exit(1 if found < a.least * len(results) else 0)


if __name__ == "__main__":
    main()
