"""The program that reads klab's files and renders its models, as a process that answers requests.

It is C++ (src/worker.cpp), so that Python reads every file as klab does. A process that is interrupted or that dies takes no other
with it: the next request starts a fresh one.
"""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import subprocess
import tempfile
import threading
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from ._error import Error

Path = Union[str, "os.PathLike[str]"]

_PROGRAM = pathlib.Path(__file__).with_name("klab-worker")
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U32": "<u4", "I8": "|i1", "U8": "|u1"}


def path_text(path: Path, what: str) -> str:
    """Returns a path as the worker takes it: absolute, in UTF-8."""
    try:
        text = os.path.abspath(os.fspath(path))
    except TypeError:
        raise Error(f"{what} is of type {type(path).__name__}: give a path", field=what) from None
    if not isinstance(text, str):
        text = os.fsdecode(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Error(f"{text!r}: the name is not UTF-8: rename the file", field=what) from None
    if "\n" in text or "\0" in text:
        raise Error(f"{text!r}: the name has a line end or a zero: rename the file", field=what)
    return text


class Worker:
    """One process. `call` may be used by several threads; requests are answered one after the other."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._errors: Any = None
        self._lock = threading.Lock()
        atexit.register(self.close)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            # Threads of OpenMP that wait for work do not spin for long: the interpreter has threads of its own.
            environment = {"GOMP_SPINCOUNT": "20000", **os.environ}
            self._errors = tempfile.TemporaryFile()
            try:
                self._process = subprocess.Popen([str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                 stderr=self._errors, env=environment)
            except OSError as error:
                raise Error(f"{_PROGRAM}: cannot be started ({error.strerror}): build and install the package, pip install ./python in "
                            "klab's tree", file=str(_PROGRAM)) from None
        return self._process

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                try:
                    if pipe is not None:
                        pipe.close()
                except OSError:
                    pass
            process.kill()
            process.wait()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def call(self, do: str, *, points: Sequence[np.ndarray] = (), **arguments: Any) -> Tuple[Any, Dict[str, np.ndarray]]:
        """Returns the value and the arrays of a reply. `points` are arrays [n,3], float32 and contiguous. Raises Error where the worker
        refuses, or where it ends."""
        if points:
            arguments["arrays"] = [len(array) for array in points]
        with self._lock:
            process = self._started()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
                for array in points:
                    process.stdin.write(array.tobytes())
                process.stdin.flush()
                line = process.stdout.readline()
                if not line:
                    raise EOFError
                reply = json.loads(line)
                if "error" in reply:
                    raise Error(**reply["error"])
                return reply["value"], {a["name"]: _array(process.stdout, a) for a in reply["arrays"]}
            except (EOFError, BrokenPipeError):
                raise self._ended(do) from None
            except Error:
                raise
            except BaseException:  # an interrupt: what is left of the reply would be taken for the next one
                self.close()
                raise

    def _ended(self, do: str) -> Error:
        process, errors = self._process, self._errors
        assert process is not None
        code = process.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        why = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        last = f" ({said[-1]})" if said else ""
        return Error(f"klab's worker {why} while it did \"{do}\"{last}: where memory is short take less at a time; else report the file",
                     field=do)


def _array(stream: Any, head: Dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(_DTYPES[head["dtype"]])
    array = np.empty(head["shape"], dtype)
    if array.nbytes != head["bytes"]:
        raise EOFError
    view = memoryview(array.reshape(-1).view(np.uint8)) if array.nbytes else memoryview(b"")
    at = 0
    while at < len(view):
        n = stream.readinto(view[at:])
        if not n:
            raise EOFError
        at += n
    if head["dtype"] == "BF16":  # NumPy has no bfloat16: its bits are the upper half of a float's
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


reader = Worker()
