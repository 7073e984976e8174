"""The program klab, called from Python."""

from __future__ import annotations

import json as json_module
import os
import pathlib
import shutil
import subprocess
from typing import Any, List, Optional

from ._error import Error


def program() -> str:
    """Returns the path of klab: $KLAB_PROGRAM, `build/release/klab` of the checkout that the working folder lies in, or `klab` in PATH."""
    named = os.environ.get("KLAB_PROGRAM")
    if named:
        return named
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents):
        built = folder / "build" / "release" / "klab"
        if (folder / "labs").is_dir() and os.access(built, os.X_OK):
            return str(built)
    found = shutil.which("klab")
    if found:
        return found
    raise Error("no program klab was found: set KLAB_PROGRAM to its path, or work in a checkout that ./klab has built", field="KLAB_PROGRAM")


def run(*arguments: str, json: bool = False, cwd: Optional[str] = None) -> Any:
    """Runs klab with these arguments and returns what it prints, or with json=True the object that its --json prints.

    Exit code 1 says that a check failed, which the output tells. For bad input, exit code 2, Error has klab's own message.
    """
    command: List[str] = [program(), *map(str, arguments), *(["--json"] if json else [])]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, "NO_COLOR": "1"}, check=False)
    except OSError as error:
        raise Error(f"{command[0]}: cannot be started ({error.strerror}): set KLAB_PROGRAM to klab's path", file=command[0]) from None
    if ended.returncode not in (0, 1):
        said = ended.stderr.strip().splitlines() or [f"ended with code {ended.returncode}"]
        raise Error(f"klab {' '.join(map(str, arguments))}: {said[-1]}", field=str(arguments[0]) if arguments else "")
    if not json:
        return ended.stdout
    try:
        return json_module.loads(ended.stdout)
    except ValueError:
        raise Error(f"klab {' '.join(map(str, arguments))} --json printed no JSON: is there --json for it? see klab --help",
                    field="--json") from None
