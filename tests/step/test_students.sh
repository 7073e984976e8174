#!/usr/bin/env bash
# ctest: long
# Mistakes of students in rungs of all labs (students.py): the first mistake that `klab step --check` names is derived from the laws that the
# wrong values obey, and says nothing false.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
KLAB_ROOT=$root OMP_WAIT_POLICY=passive python3 "$root/tests/step/planted.py" "$klab" "$root" "$tmp" --students
