#!/usr/bin/env bash
# klab train --view and klab view: who is let in, pictures while it trains, what watching costs, a trained model, broken requests, refusals.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here: there is no browser to ask for pictures"; exit 77; }
cat >small.json <<'J'
{"levels": 5, "log2_table": 12, "finest_resolution": 96, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 96, "width": 16}
J
"$klab" train built-in --downscale 16 --config small.json --threads 2 --plan last --steps 120 --metrics-every 0.05 --out run >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train"; }
code=0
"$klab" view run >out.txt 2>&1 </dev/null & view=$!
for ((i = 0; i < 600; ++i)); do grep -q 'view  \|built without' out.txt && break; sleep 0.1; done
kill -INT $view 2>/dev/null || true
wait $view || code=$?
if grep -q 'built without' out.txt; then
  [[ $code == 2 && $(wc -l <out.txt) == 1 ]] && grep -q 'libcpp-httplib-dev' out.txt || { cat out.txt; fail "does not say what is missing"; }
  echo "SKIPPED: this klab was built without libcpp-httplib-dev"
  exit 77
fi
[[ $code == 0 ]] || { cat out.txt; fail "klab view: exit code $code"; }

mkdir empty half cut
head -c 20000 run/checkpoint.safetensors >half/checkpoint.safetensors
head -c 20000 run/model.safetensors >cut/model.safetensors
refused_in_a_line 'empty: holds neither model.safetensors nor checkpoint.safetensors' "$klab" view empty
refused_in_a_line 'half/checkpoint.safetensors: is cut short.*--resume' "$klab" view half
refused_in_a_line 'cut/model.safetensors: is cut short' "$klab" view cut
refused_in_a_line 'nowhere: no such file or folder' "$klab" view nowhere
refused_in_a_line '--port 70000: is no port' "$klab" view run --port 70000
refused_in_a_line '--view built-in: is no port.*before --view' "$klab" train --view built-in --out none
refused_in_a_line 'nowhere' "$klab" view run --scene nowhere
[[ ! -e none ]] || fail "a refused command left something behind"

# Without a browser a page costs nothing and the run ends as it does without one.
"$klab" train built-in --downscale 16 --config small.json --threads 2 --plan run/plan.json --steps 120 --no-eval --out unwatched --view >view.txt 2>&1 ||
  { cat view.txt; fail "train --view"; }
grep -Eq '^view      http://127.0.0.1:[0-9]+/[0-9a-f]{32}/$' view.txt || { cat view.txt; fail "no address"; }
cmp run/model.safetensors unwatched/model.safetensors || fail "a run with a page learned something else"
grep -q '"seconds_viewing": 0.0' unwatched/result.json || { grep viewing unwatched/result.json; fail "a run that nobody watched has pictures"; }

ask() { python3 "$here/live_view.py" "$klab" "$@" || exit 1; }
ask DOOR run
ask TRAINING run
ask SAME run
ask MODEL run hash
ask MUTATED run 200
echo "ok"
