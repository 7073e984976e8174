#!/usr/bin/env bash
# ctest: long
# Twenty mistakes in files of all labs, each a kind that learners make: `klab step --check` names what failing cases share and the
# mistake, and says nothing false before.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
KLAB_ROOT=$root OMP_WAIT_POLICY=passive python3 "$root/tests/step/planted.py" "$klab" "$root" "$tmp"
