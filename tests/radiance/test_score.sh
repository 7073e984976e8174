#!/usr/bin/env bash
# What klab train scores: announced before the first step, within a time, stated in the result; and results of resumed runs,
# none of which is replaced by a poorer one.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export OMP_NUM_THREADS=1
cat >small.json <<'J'
{"levels": 4, "log2_table": 10, "finest_resolution": 64, "batch_samples": 2048, "first_rays": 64, "grid": 16,
 "steps_per_diagonal": 64, "width": 16}
J
train=("$klab" train built-in --downscale 4 --config small.json --plan last --memory 600MB)

# All views of 80 pixels fit a minute: that is the score of old, and it is announced before the first step.
"${train[@]}" --steps 5 --out whole >whole.txt 2>&1 || { cat whole.txt; fail "no training"; }
has whole.txt '^scoring   all 12 test views at 80x80, about .*, at most 60 s, after the training$'
awk '/^scoring/ {said = NR} /^step|^trained/ {if (!said) exit 1; exit 0}' whole.txt || { cat whole.txt; fail "announced too late"; }
has whole.txt '^protocol  mean over all 12 test views .*, 80x80, on white'
has whole/result.json '"test_views": 12'
has whole/result.json '"reduced_by": 1'

# A time that is too short for that: fewer views, and the result says so.
"${train[@]}" --steps 5 --score 0.001 --out short >short.txt 2>&1 || { cat short.txt; fail "no training"; }
has short.txt '^scoring   (all|up to) 12 .*test views at 80x80, about [0-9.]+ m?s, at most 0.001 s'
has short.txt '^protocol  mean over [0-9] evenly spread of 12 test views'
views=$(grep -c '"name": "test_' short/result.json)
((views >= 1 && views < 12)) || fail "$views views are scored in a thousandth of a second"
"$klab" results whole/result.json short/result.json >table.txt
has table.txt '^\| built-in \(a\)' && has table.txt '^\| built-in \(b\)'

# klab eval scores everything, or what it is told; the first is the result of the run.
"$klab" eval whole built-in --downscale 4 --plan last >eval.txt || fail "klab eval"
psnr=$(sed -n 's/^PSNR *\([0-9.]*\) dB.*/\1/p' whole.txt)
has eval.txt "^mean +$psnr dB"
has eval.txt '^scoring   all 12 test views at 80x80'
"$klab" eval whole built-in --downscale 4 --plan last --score 0.001 >eval.txt || fail "klab eval --score"
has eval.txt '^protocol  mean over [0-9] evenly spread of 12 test views'

# A resumed run is scored like before. A lower PSNR does not replace the result; here the earlier one is made to look higher.
sed -i 's/^    "psnr": [0-9.]*,$/    "psnr": 77.5,/' whole/result.json
cp whole/model.safetensors before.safetensors
"$klab" train --resume whole --steps 6 >lower.txt 2>&1 || { cat lower.txt; fail "does not resume"; }
has lower.txt 'result.json and model.safetensors stay those of step 5: they have 77.50 dB, step 6 has'
has whole/result.json '"psnr": 77.5'
cmp -s whole/model.safetensors before.safetensors || fail "the better model was replaced"
has whole/result_6.json '"steps": 6'
[[ -s whole/model_6.safetensors ]] || fail "the later model is lost"
# A higher one does.
sed -i 's/"psnr": 77.5,/"psnr": 1.5,/' whole/result.json
"$klab" train --resume whole --steps 7 >higher.txt 2>&1 || { cat higher.txt; fail "does not resume"; }
has whole/result.json '"steps": 7'
! cmp -s whole/model.safetensors before.safetensors || fail "the better model is not there"
[[ ! -e whole/model_7.safetensors ]] || fail "the model is there twice"
# One without a score, or of another protocol, cannot be compared: both are kept.
"$klab" train --resume whole --steps 8 --no-eval >none.txt 2>&1 || { cat none.txt; fail "does not resume"; }
has none.txt 'the result of step 7, .* cannot be compared with the new one, which has no score: it is result_7.json and model_7.safetensors'
has whole/result_7.json '"steps": 7'
has whole/result.json '"steps": 8'
# Nothing trained and nothing scored loses nothing.
"$klab" train --resume short --steps 5 --no-eval >same.txt 2>&1 || { cat same.txt; fail "does not resume"; }
has same.txt 'result.json keeps the score'
has short/result.json '"protocol"'
# The limit of the run is kept, unless another is given.
"$klab" train --resume short --steps 6 >again.txt 2>&1 || { cat again.txt; fail "does not resume"; }
has again.txt '^scoring .*at most 0.001 s'
"$klab" train --resume short --steps 7 --score all >all.txt 2>&1 || { cat all.txt; fail "does not resume"; }
has all.txt 'cannot be compared with the new one, which was scored otherwise'

for wrong in "--score fast" "--score 0" "--score -3" "--score nan"; do
  if "${train[@]}" --steps 1 $wrong --out none >refused.txt 2>&1; then fail "accepted: $wrong"; fi
  has refused.txt 'score .*(all, or how many seconds)'
done
if "${train[@]}" --steps 1 --score all --no-eval --out none >refused.txt 2>&1; then fail "accepted --score with --no-eval"; fi
has refused.txt 'give one of them'
[[ ! -e none ]] || fail "a refusal left a folder"
