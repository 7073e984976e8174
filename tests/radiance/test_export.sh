#!/usr/bin/env bash
# A page of klab export in headless Chromium: it shows what klab render shows, turns, asks for nothing, and falls back to a picture.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export LC_ALL=C
in_own_folder
cat >small.json <<'J'
{"levels": 5, "log2_table": 12, "finest_resolution": 96, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 96, "width": 16}
J
"$klab" train built-in --downscale 10 --config small.json --threads 2 --plan last --steps 200 --out run >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train"; }
plan=(--plan run/plan.json --threads 2)
"$klab" export run "${plan[@]}" --html page.html >said.txt || fail "no page"
grep -q '^page.html  [0-9.]* MB$' said.txt || { cat said.txt; fail "does not say what was written"; }
[[ $(find . -maxdepth 1 -newer small.json -type f | sort | tr '\n' ' ') == './page.html ./said.txt ./train.txt ' ]] || { ls -A; fail "something was left behind"; }

# The panel has the run's score and protocol.
number() { grep -o "\"$1\": [0-9.]*" run/result.json | tail -1 | grep -o '[0-9.]*$'; }
psnr=$(sed -n '/"score"/,/"views"/s/.*"psnr": \([0-9.]*\).*/\1/p' run/result.json | head -1)
grep -q "<th>PSNR</th><td>$(printf '%.2f' "$psnr") dB</td>" page.html || fail "the panel lacks the PSNR, $psnr"
grep -q '<th>Protocol</th><td>mean over all' page.html || fail "the panel lacks the protocol"
grep -q "<th>Training</th><td>$(number steps) steps" page.html || fail "the panel lacks the steps"

# Refused in one line that says what to do, and nothing is written.
refused() { # words, then arguments of export
  local words=$1 code=0; shift
  "$klab" export "$@" >out.txt 2>said.txt || code=$?
  [[ $code == 2 ]] || fail "export $*: exit code $code"
  grep -q "$words" said.txt && [[ $(wc -l <said.txt) == 1 && ! -s out.txt ]] || { cat out.txt said.txt; fail "export $*: does not say '$words' in one line"; }
}
mkdir empty unfinished
touch unfinished/checkpoint.safetensors
refused 'empty: holds no model.safetensors: name the folder of a run' empty --html x.html
refused 'klab train --resume unfinished' unfinished --html x.html
for command in "eval unfinished built-in" "render unfinished" "quantize unfinished --format int8 --out x" "compare-formats unfinished built-in"; do
  code=0
  "$klab" $command >out.txt 2>said.txt || code=$?
  [[ $code == 2 && $(wc -l <said.txt) == 1 ]] && grep -q 'unfinished: holds no model.safetensors.*klab train --resume unfinished' said.txt ||
    { cat said.txt; fail "$command: a run without model: exit code $code"; }
done
refused 'nowhere: no such file: name a model.safetensors' nowhere --html x.html
head -c 20000 run/model.safetensors >cut.safetensors
refused 'cut.safetensors: is cut short.*copy it again' cut.safetensors --html x.html
refused 'no such folder\|No such file' run --html nowhere/x.html
echo '{"width": 16, "depth": 2, "skip": 1, "octaves": 2, "rays": 64, "coarse": 8, "fine": 8, "chunk": 2048}' >frequency.json
"$klab" train built-in --downscale 25 --field frequency --config frequency.json --threads 2 --plan last --steps 1 --out other >train.txt 2>&1 || { cat train.txt; fail "cannot train the other field"; }
refused 'holds a field of frequency; a page can draw.*give --small' other --html x.html
refused 'is the model itself' run --html run/model.safetensors
mkdir damaged && cp run/model.safetensors damaged && echo '[' >damaged/result.json
refused 'damaged/result.json' damaged --html x.html
[[ ! -e x.html && ! -e nowhere ]] || fail "something was left behind"
mkdir alone && cp run/model.safetensors alone/model.safetensors
"$klab" export alone "${plan[@]}" --html alone.html >/dev/null || fail "a model without its run is no page"
grep -q '<th>PSNR</th><td>not known' alone.html || fail "does not say that the PSNR is not known"

command -v chromium >/dev/null || { echo "SKIPPED: no chromium here: the pages were not opened"; exit 77; }
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here: the pages were not opened"; exit 77; }
"$klab" render run "${plan[@]}" --size 200 --out picture >/dev/null || fail "no picture"
python3 "$here/page_in_browser.py" page.html picture/frame_0000.png
python3 "$here/page_in_browser.py" page.html --no-webgl
echo "ok"
