#!/usr/bin/env bash
# The workflow of examples/own_kernels, its steps run as they are written: a slower head fails the job, one of which nothing can be decided
# gets a notice, caches are used, and nothing is needed that a fork has not. Programs are replaced; test_own_workflow_whole.sh has real ones.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
PYTHONPATH=$2/tests/cli python3 -B "$2/tests/cli/own_workflow.py" quick "$1" "$2" "$3" "$tmp"
