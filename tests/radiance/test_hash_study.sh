#!/usr/bin/env bash
# The hash table as a config: adaptive tables, functions, pixels drawn by their loss, levels.csv, klab hash-study; and refusals.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
in_own_folder
small='"levels": 6, "log2_table": 14, "finest_resolution": 128, "batch_samples": 4096, "grid": 32, "grid_warmup": 8, "steps_per_diagonal": 128, "width": 16'
echo "{$small, \"table\": \"adaptive\", \"table_every\": 8, \"hash\": \"pcg\", \"interpolation\": \"smoothstep\", \"sampling\": \"error\", \"table_rate\": 2}" >all.json

# A run with all of it, resumed; its levels.
train=("$klab" train --threads 2 --plan last)
"${train[@]}" built-in --downscale 16 --config all.json --steps 40 --out run >run.txt 2>&1 || { cat run.txt; fail "train"; }
grep -q '^PSNR' run.txt || { cat run.txt; fail "no score"; }
grep -q 'entries in use of room for' run.txt || { cat run.txt; fail "nothing is said of the adaptive table"; }
grep -q '^step,level,points_per_axis,entries,moved,points,touched,alone,gradient$' run/levels.csv || fail "levels.csv has other columns"
[[ $(grep -c '^40,' run/levels.csv) == 6 ]] || { cat run/levels.csv; fail "not a line for each level at the end"; }
grep -q '"levels"' run/result.json || fail "result.json has no levels"
"$klab" eval run built-in --downscale 16 --plan last --json >eval.json || fail "eval"
a=$(grep -m 1 '"psnr"' run/result.json | grep -o '[0-9.]*') b=$(grep -m 1 '"psnr"' eval.json | grep -o '[0-9.]*')
awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d < 0.01 && d > -0.01) }' || fail "$a dB at the end of training, $b by eval"
"${train[@]}" --resume run --steps 48 >run.txt 2>&1 || { cat run.txt; fail "--resume"; }
grep -q '^resumed   at step 40' run.txt || { cat run.txt; fail "did not resume"; }
[[ $(grep -c '^40,' run/levels.csv) == 6 && $(grep -c '^48,' run/levels.csv) == 6 ]] || fail "levels.csv was not gone on with"
"$klab" render run --size 16 --plan last --out pictures >/dev/null || fail "render"

# A refused run writes nothing.
config() { echo "{$1}" >bad.json; refused "$2" "${train[@]}" built-in --downscale 16 --config bad.json --out none; }
config '"hash": "md5"' '"hash" is "md5": it must be one of: primes morton pcg tiled'
config '"interpolation": "cubic"' '"interpolation" is "cubic": it must be one of'
config '"table": "growing"' '"table" is "growing": it must be one of: fixed adaptive'
config '"table": "adaptive", "hash": "tiled"' 'take "morton"'
config '"table": "adaptive", "table_crowded": 0.2, "table_sparse": 0.15' 'would shrink'
config '"table_rate": 0' '"table_rate"'
config '"table_entries": -1' '"table_entries"'
config '"sampling": "loss"' '"sampling" is "loss": it must be one of: uniform error'
config '"error_share": 1' '"error_share"'
config '"tabel": "adaptive"' 'did you mean "table"'
refused 'nothing to study; there are table' "$klab" hash-study built-in --only tables --out none
refused 'not both' "$klab" hash-study built-in --steps 3 --seconds 3 --out none
refused 'missing.json' "$klab" hash-study built-in --config missing.json --out none
[[ ! -e none ]] || fail "a refused command left something behind: $(ls none)"

# A study: a run for each way, rows, curves, caches; existing runs are kept.
echo "{$small}" >base.json
study=("$klab" hash-study built-in --downscale 16 --steps 6 --config base.json --plan last --only interpolation,adaptive,cache --threads 2 --out study)
"${study[@]}" >study.txt 2>&1 || { cat study.txt; fail "hash-study"; }
[[ $(wc -l <study/study.csv) == 5 ]] || { cat study/study.csv; fail "not a row for each way"; }
grep -q 'LRU' study.txt || { cat study.txt; fail "nothing is said of caches"; }
grep -q 'by the plan last' study/nearest.log || fail "--plan did not reach the runs"
for file in study.html nearest.json nearest/levels.csv smoothstep.log adaptive/model.safetensors; do
  [[ -s study/$file ]] || fail "hash-study did not write $file"
done
"${study[@]}" >study.txt 2>&1
[[ $(grep -c 'is there' study.txt) == 4 ]] || { cat study.txt; fail "finished runs were not kept"; }

# Parts of the recipe: only on request, and a batch of another size in as many more or fewer steps.
"$klab" hash-study built-in --downscale 16 --steps 8 --config base.json --plan last --only background,batch,pixels --threads 2 --out recipe >study.txt 2>&1 ||
  { cat study.txt; fail "hash-study of the recipe"; }
[[ $(wc -l <recipe/study.csv) == 6 && -z $(ls -d recipe/*nearest* recipe/*table* 2>/dev/null) ]] || { cat recipe/study.csv; fail "other ways than those asked for"; }
batch=$(sed -n 's/.*"batch_samples": \([0-9]*\).*/\1/p' recipe/base.json | head -n 1)
for factor in 1/4 4/1; do
  folder=recipe/batch-$((batch * ${factor%/*} / ${factor#*/}))
  grep -q "\"steps\": $((8 * ${factor#*/} / ${factor%/*}))\b" "$folder/result.json" || { cat "$folder/result.json"; fail "$folder: other steps"; }
done
refused 'there are table.*background' "$klab" hash-study built-in --only recipes --out none
refused 'takes hours' "$klab" hash-study built-in --backend simt --out none

# Configs that come with klab are read.
for file in "$root"/examples/configs/*.json; do
  cp "$file" given.json
  sed -i 's/"batch_samples": [0-9]*/"batch_samples": 4096/; s/"log2_table": [0-9]*/"log2_table": 12/; s/"first_rays": [0-9]*/"first_rays": 64/' given.json
  "${train[@]}" built-in --downscale 16 --config given.json --steps 1 --no-eval --out "given_$(basename "$file" .json)" >given.txt 2>&1 || { cat given.txt; fail "$file"; }
done
