#!/usr/bin/env python3
"""Holds rungs to the instructions that their headers promise: CUDA rungs in the machine code that nvcc makes for sm_90a, rungs of the
processor in that of g++ for AVX2.

  machine_code.py --check           exit code 1 where a rung's machine code breaks its line, or a line is missing
  machine_code.py --write           compiles what changed since and writes reports/recorded/machine_code.csv
  machine_code.py --show RUNG...    compiles these rungs and prints their instructions
  machine_code.py --lessons         makes the tables of recorded instructions in the lessons again
  --root FOLDER                     another tree

A rung's header says what its machine code contains and what it does not:

  // SASS      QGMMA UTMALDG.2D LDG.128; no LDL STL CALL.div_*64

A name is an instruction with any of its modifiers, in any order; "*" and "?" stand for any letters. Each name ahead of "; no" is in
some kernel of the file, each behind it in none. A rung whose CHANGE names an instruction (NAMED below) has such a line with it.

A rung of the processor may say it as well:

  // CODE      CALL.expf; no VMUL.YMM

Its instructions are counted by kind: VADD, VMUL, VDIV (of floats; VFMA fused; with .YMM or .XMM where they work on whole vectors), LOAD
and STORE (instructions that read or write memory off the stack), STACK (those that do on it), CALL.<what it calls>, and JUMP
(conditional ones).

A lesson has a table of them between "<!-- machine code: RUNG... -->" and "<!-- end of machine code -->"; --check compares it with the record.

The record holds the instructions with a digest of the code: the rung's file and the kernels/ headers that it includes, without
comments and blanks, and without kernels/common/cuda.h. --check compiles rungs whose digest differs, where nvcc ($KLAB_NVCC,
$CUDACXX, on PATH, in /usr/local/cuda) and nvdisasm ($KLAB_NVDISASM, on PATH, next to nvcc) are found, or for the processor g++ ($CXX, on
PATH) on an x86 machine, and names them elsewhere.
"""
import argparse
import collections
import csv
import fnmatch
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADER = ["rung", "code", "compiler", "instructions"]
ARCHITECTURE = "sm_90a"
# Options of the tree's kernels (cmake/KlabFlags.cmake), with one instruction set in place of all.
CPU_OPTIONS = ["-S", "-w", "-O3", "-std=c++20", "-march=haswell", "-maes", "-mpclmul", "-fopenmp", "-ffp-contract=off", "-fno-math-errno",
               "-DHWY_COMPILE_ONLY_STATIC"]
# Instructions that are recorded: those that move data, multiply matrices, call, and set registers.
KEPT = re.compile(r"(LD(?!C)|ST|RED|ATOM|UTMA|UBLK|CALL|MATCH|USETMAXREG|IDP|SHFL|D(ADD|MUL|FMA)$)|\w*MMA$")
# What a CHANGE text may name, and the instruction that this is.
NAMED = [(r"\bwgmma\b", "*GMMA"), (r"\bTMA\b", "UTMALDG"), (r"\bmma\.sync\b", "[HIQ]MMA"), (r"\bldmatrix\b", "LDSM"),
         (r"\bcp\.async\b|\b[Aa]synchronous copies\b", "LDGSTS"), (r"\bred\.global\b", "REDG"),
         (r"\bdp4a\b", "IDP"), (r"\bsetmaxnreg\b", "USETMAXREG")]


class Bad(Exception):
    """Something that a person has to mend; the message names the place."""


def header_of(text):
    """The fields of a rung's header: CHANGE -> its words."""
    fields, key = {}, None
    for line in text.split("\n"):
        if not line.startswith("//"):
            break
        begins = re.match(r"// ([A-Z]{4,})(?: +|$)(.*)", line)
        if begins:
            key = begins[1]
            fields[key] = begins[2]
        elif line.strip() == "//":
            key = None
        elif key:
            fields[key] += " " + line[2:].strip()
    return fields


def parse(line, place, word="SASS"):
    """"A B; no C" -> (["A", "B"], ["C"])."""
    parts = line.split(";")
    must, never = parts[0].split(), []
    if len(parts) == 2:
        words = parts[1].split()
        if words[:1] != ["no"] or len(words) < 2:
            raise Bad(f"{place}: {word}: behind ';' stand 'no' and instructions, not '{parts[1].strip()}'")
        never = words[1:]
    name = re.compile(r"[A-Z*?\[][A-Za-z0-9_*?\[\]]*(\.[A-Za-z0-9_*?\[\]]+)*$")
    wrong = [w for w in must + never if not name.match(w)]
    if len(parts) > 2 or wrong or not must + never:
        raise Bad(f"{place}: {word}: write it as 'HMMA LDG.128; no LDL STL'" + (f", not '{wrong[0]}'" if wrong else ""))
    return must, never


