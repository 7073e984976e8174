#!/usr/bin/env bash
# klab train --precision f16 as its users meet it: messages, counts, resuming, and refusals that leave nothing behind.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
cat >small.json <<'J'
{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 128, "width": 16}
J
train=("$klab" train built-in --downscale 12 --config small.json --threads 2 --plan last)

# In half precision: printed with the scale and the format of the computation, counted line by line, kept when resumed, converted with a
# notice; invalid scales are refused.
"${train[@]}" --steps 20 --out float >/dev/null 2>&1
"${train[@]}" --steps 60 --precision f16 --scale-start 1e12 --out half >half.txt 2>&1 || { cat half.txt; fail "cannot train in f16"; }
grep -q '^precision f16: .*loss scale 1000000000000, dynamic' half.txt || { cat half.txt; fail "does not say what f16 is here"; }
grep -q '^note .*products are in float' half.txt || { cat half.txt; fail "does not say what it computes with"; }
grep -Eq '^loss scale [0-9]+ at the end; [1-9][0-9]* of 60 steps left out' half.txt || { cat half.txt; fail "does not count what it left out"; }
scale() { awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next } { print $at["loss_scale"] "," $at["skipped"] }' "$1/metrics.csv"; }
head -1 half/metrics.csv | grep ',loss_scale,skipped' >/dev/null || fail "no columns of the loss scale"
scale half | grep -E '^[0-9.e+]+,[1-9][0-9]*$' >/dev/null || { tail -1 half/metrics.csv; fail "metrics do not count skipped steps"; }
[[ $(scale float | sort -u) == , ]] || fail "a run in float has a loss scale"
grep -q '"skipped_steps": [1-9]' half/result.json || fail "the result does not count skipped steps"
rows=("$2"/reports/recorded/*/run.csv)
"$klab" report "${rows[0]}" --train half --out half.html >/dev/null 2>&1 || fail "no report of a run in f16"
grep -q 'Steps left out because' half.html || fail "the report does not draw what was left out"
skipped=$(grep -o '"skipped_steps": [0-9]*' half/result.json)
"$klab" train --resume half --steps 80 --threads 2 >half.txt 2>&1 || { cat half.txt; fail "cannot resume in f16"; }
grep -q '^precision f16: ' half.txt || { cat half.txt; fail "the resumed run lost its precision"; }
[[ $(grep -o '"skipped_steps": [0-9]*' half/result.json) == "$skipped" ]] || fail "the resumed run lost its scale"
"$klab" train --resume half --steps 90 --threads 2 --precision f32 >half.txt 2>&1 || { cat half.txt; fail "cannot convert"; }
grep -q '^note .*trained in f16 so far and goes on in f32' half.txt || { cat half.txt; fail "converted without a word"; }
for bad in 0 -1 nan inf x; do
  "${train[@]}" --steps 20 --precision f16 --loss-scale=$bad --out none >none.txt 2>&1 && fail "a loss scale of $bad was accepted"
  grep -q -e '--loss-scale' none.txt || { cat none.txt; fail "a loss scale of $bad is not named"; }
done
"${train[@]}" --steps 20 --loss-scale 128 --out none >none.txt 2>&1 && fail "a loss scale in f32 was accepted"
grep -q 'are for --precision f16' none.txt || { cat none.txt; fail "a loss scale in f32 is not named"; }
"${train[@]}" --steps 80 --precision f16 --loss-scale 1e30 --out none >none.txt 2>&1 && fail "a run without a finite step ended well"
grep -q '64 steps in a row had no finite gradient' none.txt || { cat none.txt; fail "does not say why it ended"; }
rm -rf none
"$klab" train built-in --field voxels --precision f16 --out none >none.txt 2>&1 && fail "voxels in f16 were accepted"
grep -q 'only --field hash' none.txt || { cat none.txt; fail "voxels in f16 are not named"; }
[[ ! -e none ]] || fail "a refused run left a folder"

# With CUDA rungs on the host executor: halves in the table and in the networks, the same columns, steps left out and counted, and a run
# that resumes here in float. Counts of a step in place of times.
cat >tiny.json <<'J'
{"levels": 4, "log2_table": 9, "finest_resolution": 64, "batch_samples": 256, "first_rays": 16, "grid": 16, "max_samples_per_ray": 64,
 "steps_per_diagonal": 32, "width": 16}
J
"$klab" train built-in --downscale 16 --config tiny.json --threads 2 --backend simt --precision f16 --scale-start 1e12 --steps 40 --no-eval \
  --out gpu >gpu.txt 2>&1 || { cat gpu.txt; fail "cannot train in f16 on the host executor"; }
grep -q '^precision f16: factors of mlp_bwd, mlp_fwd are halves; the table is read in half precision (hashgrid_fwd.cuda' gpu.txt ||
  { cat gpu.txt; fail "does not say what halves are there"; }
grep -Eq '^loss scale [0-9]+ at the end; [1-9][0-9]* of 40 steps left out' gpu.txt || { cat gpu.txt; fail "does not count what it left out there"; }
[[ $(head -1 gpu/metrics.csv) == "$(head -1 half/metrics.csv)" ]] || fail "other columns there"
scale gpu | grep -E '^[0-9.e+]+,[1-9][0-9]*$' >/dev/null || { tail -1 gpu/metrics.csv; fail "metrics do not count skipped steps there"; }
grep -q '^counted in one step ' gpu.txt || { cat gpu.txt; fail "no counts of a step"; }
grep -q '"counted_step"' gpu/result.json || fail "no counts of a step in the result"
if grep -q '^FINDING' gpu.txt; then cat gpu.txt; fail "a step with a finding"; fi
"$klab" train --resume gpu --steps 60 --threads 2 --precision f32 --plan last --no-eval >gpu.txt 2>&1 || { cat gpu.txt; fail "cannot go on in float"; }
grep -q '^note .*trained in f16 so far and goes on in f32' gpu.txt || { cat gpu.txt; fail "converted without a word"; }
"$klab" train --resume gpu --steps 70 --backend simt --precision f16 --loss-scale 128 --no-eval >gpu.txt 2>&1 || { cat gpu.txt; fail "cannot come back"; }
grep -q 'loss scale 128, static' gpu.txt || { cat gpu.txt; fail "a static scale is not said"; }

# Less memory for the same step; refused where there is nothing to compute again.
"${train[@]}" --steps 5 --recompute --out again >again.txt 2>&1 || { cat again.txt; fail "cannot look features up again"; }
"$klab" train built-in --field voxels --recompute --out none >none.txt 2>&1 && fail "voxels have no features to look up again"
grep -q 'only --field hash' none.txt || { cat none.txt; fail "does not say why"; }
echo ok
