#!/usr/bin/env bash
# klab.check of the Python package, which is Python alone: wrong functions fail, right ones pass, bad input is named. And the notebooks store
# no outputs. The installed package: test_python.sh.
set -uo pipefail
root=$2
python3 -B - "$root" <<'END' || exit 1
import glob, json, sys
files = glob.glob(sys.argv[1] + "/python/notebooks/*.ipynb")
assert files, "no notebook was found"
for file in files:
    for cell in json.load(open(file, encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"] is not None):
            sys.exit(f"{file}: a cell has stored outputs; clear them, measured numbers are recorded elsewhere")
END
if ! python3 -c 'import numpy' 2>/dev/null; then
  echo "skipped: python3 has no numpy (python3-numpy)"
  exit 77
fi
cd "$root/python" && PYTHONPATH=. python3 -B -m unittest -q tests/test_check.py