def matches(name, instruction):
    """Whether a name of a SASS line means that instruction of the machine code."""
    wanted, has = name.split("."), instruction.split(".")
    return fnmatch.fnmatchcase(has[0], wanted[0]) and all(any(fnmatch.fnmatchcase(h, w) for h in has[1:]) for w in wanted[1:])


def bare(text):
    """Code without comments and blanks."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\s+', re.S)
    return pattern.sub(lambda m: m[0] if m[0][0] == '"' else "", text)


def digest(root, file):
    """Of the rung's code and of the kernels' headers that it includes."""
    seen, code = set(), []

    def add(name):
        if name in seen or name == "kernels/common/cuda.h" or not (root / name).is_file():
            return
        seen.add(name)
        text = (root / name).read_text()
        code.append(bare(text))
        for other in re.findall(r'^#include "(kernels/[^"]+)"', text, re.M):
            add(other)

    add(file)
    return hashlib.sha256("".join(code).encode()).hexdigest()[:16]


def find(asked, name, *others):
    for place in [asked] + [shutil.which(name)] + [str(o) for o in others]:
        if place and os.access(place, os.X_OK) and os.path.isfile(place):
            return place
    return None


def tools():
    """nvcc and nvdisasm, or None where one is missing."""
    env = os.environ.get
    if env("KLAB_NVCC") == "none":
        return None
    nvcc = find(env("KLAB_NVCC") or env("CUDACXX"), "nvcc", "/usr/local/cuda/bin/nvcc")
    nvdisasm = find(env("KLAB_NVDISASM"), "nvdisasm", pathlib.Path(nvcc).parent / "nvdisasm") if nvcc else None
    return (nvcc, nvdisasm) if nvdisasm else None


def version_of(nvcc):
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"release ([0-9.]+)", said)
    return "nvcc " + (found[1] if found else "?")


def instructions(disassembly):
    """Counter of those that KEPT names. A call is CALL.<what it calls>."""
    counts = collections.Counter()
    for line in disassembly.split("\n"):
        at = re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?\s*([A-Z][\w.]*)(.*)", line)
        if not at or not KEPT.match(at[1].split(".")[0]):
            continue
        name = at[1]
        if name.startswith("CALL"):
            to = re.search(r"`\((?:\$__internal_\d+_\$__cuda_sm\d+x?_)?([^)]*)\)", at[2])
            name = "CALL." + (re.sub(r"\W", "_", to[1].split("__internal_")[-1]) if to else "pointer")
        counts[name] += 1
    return counts


def compiled(root, file, nvcc, nvdisasm):
    """The instructions of a file's kernels."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "code.cubin"
        for command in ([nvcc, "-cubin", "-w", f"-arch={ARCHITECTURE}", "-std=c++20", "-O3", "--expt-relaxed-constexpr",
                         f"-I{root}", str(root / file), "-o", str(cubin)], [nvdisasm, "-c", str(cubin)]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Bad(f"{file}: {command[0]} failed: {(done.stderr.strip() or 'it said nothing').splitlines()[0]}")
    return instructions(done.stdout)


def cpu_tools():
    """g++ where it makes code for x86, or None."""
    if os.environ.get("KLAB_MACHINE_CXX") == "none":
        return None
    cxx = find(os.environ.get("KLAB_MACHINE_CXX") or os.environ.get("CXX"), "g++")
    if not cxx:
        return None
    said = subprocess.run([cxx, "--version"], capture_output=True, text=True).stdout
    makes = subprocess.run([cxx, "-dumpmachine"], capture_output=True, text=True).stdout
    found = re.search(r"\d+\.\d+", said)
    return (cxx, "g++ " + (found[0] if found else "?")) if makes.startswith("x86_64") and "clang" not in said else None


def cpu_instructions(assembly):
    """Counter of a file's instructions by kind, without what only registers the rung."""
    counts, function, startup = collections.Counter(), "", False
    for line in assembly.split("\n"):
        label = re.match(r"([A-Za-z_][\w.$]*):", line)
        if re.match(r"\s*\.(section|text)\b", line):
            startup = ".text.startup" in line
        if label:
            function = label[1]
        at = re.match(r"\s+([a-z][a-z0-9]*)\s*(.*)", line)
        if not at or startup or "Registrar" in function or "supported" in function:
            continue
        name, operands = at[1], at[2].split("#")[0].strip()
        if name == "call":
            to = operands.split("@")[0]
            counts["CALL." + ("pointer" if to.startswith("*") else to)] += 1
            continue
        if name.startswith("j"):
            counts["JUMP"] += name != "jmp"
            continue
        last = re.split(r",\s*(?![^(]*\))", operands)[-1]
        memory = re.search(r"[-\w.+@]*\([^)]*\)", operands)
        if memory and not name.startswith(("lea", "prefetch", "nop")):
            on_stack = re.search(r"\(%r[sb]p", memory[0]) is not None
            counts["STACK" if on_stack else "STORE" if memory[0] in last and not name.startswith("vcomi") else "LOAD"] += 1
        kind = re.match(r"v(add|sub|mul|div|fn?m(?:add|sub))\w*?(ss|ps)$", name)
        if kind:
            width = "" if kind[2] == "ss" else ".YMM" if "%ymm" in operands else ".XMM"
            words = {"add": "VADD", "sub": "VADD", "mul": "VMUL", "div": "VDIV"}
            counts[words.get(kind[1], "VFMA") + width] += 1
    return counts


def cpu_compiled(root, file, cxx):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "code.s"
        done = subprocess.run([cxx, *CPU_OPTIONS, f"-I{root}", str(root / file), "-o", str(out)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Bad(f"{file}: {cxx} failed: {(done.stderr.strip() or 'it said nothing').splitlines()[0]}")
        return cpu_instructions(out.read_text())


def compile_rung(root, file):
    """The compiler's name and the instructions of a rung, or None where a tool is missing."""
    if file.endswith(".cpp"):
        have = cpu_tools()
        return (have[1], cpu_compiled(root, file, have[0])) if have else None
    have = tools()
    return (version_of(have[0]), compiled(root, file, *have)) if have else None


def line_of(fields):
    """What a header promises, and the word that it stands behind."""
    word = "CODE" if "CODE" in fields else "SASS"
    return word, fields.get(word)


def rungs_of(root):
    """(id, file, fields) of all CUDA rungs, and of those of the processor that promise something; vendors' baselines (90 and up) are
    none."""
    for path in sorted((root / "kernels").glob("*/cuda/[0-8][0-9]_*.cu")):
        file = path.relative_to(root).as_posix()
        yield f"{path.parts[-3]}.cuda.{path.stem}", file, header_of(path.read_text())
    for path in sorted((root / "kernels").glob("*/cpu/[0-8][0-9]_*.cpp")):
        fields = header_of(path.read_text())
        if "CODE" in fields:
            yield f"{path.parts[-3]}.cpu.{path.stem}", path.relative_to(root).as_posix(), {"CODE": fields["CODE"]}


def read_record(path):
    if not path.exists():
        return {}
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    if not rows or rows[0] != HEADER:
        raise Bad(f"{path}:1: the first line is '{','.join(HEADER)}': machine_code.py --write makes the file")
    record = {}
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(HEADER) or not re.fullmatch(r"(\S+=[1-9]\d*( |$))*", row[3]):
            raise Bad(f"{path}:{number}: not a line of {','.join(HEADER)}: machine_code.py --write makes the file")
        counts = {name: int(count) for name, count in (cell.rsplit("=", 1) for cell in row[3].split())}
        record[row[0]] = (row[1], row[2], counts)
    return record


def breaks(line, counts, place, word):
    """What of a SASS or CODE line the instructions break."""
    must, never = parse(line, place, word)
    found = [f"has no {name}" for name in must if not any(matches(name, i) for i in counts)]
    for name in never:
        there = {i: n for i, n in counts.items() if matches(name, i)}
        found += [f"has {n} {i}, and its header says no {name}" for i, n in sorted(there.items())]
    return found


def unnamed(fields):
    """Instructions that CHANGE names and SASS does not."""
    names = [w for w in re.split(r"[\s;]+", fields.get("SASS", "")) if w not in ("", "no")]
    for words, family in NAMED:
        if re.search(words, fields.get("CHANGE", "")) and not any(
                matches(family, n.replace("*", "")) or n.split(".")[0] == family for n in names):
            yield re.search(words, fields["CHANGE"])[0], family


def check(root, record):
    code, held, unknown = 0, 0, []
    for rung, file, fields in rungs_of(root):
        complaints = [f"its CHANGE says {words}, and its header has no SASS line with {family}" for words, family in unnamed(fields)]
        word, line = line_of(fields)
        if line is not None:
            known = record.get(rung)
            counts = known[2] if known else {}
            if not known or known[0] != digest(root, file):
                made = compile_rung(root, file)
                counts = made[1] if made else None
            if counts is None:
                parse(line, file, word)
                unknown.append(rung)
            else:
                complaints += breaks(line, counts, file, word)
                held += 1
        for words in complaints:
            print(f"{file}: {words}")
            code = 1
    code = 1 if lessons(root, record, compare=True) else code
    print(f"{held} rungs compared with their machine code")
    if unknown:
        print(f"not compared, since their code changed and nvcc and nvdisasm, or g++ for x86, are not here: {' '.join(unknown)}")
    return code


def write(root, path, record):
    lines = []
    for rung, file, fields in rungs_of(root):
        if line_of(fields)[1] is None:
            continue
        known, now = record.get(rung), digest(root, file)
        if not known or known[0] != now:
            print(f"compiling {rung}", flush=True)
            made = compile_rung(root, file)
            if not made:
                raise Bad("g++ for x86 ($CXX) is not here" if file.endswith(".cpp") else
                          "nvcc (CUDA 12.4 or newer; $KLAB_NVCC) or nvdisasm (package cuda-nvdisasm; $KLAB_NVDISASM) is not here")
            known = (now, *made)
        lines.append([rung, known[0], known[1], " ".join(f"{i}={n}" for i, n in sorted(known[2].items()))])
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name("." + path.name + ".new")
    with open(new, "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([HEADER] + lines)
    os.replace(new, path)
    print(f"{len(lines)} rungs in {path}")
    return 0


def table(rungs, record, place):
    """Rows of a Markdown table: instructions of these rungs, one column for all widths of one, of the processor one for each."""
    heads, cpu = {}, any(".cpu." in rung for rung in rungs)
    for rung in rungs:
        if rung not in record:
            raise Bad(f"{place}: {rung} has no recorded machine code: give it a SASS or CODE line, then machine_code.py --write")
        for name, count in record[rung][2].items():
            heads.setdefault(name if cpu else name.split(".")[0], collections.Counter())[rung] += count
    columns = sorted(set(heads) | (set() if cpu else {"LDL", "STL"}))
    yield "| rung | " + " | ".join(columns) + " |"
    yield "|---" + "|---:" * len(columns) + "|"
    for rung in rungs:
        yield f"| {rung} | " + " | ".join(str(heads.get(c, {}).get(rung, 0)) for c in columns) + " |"


def with_tables(text, record, place):
    """A lesson with its tables made from the record."""
    lines, ends = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if ends and line != ends:
            continue
        begins = re.match(r"<!-- machine code: (.*) -->$", line)
        ends = "<!-- end of machine code -->" if begins else None
        lines.append(line)
        if begins:
            lines += table(begins[1].split(), record, f"{place}:{number}")
    if ends is not None:
        raise Bad(f"{place}: a table of machine code has no line {ends}")
    return "\n".join(lines)


def lessons(root, record, compare):
    """Makes the tables of all lessons, or compares them; returns how many differ."""
    differ = 0
    for path in sorted((root / "labs").glob("*/README.md")):
        place, text = path.relative_to(root).as_posix(), path.read_text()
        made = with_tables(text, record, place)
        if made == text:
            continue
        differ += 1
        if compare:
            print(f"{place}: a table of machine code is not that of the record: machine_code.py --lessons makes it again")
        else:
            path.write_text(made)
            print(f"{place}: made again")
    return differ


def show(root, names):
    for name in names:
        op, _, rest = name.partition(".")
        backend, _, stem = rest.partition(".")
        file = f"kernels/{op}/{backend}/{stem}" + (".cu" if backend == "cuda" else ".cpp")
        if not (root / file).is_file():
            raise Bad(f"{name} is no rung: klab list")
        made = compile_rung(root, file)
        if not made:
            raise Bad("nvcc ($KLAB_NVCC) or nvdisasm ($KLAB_NVDISASM), or for the processor g++ for x86 ($CXX), is not here")
        print(name)
        for instruction, count in sorted(made[1].items()):
            print(f"  {count:5} {instruction}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    what.add_argument("--lessons", action="store_true")
    what.add_argument("--show", nargs="+", metavar="RUNG")
    o = parser.parse_args()
    path = o.root / "reports/recorded/machine_code.csv"
    try:
        if o.show:
            return show(o.root, o.show)
        record = read_record(path)
        if o.lessons:
            lessons(o.root, record, compare=False)
            return 0
        return write(o.root, path, record) if o.write else check(o.root, record)
    except Bad as e:
        print(f"machine_code.py: {e}", file=sys.stderr)
        return 2


sys.exit(main())
