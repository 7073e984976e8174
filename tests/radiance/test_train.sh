#!/usr/bin/env bash
# klab train as its users meet it: the same model twice, killed and resumed, refusals that leave nothing behind.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
cat >small.json <<'J'
{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 128, "width": 16}
J
begin=("$klab" train built-in --downscale 12 --config small.json --threads 2)
train=("${begin[@]}" --plan first/plan.json)  # what is not about choosing rungs does not time them again
score() { grep -m 1 '"psnr"' "$1/result.json" | grep -o '[0-9.]*'; }

# The same seed, threads and plan: the same bytes, regardless of the timing of threads in between. The plan is printed,
# one line for each op, and is kept.
"${begin[@]}" --steps 100 --plan best --out first >first.txt 2>&1
grep -Eq '^(plan)? +ray_march +cpu\..*fastest of [0-9]+ at [0-9]+ rays \((measured now|recorded)\)' first.txt ||
  { cat first.txt; fail "does not say how the plan was chosen"; }
lines=$(grep -cE '^(plan| +)  .*(fastest of|the only one)' first.txt) ops=$(grep -c '"[a-z_]*": *"' first/plan.json)
((lines == ops && ops > 20)) || { cat first.txt; fail "$lines lines for $ops ops"; }
"${train[@]}" --steps 100 --out second >second.txt 2>&1
grep -q 'by the plan first/plan.json' second.txt || { cat second.txt; fail "does not say that the plan was given"; }
cmp first/plan.json second/plan.json || fail "the plan that was used is not the one that was given"
cmp first/model.safetensors second/model.safetensors || fail "two runs of one seed differ"
"${train[@]}" --steps 100 --seed 2 --out third >/dev/null 2>&1
! cmp -s first/model.safetensors third/model.safetensors || fail "another seed gave the same model"

# Its report needs no rows of benchmarks; an empty page, or a training given as rows, is refused.
"$klab" report --train first --out first.html >report.txt || { cat report.txt; fail "no report of a training alone"; }
grep -q 'shows 1 training' report.txt || { cat report.txt; fail "does not say what the report shows"; }
grep -q '<a href="#training">' first.html || fail "the report has no training in it"
! grep -q 'all rows' first.html || fail "the report of a training alone speaks of rows"
for wrong in "" "first" "--train first --csv"; do
  if "$klab" report $wrong --out none.html >refused.txt 2>&1; then fail "accepted: report $wrong"; fi
  grep -q -- '--train' refused.txt || { cat refused.txt; fail "does not say what to do instead of: report $wrong"; }
  [[ ! -e none.html ]] || fail "a refused report left a file: report $wrong"
done

# Killed without warning, again and again, at any moment; then resumed.
"${train[@]}" --steps 700 --out whole >/dev/null 2>&1
"${train[@]}" --steps 700 --checkpoint 0.1 --out killed >/dev/null 2>&1 & pid=$!
kills=0
for pause in 0.5 0.25 0.4; do
  # Waits until the checkpoint exists or its writer has ended, however long a plan and the training take next to other tests.
  while [[ ! -e killed/checkpoint.safetensors ]] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
  sleep "$pause"
  kill -9 $pid 2>/dev/null && kills=$((kills + 1))
  wait $pid 2>/dev/null || true
  [[ -e killed/checkpoint.safetensors ]] || fail "no checkpoint after a kill"
  "$klab" train --resume killed --checkpoint 0.1 --threads 2 >resumed.txt 2>&1 & pid=$!
done
wait $pid || { cat resumed.txt; fail "the resumed run failed"; }
((kills > 0)) || fail "every run was over before it was killed"
grep -q '^resumed' resumed.txt || fail "did not say that it resumed"
a=$(score whole) b=$(score killed)
awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d < 0.3 && d > -0.3 && a > 15) }' ||
  fail "PSNR $a without, $b with kills"

# A resumed run keeps its plan by default.
sed -E 's/"(adam|sh_fwd)(": *"[a-z_]+\.cpu\.)[^"]+/"\1\201_naive/' first/plan.json >plan.json
"${begin[@]}" --steps 20 --plan plan.json --out kept >/dev/null 2>&1
cmp kept/plan.json plan.json || fail "the plan that was used is not the one that was given, with two other rungs"
cp kept/plan.json before.json
"$klab" train --resume kept --steps 40 --threads 2 >kept.txt 2>&1 || { cat kept.txt; fail "cannot resume"; }
cmp kept/plan.json before.json || fail "the resumed run took another plan"
grep -q 'adam .*cpu.01_naive .*of the checkpoint' kept.txt || { cat kept.txt; fail "not the checkpoint's plan"; }
"$klab" train --resume kept --steps 60 --threads 2 --plan naive >/dev/null 2>&1
grep -q '"mlp_fwd": "mlp_fwd.cpu.01_naive"' kept/plan.json || fail "--plan is not heeded when resuming"

