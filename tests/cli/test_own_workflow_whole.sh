#!/usr/bin/env bash
# ctest: long
# The workflow of examples/own_kernels from end to end: klab is installed, base and head are built and measured in turns. A head that is the
# same passes, one that loads more fails.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
unset KLAB_ROOT
export OMP_WAIT_POLICY=passive XDG_CACHE_HOME=$tmp/cache NO_COLOR=1
PYTHONPATH=$2/tests/cli python3 -B "$2/tests/cli/own_workflow.py" whole "$1" "$2" "$3" "$tmp"
