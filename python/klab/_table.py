"""Recorded results as tables: rows, counts of CUDA rungs, verdicts.

A table is a pandas DataFrame where pandas is installed, else a dict from column to NumPy array.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
from typing import Any, Callable, Dict, Iterable, List, Sequence

import numpy as np

from ._error import Error
from ._worker import Path, path_text, reader

Table = Any  # pandas.DataFrame or Dict[str, np.ndarray]

_TEXT = ("fingerprint commit lab op variant backend instruction_set size shape cache skipped wrong peer ceiling error verdict").split()
_WHOLE = "row rows threads session rounds iterations".split()
_NUMBER = ("confidence seconds_median seconds_low seconds_high bytes flops gb_per_s gflop_per_s over_naive over_naive_low "
           "over_naive_high over_parent over_parent_low over_parent_high over_peer over_peer_low over_peer_high ceiling_per_second "
           "of_ceiling of_ceiling_low of_ceiling_high expected worst_error others").split()
_LIST = "shares waited core_to_core_ns seconds".split()  # one number a round
_COUNTS = {"counts": int, "needs": int, "resources": float}  # NAME=VALUE;...


def _objects(values: Iterable[Any]) -> np.ndarray:
    """Returns an array of objects, whatever these are: arrays of equal lengths do not become one."""
    items = list(values)
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def _numbers(cells: Sequence[str]) -> np.ndarray:
    return np.array([float(c) if c else np.nan for c in cells])


def _pairs(cell: str, kind: Callable[[str], Any]) -> Dict[str, Any]:
    return {name: kind(value) for name, value in (part.split("=") for part in cell.split(";") if part)}


def _column(name: str, cells: List[str]) -> np.ndarray:
    if name == "run":
        return np.array([c == "complete" for c in cells])
    if name in _TEXT:
        return _objects(cells)
    if name in _WHOLE:
        return np.array([int(c) for c in cells], dtype=np.int64)
    if name in _NUMBER:
        return _numbers(cells)
    if name in _LIST:
        return _objects(np.array([float(v) for v in c.split(";") if v]) for c in cells)
    if name in _COUNTS:
        return _objects(_pairs(c, _COUNTS[name]) for c in cells)
    raise Error(f"column '{name}' is unknown to this package: install the one of the same klab, pip install ./python", field=name)


def table(columns: Dict[str, np.ndarray]) -> Table:
    """Returns the columns as a DataFrame where pandas is installed."""
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def _joined(parts: List[Dict[str, np.ndarray]]) -> Table:
    return table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _files(path: Path, what: str, suffix: str, wanted: Callable[[pathlib.Path], bool], remedy: str) -> List[str]:
    """Returns the file itself, or the files below a folder that are wanted, sorted."""
    text = path_text(path, what)
    if not os.path.isdir(text):
        if not os.path.exists(text):
            raise Error(f"{text}: there is no such file or folder: {remedy}", file=text, field=what, remedy=remedy)
        return [text]
    found = sorted(str(p) for p in pathlib.Path(text).rglob("*" + suffix) if p.is_file() and wanted(p))
    if not found:
        raise Error(f"{text}: no file below this folder holds {what}: {remedy}", file=text, field=what, remedy=remedy)
    return found


def _begins(file: pathlib.Path, beginnings: Sequence[str]) -> bool:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read(64).lstrip().startswith(tuple(beginnings))
    except OSError:
        return True  # its reader says what is wrong


def rows(path: Path, *, partial: bool = False) -> Table:
    """Reads the rows that `klab bench --out`, `klab run --out` and baselines record.

    path: a CSV, or a folder: then all CSV below it that begin with the columns row,rows,run.
    partial: take rows of an interrupted run, too.

    One line per variant, size and session; the columns are those of docs/files.md and `file`. Numbers are float64, NaN where a cell is
    empty, and `row`, `rows`, `threads`, `session`, `rounds`, `iterations` int64. `run` says whether the run was complete. `shares`,
    `waited`, `core_to_core_ns` (nanoseconds) and `seconds` hold an array with a number per round, `counts`, `needs` and `resources` a
    dict. Times are seconds of one call, `bytes` and `flops` those of one call by the contract, `gb_per_s` 1e9 bytes a second,
    `ceiling_per_second` in bytes or operations a second; `over_...` are speedups, `of_ceiling` a share from 0 to 1.

    Former names of rungs become the present ones for the processor's rungs of klab's trainer, and of several rows that then belong to one
    rung the latest name's is kept; other ids are as recorded.
    """
    remedy = "name a CSV that klab bench --out or klab run --out wrote"
    parts = []
    for file in _files(path, "rows", ".csv", lambda p: _begins(p, ["row,rows,run"]), remedy):
        if file.endswith(".json"):
            raise Error(f"{file}: rows are read from CSV: record them with --out NAME.csv", file=file, field="rows",
                        remedy="record them with --out NAME.csv")
        value, _ = reader.call("rows", file=file, partial=bool(partial))
        lines = list(csv.reader(io.StringIO(value["csv"])))
        names, cells = lines[0], lines[1:]
        part = {name: _column(name, [line[i] for line in cells]) for i, name in enumerate(names)}
        part["file"] = _objects([file] * len(cells))
        parts.append(part)
    return _joined(parts)


def counts(path: Path) -> Table:
    """Reads recorded counts of CUDA rungs on the host executor: reports/recorded/counts, a file of it, or `klab trace --json`.

    One line per count of one call: `variant`, `shape`, `place` ("all", "kernel NAME", or a source file), `line` of that file or 0,
    `access` ("shared load 4 B"), `metric`, `count` (int64) and `compiler`; `file`.
    """
    remedy = "name reports/recorded/counts, a CSV of it, or what klab trace VARIANT --json printed"
    parts = []
    for file in _files(path, "counts", ".csv", lambda p: _begins(p, ["# compiled by", "variant,shape,place"]), remedy):
        if file.endswith(".json"):
            parts.append(_traced(file, remedy))
            continue
        value, _ = reader.call("counts", file=file)
        columns = value["columns"]
        n = len(columns["count"])
        part = {name: np.array(columns[name], dtype=np.int64) if name in ("line", "count") else _objects(columns[name])
                for name in ("variant", "shape", "place", "line", "access", "metric", "count")}
        part["compiler"] = _objects([value["compiler"]] * n)
        part["file"] = _objects([file] * n)
        parts.append(part)
    return _joined(parts)


def _json_of(file: str, schemas: Dict[str, int], remedy: str) -> Dict[str, Any]:
    """Reads an object that klab printed with --json, of one of these schemas and their versions."""
    try:
        with open(file, encoding="utf-8") as stream:
            value = json.load(stream)
    except (OSError, ValueError) as error:
        raise Error(f"{file}: is no JSON ({error}): {remedy}", file=file, field="schema", remedy=remedy) from None
    if not isinstance(value, dict) or value.get("schema") not in schemas:
        raise Error(f'{file}: "schema" is none of {", ".join(schemas)}: {remedy}', file=file, field="schema",
                    remedy=remedy)
    version = schemas[value["schema"]]
    if value.get("schema_version") != version:
        raise Error(f'{file}: "schema_version" is {value.get("schema_version")}, this package reads {version}: write it with the klab '
                    "of this package", file=file, field="schema_version")
    return value


def _key(file: str, value: Dict[str, Any], key: str) -> Any:
    if key not in value:
        raise Error(f'{file}: "{key}" is missing: write it again with the klab of this package', file=file, field=key)
    return value[key]


def _traced(file: str, remedy: str) -> Dict[str, np.ndarray]:
    value = _json_of(file, {"trace": 1}, remedy)
    found = _key(file, value, "counts")
    n = len(found)
    shape = " ".join(f"{name}={size}" for name, size in _key(file, value, "shape").items())
    return {"variant": _objects([_key(file, value, "variant")] * n), "shape": _objects([shape] * n), "place": _objects(["all"] * n),
            "line": np.zeros(n, np.int64), "access": _objects([""] * n), "metric": _objects(found),
            "count": np.array(list(found.values()), dtype=np.int64), "compiler": _objects([""] * n), "file": _objects([file] * n)}


def verdicts(path: Path) -> Table:
    """Reads verdicts: a claims.json of reports/recorded, a folder with some, or what `klab check --json` printed.

    Of claims one line each: `claim`, `said`, `metric`, `least` and `most` (the range in which it holds), `verdict` ("held", "refuted",
    "depends"), `low`, `value`, `high` (of the metric), `because`, `machine`, `commit`, `date`. Of a check one line per variant:
    `variant`, `verdict` ("ok", "failed", "skipped"), `cases`, `worst` (largest error as a share of its bound, NaN if skipped), `why`.
    """
    remedy = "name a claims.json of reports/recorded, or what klab check --json printed"
    parts = []
    for file in _files(path, "verdicts", "claims.json", lambda p: p.name == "claims.json", remedy):
        value = _json_of(file, {"claims": 2, "check": 1}, remedy)
        parts.append(_checked(file, value) if value["schema"] == "check" else _claimed(file))
    return _joined(parts)


def _claimed(file: str) -> Dict[str, np.ndarray]:
    record, _ = reader.call("claims", file=file)
    claims = record["claims"]
    part = {name: _objects(c.get(name, "") for c in claims) for name in ("claim", "said", "metric", "verdict", "because", "machine",
                                                                         "commit", "date")}
    for name, missing in (("least", -np.inf), ("most", np.inf)):
        part[name] = np.array([c["rule"].get(name, missing) for c in claims], dtype=float)
    for name in ("low", "value", "high"):
        part[name] = np.array([c[name] for c in claims], dtype=float)
    part["file"] = _objects([file] * len(claims))
    return part


def _checked(file: str, value: Dict[str, Any]) -> Dict[str, np.ndarray]:
    variants = _key(file, value, "variants")

    def why(v: Dict[str, Any]) -> str:
        failures = v.get("failures") or []
        if failures:
            f = failures[0]
            return f"{f['fault']} in {f['tensor']}{f['index']}: expected {f['expected']}, got {f['got']}, bound {f['bound']}"
        return str(v.get("skipped", ""))

    return {"variant": _objects(_key(file, v, "variant") for v in variants), "verdict": _objects(_key(file, v, "verdict") for v in variants),
            "cases": np.array([_key(file, v, "cases") for v in variants], dtype=np.int64),
            "worst": np.array([np.nan if _key(file, v, "worst") is None else v["worst"] for v in variants], dtype=float),
            "why": _objects(why(v) for v in variants), "file": _objects([file] * len(variants))}
