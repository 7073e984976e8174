#!/usr/bin/env python3
"""Tries CUDA programs of other people: compiles each, runs it unwatched and watched, and writes a table.

  try_programs.py TABLE.csv FOLDER... --klab-nvcc BUILD/klab-nvcc [--seconds 60] [--memory 10000] [--output 64] [--only TEXT]

Fetches nothing, and writes nothing into the folders: programs are run in a copy of their folder. A program is a file with a `main`,
together with the other sources of its folder if it is the only one there. Options -I, -D and -std= and the arguments of a run are
those of the folder's Makefile; a file `arguments` in the folder replaces the latter.

The table has one row for each program and grows as they are tried: a second call tries only those that are not in it. Exit code 2 if
the call is wrong, else 0; the table says what the programs did.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

COLUMNS = ["program", "klab_nvcc", "nvcc", "compile_seconds", "unwatched", "unwatched_seconds", "watched", "watched_seconds",
           "share", "output_bytes", "findings", "places", "sentence"]
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
MARK = "KLAB_TRIED_AS"
MAIN = re.compile(r"^[^/\n]*\b(?:int|void|auto)\s+main\s*\(", re.M)
LARGEST_COPY = 64 << 20  # bytes of a file; larger ones are linked


class Program:
    def __init__(self, name, folder, sources, options, arguments):
        self.name, self.folder, self.sources, self.options, self.arguments = name, folder, sources, options, arguments


def text_of(file):
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def makefile_of(folder):
    for name in ("Makefile", "makefile", "GNUmakefile"):
        if (folder / name).is_file():
            return text_of(folder / name).replace("\\\n", " ")
    return ""


def options_of(folder):
    """Returns the options of the folder's Makefile that name folders of headers, macros and the language's standard."""
    found = ["-I", str(folder)]
    for word in re.findall(r"(?<!\S)-(?:I\s*\S+|D\S+|std=\S+)", makefile_of(folder)):
        if "$" in word or "`" in word:
            continue
        if word.startswith("-I"):
            found += ["-I", str((folder / word[2:].strip()).resolve())]
        elif word not in found:
            found.append(word.strip("\"'"))
    return found


def arguments_of(folder):
    if (folder / "arguments").is_file():
        return shlex.split(text_of(folder / "arguments"))
    run = re.search(r"^run\s*:[^\n]*\n\t([^\n]*)", makefile_of(folder), re.M)
    if run is None:
        return []
    command = re.search(r"\./(?:\$[({]\w+[)}]|[\w.-]+)([^|;&><]*)", run[1])
    words = command[1].split() if command else []
    return [] if any("$" in word for word in words) else words


def programs_in(folder):
    """Yields the programs of a folder and of those in it."""
    for at in sorted({f.parent for f in folder.rglob("*.cu")}):
        sources = sorted(f for f in at.iterdir() if f.suffix in SOURCES and f.is_file())
        texts = {f: text_of(f) for f in sources}
        included = {name for text in texts.values() for name in re.findall(r'#\s*include\s*"(?:\./)?([^"/]+)"', text)}
        mains = [f for f in sources if f.name not in included and MAIN.search(texts[f])]
        base = at.relative_to(folder.parent)
        if len(mains) == 1:
            all_of_them = [f for f in sources if f.name not in included]
            yield Program(str(base), at, all_of_them, options_of(at), arguments_of(at))
            continue
        for main in (f for f in mains if f.suffix == ".cu"):
            yield Program(str(base / main.name), at, [main], options_of(at), [])


def processes_marked(mark):
    wanted = f"{MARK}={mark}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except OSError:
            pass


def resident(pids):
    """Returns the megabytes that the processes have in memory."""
    total = 0
    for pid in pids:
        try:
            total += int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            pass
    return total * os.sysconf("SC_PAGE_SIZE") >> 20


class Run:
    """A command that was run within limits: how it ended ("0", "60 s", "memory", "output"), its seconds and what it printed."""

    def __init__(self, command, folder, limits, env=None):
        mark = uuid.uuid4().hex
        started = time.monotonic()
        self.bytes, kept = 0, []
        too_much = threading.Event()
        try:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, **(env or {}), MARK: mark})
        except OSError as error:
            self.end, self.seconds, self.text = "not started", 0.0, str(error)
            return

        def read():
            while True:
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    return
                self.bytes += len(piece)
                kept.append(piece)
                if len(kept) > 64:  # the beginning, and what came last
                    del kept[32]
                if self.bytes > limits.output << 20:
                    too_much.set()
                    return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.end = ""
        pause = 0.005
        while self.end == "":
            try:
                code = process.wait(pause)
                self.end = str(code) if code >= 0 else signal.Signals(-code).name
            except subprocess.TimeoutExpired:
                pause = min(0.2, 2 * pause)
                if time.monotonic() - started > limits.seconds:
                    self.end = f"{limits.seconds:g} s"
                elif too_much.is_set():
                    self.end = "output"
                elif resident(processes_marked(mark)) > limits.memory:
                    self.end = "memory"
        self.seconds = time.monotonic() - started
        for _ in range(20):  # until none is left: one may have started another
            left = list(processes_marked(mark))
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                break
            time.sleep(0.05)
        process.wait()
        reader.join(5)
        self.text = b"".join(kept).decode(errors="replace")


def sentence_of(run):
    """Returns the line in which klab, or the compiler, says why it stopped."""
    lines = [line.strip() for line in run.text.splitlines() if line.strip()]
    for wanted in (r"^klab(-nvcc)?: ", r"\berror\b", r"cannot|refused|not there"):
        for line in lines:
            if re.search(wanted, line):
                return line[:300]
        if not run.end.isdigit():
            return f"ended by the limit: {run.end}"
    return lines[-1][:300] if lines else ""


def copied(folder, to):
    """Makes a copy of a folder in which a program may write. Large files are linked."""
    def copy(source, target):
        if os.path.getsize(source) > LARGEST_COPY:
            os.symlink(source, target)
        else:
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
        return target

    shutil.copytree(folder, to, copy_function=copy, ignore_dangling_symlinks=True, dirs_exist_ok=True)


def attempt(program, a, scratch):
    """Compiles and runs a program. Returns its row."""
    row = dict.fromkeys(COLUMNS, "")
    row["program"] = program.name
    compiling = argparse.Namespace(seconds=a.compile_seconds, memory=a.memory, output=a.output)
    build = lambda nvcc, name, *more: Run([nvcc, *more, *program.options, *map(str, program.sources), "-o", str(scratch / name)],
                                          scratch, compiling)
    watched = build(a.klab_nvcc, "watched")
    row["compile_seconds"] = f"{watched.seconds:.1f}"
    row["klab_nvcc"] = "yes" if watched.end == "0" else "no"
    row["nvcc"] = "-" if a.nvcc is None else "yes" if build(a.nvcc, "real").end == "0" else "no"
    if watched.end != "0":
        row["sentence"] = sentence_of(watched) if watched.end.isdigit() else f"compiling: {watched.end}"
        return row
    folder = scratch / "folder"
    copied(program.folder, folder)
    if build(a.klab_nvcc, "unwatched", "--klab-plain").end == "0":
        run = Run([str(scratch / "unwatched"), *program.arguments], folder, a)
        row["unwatched"], row["unwatched_seconds"] = run.end, f"{run.seconds:.1f}"
    report = scratch / "report.json"
    for share in (1.0, a.share):
        report.unlink(missing_ok=True)
        run = Run([str(scratch / "watched"), *program.arguments], folder, a,
                  {"KLAB_PROGRAM_REPORT": str(report), "KLAB_PROGRAM_SHARE": str(share)})
        row["share"] = f"{share:g}"
        if run.end != f"{a.seconds:g} s":
            break
    row["watched"], row["watched_seconds"], row["output_bytes"] = run.end, f"{run.seconds:.1f}", run.bytes
    if run.end == "2" or not run.end.isdigit():
        row["sentence"] = sentence_of(run)
    if report.is_file():
        found = [f for f in json.loads(report.read_text(errors="replace"))["findings"] if not f["harmless"]]
        row["findings"] = len(found)
        row["places"] = "; ".join(f"{f['kind']} {pathlib.Path(f['file']).name}:{f['line']}" for f in found[:20])
    return row


def rows_of(table):
    """Returns the rows of a table. A row that was cut off is dropped."""
    if not table.is_file():
        return []
    text = table.read_text()
    reader = csv.DictReader(text.splitlines())
    if reader.fieldnames is not None and reader.fieldnames != COLUMNS:
        print(f"{table}: its columns are not those of this script; name another file", file=sys.stderr)
        sys.exit(2)
    rows = list(reader)
    return rows if text.endswith("\n") else rows[:-1]


def write(table, rows):
    part = table.with_name(table.name + ".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    part.replace(table)


def summary(rows):
    compiled = [r for r in rows if r["klab_nvcc"] == "yes"]
    ended = [r for r in compiled if r["watched"].isdigit() and not r["sentence"]]
    quick = [r for r in compiled if r["unwatched"].isdigit() and float(r["unwatched_seconds"]) < 20]
    return (f"{len(rows)} programs: {len(compiled)} compiled, {len(ended)} ended watched "
            f"({sum(r in ended for r in quick)} of {len(quick)} whose unwatched run takes less than 20 s), "
            f"{sum(r['share'] == '1' for r in ended)} of them watched whole, "
            f"{sum(int(r['findings'] or 0) > 0 for r in rows)} have findings")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    parser.add_argument("--klab-nvcc", required=True)
    parser.add_argument("--nvcc", default=None, help="a real nvcc; none: the one in PATH")
    parser.add_argument("--seconds", type=float, default=60, help="of one run")
    parser.add_argument("--compile-seconds", type=float, default=300)
    parser.add_argument("--memory", type=int, default=10000, help="megabytes")
    parser.add_argument("--output", type=int, default=64, help="megabytes")
    parser.add_argument("--share", type=float, default=0.05, help="of the blocks, where all take too long")
    parser.add_argument("--only", default="", help="programs whose name has this text")
    a = parser.parse_args()
    for folder in a.folders:
        if not folder.is_dir():
            parser.error(f"{folder}: there is no such folder")
    a.klab_nvcc = str(pathlib.Path(a.klab_nvcc).resolve())
    if not os.access(a.klab_nvcc, os.X_OK):
        parser.error(f"--klab-nvcc {a.klab_nvcc}: no program; build the target klab-nvcc")
    a.nvcc = a.nvcc or shutil.which("nvcc")
    if a.nvcc is not None and pathlib.Path(a.nvcc).resolve() == pathlib.Path(a.klab_nvcc):
        a.nvcc = None
    rows = rows_of(a.table)
    known = {row["program"] for row in rows}
    tried = 0
    for folder in a.folders:
        for program in programs_in(folder.resolve()):
            if program.name in known or a.only not in program.name:
                continue
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
                row = attempt(program, a, pathlib.Path(scratch))
            known.add(program.name)
            rows.append({k: str(v) for k, v in row.items()})
            write(a.table, rows)
            tried += 1
            print(f"{row['program']}: compiled {row['klab_nvcc']}, unwatched {row['unwatched'] or '-'}, watched {row['watched'] or '-'}, "
                  f"{row['findings'] or 0} findings{': ' + row['sentence'] if row['sentence'] else ''}", flush=True)
    print(f"{tried} tried; {summary(rows)}" if rows else "no programs: no .cu file with a main in these folders")


if __name__ == "__main__":
    main()
