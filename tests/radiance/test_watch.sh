#!/usr/bin/env bash
# Watching a run by its commands: validation, columns of the metrics, drawings, depth of Gaussians, and refusals.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
column() {  # file, name: the values of a column that are not empty
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) c = i; next } $c != "" { print $c }' "$1"
}
echo '{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "grid": 32, "steps_per_diagonal": 128, "width": 16, "opacity_entropy": 1e-3, "clip_norm": 0.01, "depth": 0.1, "weight_decay": 1e-4}' >hash.json
"$klab" train built-in --downscale 16 --config hash.json --plan last --threads 2 --seconds 2 --eval-every 0.5 --metrics-every 0.1 \
  --no-eval --out run >run.txt 2>&1 || { cat run.txt; fail "train"; }
grep -q '^note      validation on [0-9]* of [0-9]* test views, ' run.txt || { cat run.txt; fail "the choice is not said"; }
[[ $(column run/metrics.csv psnr_unseen | wc -l) -ge 1 ]] || { cat run.txt; fail "no validation in metrics.csv"; }
grep -q '"best_psnr"' run/result.json || fail "no validation in result.json"
[[ $(wc -l <run/metrics.csv) -ge 10 ]] || fail "--metrics-every 0.1 left few lines"
for name in loss_pixels loss_opacity_entropy loss_depth loss_weight_decay gradient_norm gradient_clipped; do
  [[ $(column run/metrics.csv $name | wc -l) -ge 5 ]] || { head -3 run/metrics.csv; fail "column $name is empty"; }
done
[[ $(column run/metrics.csv loss_distortion | wc -l) == 0 ]] || fail "a term without a weight has values"
"$klab" watch run --once >watch.txt || fail "watch"
for title in 'PSNR of unseen views' 'length of the gradient' 'learning rate' 'loss_depth'; do
  grep -q "^$title" watch.txt || { cat watch.txt; fail "watch does not draw $title"; }
done
"$klab" report --train run -o report.html >/dev/null 2>report.txt || { cat report.txt; fail "report"; }
grep -q 'Length of the gradient' report.html || fail "the report does not draw the gradient"
grep -q 'Shares of the time of the largest stages' report.html || fail "the report does not draw the stages"
grep -q 'Processor in use' report.html || fail "the report does not draw the use of the processor"
awk -F, 'NR == 1 { exit !($0 == "step,seconds,stage,share") }' run/stages.csv || fail "stages.csv has another head"
awk -F, 'NR > 1 { sum[$1] += $4 } END { for (s in sum) { ++n; if (sum[s] < 0.999 || sum[s] > 1.001) exit 1 } exit n < 3 }' run/stages.csv ||
  { head -20 run/stages.csv; fail "shares of a record do not add up to 1, or there are few"; }
grep -q '^memory .*, mean ' watch.txt || { cat watch.txt; fail "watch gives no means"; }
for text in 'weighted terms of the loss' '<th[^>]*>while it trained' 'the gradient was clipped in [0-9]* % of the records' \
  '0 allocations failed' 'not scored'; do
  grep -q "$text" report.html || fail "the report does not have '$text'"
done
grep -q ', gradient clipped in [0-9]* % of the lines' watch.txt || { head -4 watch.txt; fail "watch does not tell how often it clips"; }
grep -q 'GB planned' report.html || fail "the report does not tell the planned memory"

# Gaussians have depth, and a pixel that shows nothing has none.
echo '{"initial": 500, "most": 800}' >gaussians.json
"$klab" train built-in --downscale 16 --field gaussians --config gaussians.json --plan last --threads 2 --steps 60 --no-eval \
  --out gaussians >g.txt 2>&1 || { cat g.txt; fail "train --field gaussians"; }
"$klab" render gaussians --depth --size 32 --plan last --out pictures >render.txt || { cat render.txt; fail "render --depth"; }
for what in depth median opacity; do [[ -s pictures/frame_0000_$what.png ]] || fail "no $what of Gaussians"; done
cmp -s pictures/frame_0000_depth.png pictures/frame_0000_opacity.png && fail "depth is a silhouette"

# By steps, where these are long enough.
"$klab" train built-in --downscale 25 --config hash.json --plan last --threads 2 --steps 60 --eval-every 20steps --no-eval --out by_steps \
  >steps.txt 2>&1 || { cat steps.txt; fail "--eval-every 20steps"; }
grep -q '^step     20 .*unseen views: PSNR' steps.txt || { cat steps.txt; fail "no score after 20 steps"; }
grep -q '"every_steps": 20' by_steps/result.json || fail "result.json does not tell the interval"

refused "stop" "$klab" train built-in --on-nan maybe --out none
refused 'seconds, as in 10, or steps, as in 500steps' "$klab" train built-in --eval-every soon --out none
refused 'from 1 to' "$klab" train built-in --eval-every 0steps --out none
refused '--on-nan retry' "$klab" train built-in --retries 3 --out none
refused '--plateau: counts the scores of --eval-every' "$klab" train built-in --plateau 3 --out none
refused '--patience: counts the scores of --eval-every' "$klab" train built-in --patience 3 --out none
echo '{"distortion": 0.1}' >distortion.json
refused '"distortion".*--field frequency' "$klab" train built-in --field frequency --config distortion.json --out none
refused '"opacity_l1".*--field hash or frequency or voxels' "$klab" train built-in --field gaussians --set opacity_l1=1 --out none
[[ ! -e none ]] || fail "a refused command left something behind"
echo "ok"
