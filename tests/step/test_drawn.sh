#!/usr/bin/env bash
# ctest: long
# Twenty mistakes drawn from the lessons of all labs (drawn.py): `klab step --check` says of each what failing cases share or which mistake it
# is, and nothing false.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
KLAB_ROOT=$root OMP_WAIT_POLICY=passive python3 "$root/tests/step/planted.py" "$klab" "$root" "$tmp" --drawn
