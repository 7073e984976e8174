#!/usr/bin/env bash
# ctest: long
# Twenty mistakes in files of all labs, each a kind that learners make: `klab step --check` names what failing cases share and the
# mistake, and says nothing false before.
set -uo pipefail
klab=$1 root=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
KLAB_ROOT=$root OMP_WAIT_POLICY=passive python3 "$root/tests/step/planted.py" "$klab" "$root" "$tmp"
