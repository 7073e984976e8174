#!/usr/bin/env bash
# klab tune as its users meet it: results are kept and used, refusals and interruptions leave nothing behind.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
cat >small.json <<'J'
{"levels": 4, "log2_table": 10, "finest_resolution": 64, "batch_samples": 4096, "first_rays": 64, "grid": 16,
 "steps_per_diagonal": 64, "width": 16, "grid_warmup": 16}
J
small=(built-in --downscale 16 --config small.json)
tuned() { ls cache/klab/tuned_*.json 2>/dev/null; }

# Rungs that nothing is timed for: but of two ops, for which each number of threads chooses.
"$klab" train "${small[@]}" --plan last --steps 1 --no-eval --out last >last.txt 2>&1 || { cat last.txt; fail "train failed"; }
sed '/"mlp_/d' last/plan.json >some.json

# A search prints its trials, its choice, and when its time is won back, if ever.
"$klab" tune "${small[@]}" --plan some.json --round 0.05 --batch --seconds 1 --anyway >found.txt 2>&1 || { cat found.txt; fail "tune failed"; }
grep -q '^threads' found.txt || { cat found.txt; fail "no table of threads"; }
grep -q '^batch' found.txt || { cat found.txt; fail "no table of batches"; }
(($(grep -c ' chosen' found.txt) >= 2)) || { cat found.txt; fail "does not say what is chosen"; }
grep -q 'won back' found.txt || { cat found.txt; fail "does not say when the time is won back"; }
[[ -n $(tuned) ]] || { cat found.txt; fail "nothing is kept"; }
grep -q "$(tuned)" found.txt || { cat found.txt; fail "does not say where it is kept"; }

# Kept results are used except for options of the command line; the batch only on request.
python3 - "$(tuned)" <<'P' || fail "cannot write the file"
import json, sys
kept = json.load(open(sys.argv[1]))
kept["tuned"][0].update(threads=1, batch_samples=8192, batch_seconds=1.0, scene="somewhere")
json.dump(kept, open(sys.argv[1], "w"))
P
"$klab" train "${small[@]}" --plan last --seconds 1 --no-eval --out a >a.txt 2>&1 || { cat a.txt; fail "train failed"; }
grep -q '^tuned  *1 thread (klab tune on somewhere' a.txt || { cat a.txt; fail "does not take the threads"; }
grep -q '"batch_samples": 4096' a/result.json || fail "took the batch without --tune"
"$klab" train "${small[@]}" --plan last --seconds 1 --no-eval --out b --threads 2 --tune >b.txt 2>&1 || { cat b.txt; fail "train --tune failed"; }
grep -q '^tuned  *a batch of 8192 samples' b.txt || { cat b.txt; fail "does not take the batch alone"; }
grep -q '"batch_samples": 8192' b/result.json || fail "did not train with the tuned batch"
# Another recipe is another matter.
sed 's/"width": 16/"width": 32/' small.json >other.json
"$klab" train built-in --downscale 16 --config other.json --plan last --seconds 0.5 --no-eval --out c >c.txt 2>&1 || { cat c.txt; fail "train failed"; }
! grep -q '^tuned' c.txt || { cat c.txt; fail "took what was found for another recipe"; }
# Where nothing is kept for a run of that length --tune looks for it.
"$klab" train built-in --downscale 16 --config other.json --plan some.json --threads 1 --seconds 0.5 --tune --no-eval --out d >d.txt 2>&1 || { cat d.txt; fail "train --tune failed"; }
grep -q '^batch' d.txt || { cat d.txt; fail "--tune did not look for a batch"; }
grep -q '^tuned .*a batch of' d.txt || { cat d.txt; fail "--tune did not take what it found"; }

# A damaged file is named, and does not stop a training.
cp "$(tuned)" good.json
echo '{"tuned": [{"field": 3}]}' >"$(tuned)"
"$klab" train "${small[@]}" --plan last --seconds 0.5 --no-eval --out e >e.txt 2>&1 || { cat e.txt; fail "a damaged file stopped a training"; }
grep -q 'entry 1.*"field".*klab tune' e.txt || { cat e.txt; fail "does not name the damaged field"; }
cp good.json "$(tuned)"

refused() {  # what, words of the message
  local words=$1; shift
  if "$klab" "$@" >refused.txt 2>&1; then fail "accepted: $*"; else local rc=$?; fi
  ((rc == 2 || rc > 100)) || fail "exit code $rc for $*"
  grep -q -- "$words" refused.txt || { cat refused.txt; fail "'$words' is not in the message of: $*"; }
  cmp -s good.json "$(tuned)" || fail "a refusal changed what is kept: $*"
}
refused 'give --seconds' train "${small[@]}" --steps 10 --tune --out x
refused 'leave out --tune' train --resume a --tune
refused 'has one size' tune built-in --downscale 16 --field voxels --batch
refused 'stay in memory' tune "${small[@]}" --resident 4
refused 'only --field hash' tune built-in --downscale 16 --field voxels --resident 4
refused 'nowhere' tune nowhere
refused '--seconds' tune "${small[@]}" --seconds nan
refused 'no time on the host executor' tune "${small[@]}" --backend simt --batch
refused '--field' tune built-in --field clouds
sed 's/adam.cpu.[a-z0-9_]*/adam.cpu.01_niave/' last/plan.json >niave.json
refused 'did you mean adam.cpu.01_naive' tune nowhere --plan niave.json
[[ ! -e x ]] || fail "a refused training left a folder"

# Blocks of CUDA rungs by counts: found, kept, taken by a training there, and one that no block has is named.
"$klab" tune "${small[@]}" --backend simt >simt.txt 2>&1 || { cat simt.txt; fail "klab tune --backend simt"; }
grep -q "no time was measured" simt.txt || { cat simt.txt; fail "does not say what blocks were chosen by"; }
grep -q '"blocks_by": "counts"' "$(tuned)" || fail "blocks are not kept"
"$klab" train "${small[@]}" --backend simt --steps 1 --no-eval --out blocks >simt.txt 2>&1 || { cat simt.txt; fail "a training with tuned blocks"; }
grep -q "^tuned .*threads" simt.txt || { cat simt.txt; fail "a training does not say what it takes"; }
rc=0; KLAB_BLOCKS=axpy.cuda.01_naive=100 "$klab" train "${small[@]}" --backend simt --plan naive --steps 1 --no-eval --out bad >simt.txt 2>&1 || rc=$?
((rc == 2)) && grep -q "KLAB_BLOCKS: axpy.cuda.01_naive=100: must be a multiple of 32" simt.txt || { cat simt.txt; fail "100 threads, not named"; }
cp "$(tuned)" good.json

# An interruption is one: exit code 130, nothing kept, no file left in the temporary folder.
mkdir temporary
TMPDIR=$tmp/temporary "$klab" tune "${small[@]}" --plan last/plan.json --threads 2 --batch --seconds 1000 --anyway >cut.txt 2>&1 & pid=$!
for ((i = 0; i < 600; ++i)); do compgen -G 'temporary/klab_tune_*' >/dev/null && break; sleep 0.1; done
kill -INT $pid
rc=0; wait $pid || rc=$?
((rc == 130)) || { cat cut.txt; fail "exit code $rc after an interruption"; }
cmp -s good.json "$(tuned)" || fail "an interrupted search was kept"
! compgen -G 'temporary/klab_tune_*' >/dev/null || fail "temporary files are left"
echo fine
