#!/usr/bin/env python3
"""Where a release build spends its time, room by room, against a budget that may only fall.

  build_time.py BUILD                    prints seconds and ratio of each room, next to its budget
  build_time.py BUILD --check            exit code 1 where a room exceeds its budget, 77 where the log cannot tell
  build_time.py BUILD --accept           lowers the budgets of rooms that became cheaper
  build_time.py BUILD --accept --reason "why"   raises those of rooms that exceed theirs, too
  build_time.py --history                exit code 1 where the tracked budget grew without a new reason

BUILD is a folder that Ninja built from nothing. Machines differ, so a room's budget is a ratio: its seconds over those of the
CUDA files of some ops (CALIBRATION), compiled for the host in the same build. Seconds are wall time of each command, summed.
"""
import argparse
import csv
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Ops whose CUDA files calibrate. They are compiled for the host with flags that kernels and harness do not share.
CALIBRATION = ("vector_add", "transpose", "matmul", "softmax_xent_fwd", "layernorm_fwd", "layernorm_bwd", "adam",
               "hashgrid_fwd", "hashgrid_bwd", "composite_fwd", "composite_bwd")
# Commands of one build wait for each other and for other programs. That moves the ratio of a room of many objects by some
# per cent and that of a small room by far more, so that a room may exceed its budget by half and by a little.
FACTOR = 1.5
ALLOWANCE = 0.05
FACTORS = {"links": 4.0}  # the disk decides here, which the files that calibrate hardly use
# A build from nothing never rests this long between two objects, also not when a lab runs between the parts of a build.
LONGEST_PAUSE = 30 * 60
ROOMS = (  # the first prefix that fits
    ("kernels", "CMakeFiles/klab_kernels_"),
    ("kernels", "harness/CMakeFiles/klab_headers_simd"),
    ("kernels", "CMakeFiles/klab_headers_simd"),
    ("kernels", "harness/CMakeFiles/klab_headers_step"),
    ("cuda on the host", "CMakeFiles/klab_cuda_"),
    ("cuda on the host", "harness/CMakeFiles/klab_headers_cuda"),
    ("references", "CMakeFiles/klab_reference_"),
    ("lab commands", "CMakeFiles/klab_lab_"),
    ("harness", "harness/"),
    ("harness", "CMakeFiles/klab_headers"),
    ("radiance", "labs/radiance/"),
    ("learning", "labs/learning/"),
    ("tests", "tests/"),
)
BUDGET = pathlib.Path(__file__).resolve().parent / "build_budget.csv"


class CannotTell(Exception):
    """The log does not describe one build from nothing."""


def is_object(path):
    return path.endswith((".o", ".gch"))


def of_commit(path):
    """Compiled again after every commit."""
    return path.endswith("build_info.cpp.o")


def is_link(path):
    name = path.rsplit("/", 1)[-1]
    return name.endswith((".so", ".a")) or "." not in name


def room_of(path):
    if is_object(path):
        return next((room for room, prefix in ROOMS if path.startswith(prefix)), "other")
    return "links" if is_link(path) else None


def calibrates(path):
    return is_object(path) and path.startswith(
        tuple(f"CMakeFiles/klab_cuda_{way}{op}.dir/" for op in CALIBRATION for way in ("", "traced_")))