# In bfloat16: printed, recorded, kept when resumed; another precision gives a notice, and an unknown one is refused. Ops that a plan omits
# are chosen: here those that have rungs in bfloat16.
sed '/"mlp_/d' first/plan.json >some.json
"${begin[@]}" --steps 20 --plan some.json --precision bf16 --out short >short.txt 2>&1
[[ $(grep -c 'fastest of' short.txt) == 2 ]] || { cat short.txt; fail "not two rungs chosen where the plan leaves two out"; }
grep -q '^precision bf16: ' short.txt || { cat short.txt; fail "does not say what became of --precision bf16"; }
grep -q '"precision": "bf16"' short/result.json || fail "the result does not name its precision"
"$klab" train --resume short --steps 30 --threads 2 >short.txt 2>&1 || { cat short.txt; fail "cannot resume in bf16"; }
grep -q '^precision bf16: ' short.txt || { cat short.txt; fail "the resumed run lost its precision"; }
"$klab" train --resume short --steps 40 --threads 2 --precision f32 >short.txt 2>&1 || { cat short.txt; fail "cannot convert"; }
grep -q '^note .*trained in bf16 so far and goes on in f32' short.txt || { cat short.txt; fail "converted without a word"; }
grep -q 'bfloat16' short/plan.json && fail "the plan in f32 has rungs in bfloat16"
"${train[@]}" --steps 20 --precision fp7 --out none >none.txt 2>&1 && fail "--precision fp7 was accepted"
grep -q 'precision fp7: f32, bf16 or f16' none.txt || { cat none.txt; fail "--precision fp7 is not named"; }
[[ ! -e none ]] || fail "a refused run left a folder"

# A signal asks for an orderly end: saved, evaluated, exit code 130.
"${train[@]}" --seconds 60 --out stopped >stopped.txt 2>&1 & pid=$!
for _ in $(seq 200); do [[ -s stopped/metrics.csv ]] && break; sleep 0.1; done
sleep 0.5; kill -INT $pid
code=0; wait $pid || code=$?
[[ $code == 130 ]] || fail "SIGINT gave exit code $code"
grep -q '^PSNR' stopped.txt || fail "interrupted, and not evaluated"
"$klab" eval stopped built-in --downscale 12 --plan first/plan.json --json >eval.json || fail "the interrupted run's model does not open"

# Pictures of it by the command: color and depth, from the circle and from a view of the scene.
"$klab" render stopped --plan first/plan.json --size 48 --orbit 2 --depth --out orbit >/dev/null || fail "render --orbit"
"$klab" render stopped --plan first/plan.json --scene built-in --view 1 --downscale 12 --out view >/dev/null || fail "render --view"
"$klab" render stopped --plan first/plan.json --scene built-in --train-view 1 --downscale 12 --out view >view.txt || fail "render --train-view"
[[ -s stopped/train_0.png ]] || fail "the run has no picture of a training view"
[[ -s view/train_0001.png && -s view/train_0001_compared.png ]] || fail "no picture of a training view"
grep -q 'dB on a view that it was trained on' view.txt || { cat view.txt; fail "no score of a training view"; }
for file in orbit/frame_0001.png orbit/frame_0000_depth.png view/view_0001.png; do
  [[ -s $file ]] || fail "render did not write $file"
done

# An option that contradicts a resumed run is refused by name; one that agrees is accepted. The run keeps its seed.
"${train[@]}" --seed 7 --steps 20 --out seven >/dev/null 2>&1
contradicts() {
  code=0
  "$klab" train --resume seven --steps 30 "$@" >out.txt 2>&1 || code=$?
  [[ $code == 2 ]] && grep -q -e "$1.*contradicts" out.txt || { cat out.txt; fail "--resume with $*: exit code $code"; }
}
contradicts --seed 8
contradicts --downscale 6
contradicts --holdout 4
code=0; "$klab" train other --resume seven >out.txt 2>&1 || code=$?
[[ $code == 2 ]] && grep -q 'other contradicts' out.txt || { cat out.txt; fail "--resume of another scene"; }
"$klab" train built-in --resume seven --steps 30 --seed 7 --downscale 12 --threads 2 >out.txt 2>&1 || { cat out.txt; fail "what agrees is refused"; }
grep -q '"seed": 7' seven/result.json || fail "the resumed run is recorded with another seed"
# Two processes in one folder: the second is refused, and names the first.
"${train[@]}" --seconds 60 --no-eval --out shared >/dev/null 2>&1 & pid=$!
for _ in $(seq 200); do [[ -s shared/metrics.csv ]] && break; sleep 0.1; done
cp first/checkpoint.safetensors shared/
code=0; "$klab" train --resume shared >out.txt 2>&1 || code=$?
[[ $code == 2 ]] && grep -q "process $pid" out.txt || { cat out.txt; fail "a second process in the folder of a run"; }
# Asked by SIGTERM it ends in order.
kill -TERM $pid; code=0; wait $pid || code=$?
[[ $code == 130 ]] || fail "SIGTERM gave exit code $code"

