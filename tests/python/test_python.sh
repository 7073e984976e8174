#!/usr/bin/env bash
# ctest: long
# The Python package as people install it: pip install ./python into an environment of its own, with and without pandas, then its tests on
# klab's own files and models, and the notebooks. Where no package index can be reached it is skipped.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
klab=$(realpath "$1") root=$(realpath "$2") build=$(realpath "$3")
export OMP_WAIT_POLICY=passive XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH KLAB_PROGRAM MPLBACKEND

if ! python3 -m venv "$tmp/venv" >"$tmp/log" 2>&1; then
  echo "skipped: python3 -m venv does not work here (python3-venv)"
  exit 77
fi
python=$tmp/venv/bin/python
if ! "$python" -m pip install -q numpy scikit-build-core >"$tmp/log" 2>&1; then
  echo "skipped: pip cannot install numpy and scikit-build-core here: $(tail -n 1 "$tmp/log")"
  exit 77
fi

# An installed klab, its build folder, and neither: the same package, or a message that says what to do.
must "install klab" cmake --install "$build" --prefix "$tmp/installed"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
export CXX=$compiler
before=$(cd "$root/python" && find . -type f | LC_ALL=C sort)
must "pip install with an installed klab" "$python" -m pip install -v "$root/python" -C cmake.define.CMAKE_PREFIX_PATH="$tmp/installed"
grep -q "klab: the installed one" "$tmp/log" || { tail -n 60 "$tmp/log"; fail "the installed klab was not taken"; }
must "pip uninstall" "$python" -m pip uninstall -y klab
ln -s "$build" "$tmp/release"
must "pip install from the build folder" env KLAB_BUILD_DIR="$tmp" "$python" -m pip install -v "$root/python"
grep -q "klab: from its build folder $tmp/release" "$tmp/log" || { tail -n 60 "$tmp/log"; fail "the build folder was not taken"; }
cp -r "$root/python" "$tmp/alone"
"$python" -m pip install "$tmp/alone" >"$tmp/log" 2>&1 && fail "a package without klab is built"
tr '\n' ' ' <"$tmp/log" | tr -s ' ' >"$tmp/words"
grep -q "no klab was found" "$tmp/words" || { tail -n 40 "$tmp/log"; fail "the message does not say that there is no klab"; }
[[ $(cd "$root/python" && find . -type f | LC_ALL=C sort) == "$before" ]] || fail "the installation leaves files in python/"

# Small models of three kinds.
mkdir "$tmp/models"
echo '{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "grid": 32, "steps_per_diagonal": 128, "width": 16}' >"$tmp/hash.json"
echo '{"first_grid": 16, "grid": 32, "batch_samples": 4096}' >"$tmp/voxels.json"
echo '{"initial": 500, "most": 800}' >"$tmp/gaussians.json"
for field in hash voxels gaussians; do
  must "klab train --field $field" "$klab" train built-in --downscale 12 --holdout 4 --seed 3 --plan last --no-eval \
    --field $field --config "$tmp/$field.json" --steps 40 --out "$tmp/models/$field"
done
must "klab export" "$klab" export "$tmp/models/gaussians/model.safetensors" --gaussians "$tmp/models/gaussians.ply"

export KLAB_PROGRAM=$klab KLAB_CHECKOUT=$root KLAB_MODELS=$tmp/models KLAB_ROOT=$root
tests() {  # what
  local file
  for file in test_check test_package; do
    (cd "$tmp" && must "$1: $file" "$python" -B "$root/python/tests/$file.py" -v) || exit 1
    grep "^Ran " "$tmp/log"
  done
}
tests "the tests without pandas"
if "$python" -m pip install -q pandas >"$tmp/log" 2>&1; then tests "the tests with pandas"
else echo "skipped: the tests with pandas, which pip cannot install here"; fi
if "$python" -m pip install -q mypy >"$tmp/log" 2>&1; then
  printf 'import klab\nok: bool = klab.check(len, len, [(3,)]).ok\nreveal_type(klab.load("x").render)\n' >"$tmp/typed.py"
  (cd "$tmp" && must "mypy finds the types" "$python" -m mypy typed.py) || exit 1
else echo "skipped: mypy, which pip cannot install here"; fi
if "$python" -m pip install -q matplotlib nbclient nbformat ipykernel pandas >"$tmp/log" 2>&1; then
  for notebook in "$root"/python/notebooks/*.ipynb; do
    must "${notebook##*/}" "$python" -B "$root/python/tests/execute_notebook.py" "$notebook"
    cat "$tmp/log"
  done
else echo "skipped: the notebooks, for which pip cannot install nbclient here"; fi
echo "all as it should be"