def read_log(path):
    """Returns {output: (start ms, end ms, mtime ns)} and the objects that were compiled more than once."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotTell(f"{path}: {error}") from error
    if not lines or not lines[0].startswith("# ninja log v"):
        raise CannotTell(f"{path}: is no log of Ninja")
    entries, again = {}, set()
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        try:
            start, end, mtime = (int(field) for field in fields[:3])
            output = fields[3]
        except (ValueError, IndexError) as error:
            raise CannotTell(f"{path}:{number}: is no entry of a log of Ninja: build again from nothing") from error
        if end < start:
            raise CannotTell(f"{path}:{number}: ends before it starts: build again from nothing")
        if output in entries and is_object(output) and not of_commit(output):
            again.add(output)
        entries[output] = (start, end, mtime)
    return entries, again


def objects_of_all(build):
    """The objects that the target `all` needs, as Ninja says."""
    try:
        done = subprocess.run(["ninja", "-C", str(build), "-t", "inputs", "all"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotTell(f"{build}: Ninja does not list what `all` needs ({error})") from error
    return {line.strip() for line in done.stdout.splitlines() if is_object(line.strip())}


def require_one_build(entries, again, wanted):
    missing = sorted(wanted - set(entries))
    if missing:
        raise CannotTell(f"{len(missing)} of {len(wanted)} objects are not in the log, {missing[0]} among them: not a whole build")
    if again:
        raise CannotTell(f"{len(again)} objects were compiled more than once, {sorted(again)[0]} among them: not a build from nothing")
    times = sorted(entries[path][2] for path in wanted if not of_commit(path))
    pause = max((b - a for a, b in zip(times, times[1:])), default=0) / 1e9
    if pause > LONGEST_PAUSE:
        raise CannotTell(f"the build rested {pause / 60:.0f} minutes between two objects: compiled at different times")


def measure(build):
    """Returns {room: seconds}, and seconds and number of the objects that calibrate."""
    entries, again = read_log(build / ".ninja_log")
    require_one_build(entries, again, objects_of_all(build))
    seconds, calibration, count, commands = {}, 0.0, 0, set()
    for output, (start, end, mtime) in sorted(entries.items()):
        room = room_of(output)
        if room is None:
            continue
        # Several outputs of one command share its times; its other outputs have no room, or the same.
        if not is_object(output):
            if (start, end, mtime) in commands:
                continue
            commands.add((start, end, mtime))
        took = (end - start) / 1000
        seconds[room] = seconds.get(room, 0.0) + took
        if calibrates(output):
            calibration, count = calibration + took, count + 1
    if calibration <= 0:
        raise CannotTell("no CUDA file of the ops that calibrate was compiled for the host in this build")
    return seconds, calibration, count


def read_budget(text):
    """Returns {room: (ratio, reason)}."""
    budget = {}
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
        try:
            ratio = float(row["ratio"])
            if not 0 <= ratio < 1e6 or not row["room"] or row["room"] in budget:
                raise ValueError
            budget[row["room"]] = (ratio, row["reason"].strip())
        except (KeyError, TypeError, ValueError, AttributeError):
            raise SystemExit(f"build_budget.csv:{number}: expected room,ratio,reason with one line a room and a ratio of 0 or more")
    return budget


def write_budget(path, budget):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(("room", "ratio", "reason"))
    for room in sorted(budget):
        ratio, reason = budget[room]
        out.writerow((room, f"{ratio:.3f}", reason))
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as temporary:
        temporary.write(text.getvalue())
    os.chmod(temporary.name, 0o644)
    os.replace(temporary.name, path)


def exceeded(room, ratio, budget):
    return ratio > FACTORS.get(room, FACTOR) * budget + ALLOWANCE


def accept(ratios, budget, reason):
    """Returns the new budget, and the rooms that need a reason to be raised."""
    fresh, refused = {}, []
    for room, ratio in ratios.items():
        old = budget.get(room)
        if old is None or exceeded(room, ratio, old[0]):
            if budget and not reason:
                refused.append(room)
            fresh[room] = (ratio, reason or "first measured")
        else:
            fresh[room] = (ratio, "") if ratio < old[0] else old
    return fresh, refused


def grown_without_reason(old, new):
    return [room for room, (ratio, reason) in new.items()
            if (room not in old or ratio > old[room][0]) and (not reason or reason == old.get(room, (0, ""))[1])]


def check_history(path):
    """Compares with the last committed budget that differs from the file."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(path.parent), *arguments], capture_output=True, text=True, check=True).stdout
    if not path.exists():
        tracked = subprocess.run(["git", "-C", str(path.parent), "log", "-n", "1", "--format=%H", "--", path.name],
                                 capture_output=True, text=True, check=False).stdout.strip() if shutil.which("git") else ""
        print(f"{path}: " + ("was deleted: restore it" if tracked else "no budget yet"))
        return 1 if tracked else 0
    text = path.read_text()
    new = read_budget(text)
    try:
        for commit in git("log", "-n", "10", "--format=%H", "--", path.name).split():
            before = git("show", f"{commit}:./{path.name}")
            if before != text:
                grown = grown_without_reason(read_budget(before), new)
                if grown:
                    print(f"{path.name}: {', '.join(grown)} grew and the column reason does not say why")
                return 1 if grown else 0
    except (OSError, subprocess.CalledProcessError):
        print("no git here: not compared with earlier budgets")
    return 0


def report(seconds, calibration, count, budget):
    print(f"seconds of the build by room; ratio to the {calibration:.1f} s of {count} CUDA files that calibrate")
    print(f"{'room':<18} {'seconds':>8} {'ratio':>7} {'budget':>7}")
    for room in sorted(seconds, key=seconds.get, reverse=True):
        ratio = seconds[room] / calibration
        known = budget.get(room)
        mark = "" if known is None or not exceeded(room, ratio, known[0]) else "  exceeded"
        print(f"{room:<18} {seconds[room]:8.1f} {ratio:7.3f} {'-' if known is None else format(known[0], '.3f'):>7}{mark}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--budget", type=pathlib.Path, default=BUDGET)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--reason", default="")
    parser.add_argument("--history", action="store_true")
    options = parser.parse_args()
    if options.history:
        return check_history(options.budget)
    if options.build is None:
        parser.error("name the folder of the build")
    budget = read_budget(options.budget.read_text()) if options.budget.exists() else {}
    try:
        seconds, calibration, count = measure(options.build)
    except CannotTell as why:
        print(f"build time: {why}")
        return 77
    report(seconds, calibration, count, budget)
    ratios = {room: took / calibration for room, took in seconds.items()}
    if options.accept:
        fresh, refused = accept(ratios, budget, options.reason.strip())
        if refused:
            print(f"not accepted: {', '.join(refused)} would grow; say why with --reason")
            return 2
        write_budget(options.budget, fresh)
        return 0
    if options.check:
        if not budget:
            print(f"{options.budget} holds no budget yet: make it with --accept on a build from nothing")
            return 77
        wrong = [room for room in ratios if room not in budget or exceeded(room, ratios[room], budget[room][0])]
        if wrong:
            print(f"over budget: {', '.join(wrong)}. Make it cheaper, or say why: {pathlib.Path(__file__).name} BUILD --accept --reason WHY")
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