# Folders with any name, and moved ones: a scene, then the run with it.
odd=$(printf 'odd\xff\xfename')
mkdir -p "place/$odd"
cp -r stopped/test_0.png "place/$odd/v0.png"
cp -r stopped/test_1.png "place/$odd/v1.png"
cat >"place/$odd/transforms.json" <<'J'
{"camera_angle_x": 0.7, "frames": [
 {"file_path": "v0.png", "transform_matrix": [[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]},
 {"file_path": "v1.png", "transform_matrix": [[1,0,0,0.1],[0,1,0,0],[0,0,1,4],[0,0,0,1]]}]}
J
"$klab" train "place/$odd" --holdout 0 --config small.json --plan naive --threads 2 --steps 5 --out place/run >out.txt 2>&1 ||
  { cat out.txt; fail "a scene whose name is no UTF-8"; }
mv "place/$odd" place/elsewhere
code=0; "$klab" train --resume place/run --steps 8 >out.txt 2>&1 || code=$?
[[ $code == 2 ]] && grep -q -- '--scene DIR' out.txt || { cat out.txt; fail "a scene that is gone"; }
"$klab" train --resume place/run --scene place/elsewhere --steps 8 --threads 2 >out.txt 2>&1 || { cat out.txt; fail "--scene"; }
mv place moved
"$klab" train --resume moved/run --steps 10 --threads 2 >out.txt 2>&1 || { cat out.txt; fail "run and scene moved together"; }
code=0; "$klab" train --resume moved/run --scene built-in --steps 12 >out.txt 2>&1 || code=$?
[[ $code == 2 ]] && grep -q 'not the scene' out.txt || { cat out.txt; fail "--scene of another scene"; }

# A view of the scene has its own camera.
for more in '--orbit 3' '--fov 30' '--size 64'; do
  code=0
  # shellcheck disable=SC2086
  "$klab" render stopped --scene built-in --view 0 $more --out no5 >out.txt 2>&1 || code=$?
  [[ $code == 2 && ! -e no5 ]] || { cat out.txt; fail "--view with $more: exit code $code"; }
done

# Refusals: exit code 2, the reason, and nothing written.
refused() {  # text args...
  local text=$1 code=0; shift
  "$klab" train "$@" >out.txt 2>&1 || code=$?
  [[ $code == 2 ]] || { cat out.txt; fail "exit code $code for: $*"; }
  grep -q -- "$text" out.txt || { cat out.txt; fail "no '$text' for: $*"; }
}
echo '{"leraning_rate": 1}' >typo.json
refused 'did you mean "learning_rate"' built-in --config typo.json --out no1
echo '{"log2_table": 28, "features": 8, "levels": 32, "finest_resolution": 500000}' >huge.json
refused 'log2_table' built-in --downscale 12 --config huge.json --out no2
refused 'not empty' built-in --downscale 12 --out first
touch a_file
refused 'is a file' built-in --downscale 12 --out a_file
refused 'a_file/below' built-in --downscale 12 --out a_file/below
refused 'no_such_folder' no_such_folder --out no3
refused 'checkpoint' --resume first_missing
# Plans that cannot be run: before the scene is read (there is none), by every command that takes one.
touch no.png
for plan in '04_half_table reads the tensor table_half;hashgrid_fwd.cpu.04_half_table' \
  'is written for CUDA;hashgrid_fwd.cuda.02_level_major' 'did you mean hashgrid_fwd.cpu.01_naive;hashgrid_fwd.cpu.01_niave'; do
  echo "{\"hashgrid_fwd\": \"${plan#*;}\"}" >bad.json
  refused "${plan%;*}" no_such_folder --plan bad.json --out no3
  for other in 'eval first no_such_folder' 'render first --out no4' 'fit-image no.png'; do
    code=0
    # shellcheck disable=SC2086
    "$klab" $other --plan bad.json >out.txt 2>&1 || code=$?
    [[ $code == 2 ]] || { cat out.txt; fail "exit code $code for: $other with $plan"; }
    grep -q -- "${plan%;*}" out.txt || { cat out.txt; fail "$other does not say '${plan%;*}'"; }
  done
done
[[ ! -e no4 ]] || fail "a refused render left a folder"
mkdir locked && chmod 555 locked
if ! touch locked/probe 2>/dev/null; then refused 'locked' built-in --downscale 12 --out locked/run; fi
for left in no1 no2 no3; do [[ ! -e $left ]] || fail "$left was made by a run that was refused"; done
cmp first/model.safetensors second/model.safetensors || fail "a refused run touched another's model"

# A disk that fills up while it trains: an error that names the file, and the last good checkpoint still opens.
"${train[@]}" --steps 40 --out full >/dev/null 2>&1
cp full/checkpoint.safetensors good.safetensors
code=0
(trap '' XFSZ; ulimit -f 8; exec "$klab" train --resume full --steps 80) >full.txt 2>&1 || code=$?
[[ $code == 2 ]] || { cat full.txt; fail "exit code $code when the disk is full"; }
grep -q 'full/' full.txt || { cat full.txt; fail "a full disk is not named"; }
cmp full/checkpoint.safetensors good.safetensors || fail "the checkpoint was lost to a full disk"
grep -Eq 'partial|tmp' <<<"$(ls -A full)" && fail "a partial file was left behind"
"$klab" train --resume full --steps 80 >/dev/null 2>&1 || fail "cannot go on after the disk was full"
echo ok
