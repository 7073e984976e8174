#!/usr/bin/env bash
# klab regress --quality as its users meet it: records a pool, continues after an interruption, finds a planted loss, names bad input.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
mkdir kernels labs
export KLAB_ROOT=$PWD TMPDIR=$PWD
echo '{"first_grid": 8, "grid": 16, "batch_samples": 1024}' >small.json
gate=("$klab" regress --quality built-in --field voxels --config small.json --downscale 20 --steps 40 --threads 1)

"${gate[@]}" --seeds 6 --baseline good >record.txt || { cat record.txt; fail "does not record"; }
pool=$(echo reports/recorded/*/good.quality.json)
[[ $(grep -c '"seed"' "$pool") == 6 ]] || { cat "$pool"; fail "not 6 trainings"; }
grep -q '^power ' record.txt || { cat record.txt; fail "does not say which loss is found"; }
# A pool that has them all is kept; with more seeds it continues where it ended.
cp "$pool" before.json
"${gate[@]}" --seeds 6 --baseline good >record.txt
cmp -s "$pool" before.json || fail "a complete pool was changed"
"${gate[@]}" --seeds 8 --baseline good >record.txt
python3 -B - before.json "$pool" <<'P' || fail "trainings of an earlier pool were made again"
import json, sys
before, after = (json.load(open(f))["runs"] for f in sys.argv[1:])
assert after[:6] == before and len(after) == 8 and len({r["psnr"] for r in after}) > 4
P

# The same code is not worse; the same seeds give the same dB.
"${gate[@]}" --seeds 8 --against good --json >same.json || { cat same.json; fail "the same code is worse"; }
grep -q '"change": -\?0.0' same.json || { cat same.json; fail "the same seeds differ"; }
# A quarter of the batch is worse.
code=0
"${gate[@]}" --seeds 8 --against good --set batch_samples=256 --out worse.json >worse.txt || code=$?
[[ $code == 1 ]] || { cat worse.txt; fail "a planted loss ends with $code"; }
grep -q 'WORSE' worse.txt || { cat worse.txt; fail "does not say WORSE"; }
# Trials on recorded pools, and what a gate needs.
"$klab" regress --quality built-in --against good --trials 5 --seeds 4 --out worse.json >trials.txt || { cat trials.txt; fail "no trials"; }
grep -Eq '^none +5 ' trials.txt || { cat trials.txt; fail "no trials without a change"; }
"$klab" regress --quality built-in --against good --power --loss 5 >power.txt || { cat power.txt; fail "no power"; }
grep -Eq '^ *5 dB +[0-9]+ +[0-9]+ %' power.txt || { cat power.txt; fail "does not say how many trainings"; }

refused 'steps: 40 and 30' "$klab" regress --quality built-in --field voxels --config small.json --downscale 20 --steps 30 --against good
refused 'differ from these in changes' "${gate[@]}" --seeds 8 --against good --out worse.json
refused 'seed 1 ended with exit code 2: .*no_such' "${gate[@]}" --seeds 4 --against good --set no_such=1
refused 'is no program' "${gate[@]}" --base small.json
echo '{"schema": "quality"}' >cut.json
refused 'cut.json: has no text "machine"' "${gate[@]}" --against cut.json
echo passed
