#!/usr/bin/env bash
# klab results: recorded trainings as one table, which marks those that were not scored in the same way; and refusals.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp"
result() {  # file, scene, PSNR, size of the views [, config]
  echo "{\"scene\": \"$2\", \"field\": \"hash\", \"seconds_training\": 60.2, \"steps\": 1000, \"samples_per_second\": 2e6,
    \"peak_memory\": 5e8, \"config\": {${5:-}}, \"score\": {\"psnr\": $3, \"ssim\": 0.9, \"seconds_per_view\": 0.1,
    \"protocol\": \"mean over all 3 test views, $4, on white\"}}" >"$1"
}
result one.json chair 30.126 400x400
result two.json chair 31.5 400x400 '"weight_decay": 0.5'
result other.json table 28 320x320
result quarter.json chair 25 100x100
"$klab" results one.json two.json other.json >out.txt
grep -q '^| chair | hash | 60 s | 1000 | 2.00 M | 30.13 dB | 0.9000 | 0.10 s | 0.50 GB |$' out.txt || { cat out.txt; fail "a result's row"; }
grep -q '^| chair | hash (1) | .* 31.50 dB' out.txt && grep -q '^- (1): weight_decay 0.5$' out.txt || { cat out.txt; fail "a config's change"; }
[[ $(grep -c '^- chair: .*400x400' out.txt) == 1 && $(grep -c '^- table: .*320x320' out.txt) == 1 ]] || { cat out.txt; fail "each way to score once"; }

# Views of another size are not the same score.
"$klab" results one.json quarter.json other.json >out.txt
grep -q '^| chair (a) | .* 25.00 dB' out.txt && grep -q '^| chair (b) | .* 30.13 dB' out.txt || { cat out.txt; fail "rows of two ways to score"; }
grep -q '^- chair (a): .*100x100' out.txt && grep -q '^- chair (b): .*400x400' out.txt || { cat out.txt; fail "two ways to score"; }
grep -q '^| table | ' out.txt || { cat out.txt; fail "a letter where there is one way"; }

for bad in '{"scene": "chair", "score": {"psnr": 1}}' '{"score": {"protocol": "p"}}' '[]'; do
  echo "$bad" >bad.json
  code=0
  "$klab" results one.json bad.json >out.txt 2>err.txt || code=$?
  [[ $code != 0 && ! -s out.txt ]] && grep -q 'bad.json: is no result of klab train or fit-image: .*: name the result.json' err.txt && ! grep -q 'json.exception' err.txt || { cat out.txt err.txt; fail "exit code $code for $bad"; }
done
