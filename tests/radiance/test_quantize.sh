#!/usr/bin/env bash
# Models in fewer bits as their users meet them: written, evaluated and rendered like any other, and refused by name.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
cat >small.json <<'J'
{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 128, "width": 16}
J
"$klab" train built-in --downscale 12 --config small.json --threads 2 --plan last --steps 300 --out run >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train"; }

# Every format: read back by eval and render, as many bytes as it says.
psnr() {  # model, arguments...
  "$klab" eval "$1" built-in --downscale 12 --threads 2 --json "${@:2}" >score.json 2>said.txt || { cat said.txt; fail "cannot evaluate $1"; }
  grep -m 1 '"psnr"' score.json | grep -o '[0-9.]*'
}
floats=$(psnr run --plan run/plan.json)
size() { stat -c %s "$1"; }
for format in f16 bf16 int8 int4 e2m1; do
  "$klab" quantize run --format $format --out $format.safetensors >$format.txt || fail "cannot write $format"
  grep -q "MB as $format" $format.txt || { cat $format.txt; fail "does not say the bytes of $format"; }
  now=$(psnr $format.safetensors --plan run/plan.json)
  echo "$format: $now dB of $floats, $(size $format.safetensors) bytes of $(size run/model.safetensors)"
  case $format in
    f16) most=0.05 ;; bf16) most=0.1 ;; int8) most=0.3 ;; *) most=6 ;;
  esac
  awk -v a="$floats" -v b="$now" -v most=$most 'BEGIN { exit !(a - b < most && b > 10) }' || fail "$format loses too much: $now of $floats dB"
done
awk -v a="$(size run/model.safetensors)" -v b="$(size f16.safetensors)" 'BEGIN { exit !(b < 0.55 * a) }' || fail "f16 does not halve the bytes"
awk -v a="$(size f16.safetensors)" -v b="$(size int8.safetensors)" 'BEGIN { exit !(b < 0.65 * a) }' || fail "int8 is not smaller than f16"
"$klab" render int4.safetensors --plan run/plan.json --size 32 --out pictures --threads 2 >/dev/null || fail "cannot render int4"
[[ -s pictures/frame_0000.png ]] || fail "no picture of int4"

# One table of all, with rows.
"$klab" compare-formats run built-in --downscale 12 --views 2 --threads 2 --out all >all.txt 2>&1 || { cat all.txt; fail "no table"; }
[[ $(wc -l <all/formats.csv) == 7 ]] || { cat all/formats.csv; fail "not a row for each format"; }
grep -q '^format,bytes,memory,held_bytes,frames_per_second,psnr,db_lost,ssim,views,over_f32,at_most$' all/formats.csv || fail "other columns"
awk -F, 'NR == 2 { exit !($10 == 1 && $11 == 1) }' all/formats.csv || fail "floats are not as fast as floats"
awk -F, '$3 == "int8" { exit !($11 > 1.05 && $11 < 100 && $10 > 0.05) }' all/formats.csv || { cat all/formats.csv; fail "no bound of what fewer bits gain"; }
[[ -s all/formats.html && -s all/view_int8.png ]] || fail "no page of the comparison"
cmp all/model_int8.safetensors int8.safetensors || fail "the table's int8 is not that of klab quantize"

# Pictures in real time: a row, a picture and a line for each plan, of the run's own scene.
"$klab" realtime run --plan last --views 1 --frames 3 --rounds 2 --cells 32 --threads 2 --out live >live.txt 2>&1 || { cat live.txt; fail "no ladder of plans"; }
[[ $(wc -l <live/realtime.csv) == 10 && -s live/realtime.html ]] || { cat live/realtime.csv; fail "not a row for each plan"; }
grep -q '^plan,parent,.*,scene,commit,change$' live/realtime.csv || { cat live/realtime.csv; fail "rows do not say what was drawn by which klab"; }
bash "$root/reports/readme.sh" --realtime live/realtime.csv >table.md || { cat table.md; fail "no table of the rows"; }
[[ $(grep -c '^| 0[1-9]_[a-z0-9_]* | [0-9.]* \[' table.md) == 9 ]] && grep -q '^Scene built-in; [0-9]*x[0-9]* pixels, 2 threads; 1 path of 3 cameras, 2 rounds; klab .*\.$' table.md ||
  { cat table.md; fail "the table of the rows lacks plans or their circumstances"; }
grep -q '^| 08_reuse .*computes each pixel once in 8 frames, moves it in between; gives up' table.md || { cat table.md; fail "a text with commas is cut"; }
column() { awk -F, -v plan="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i } $1 == plan { print $at[name] }' live/realtime.csv; }
for plan in 01_every_sample 02_early_stop 03_empty_space 04_squares 05_half 06_int8 07_baked 08_reuse 09_foveated; do
  grep -q "^$plan " live.txt && [[ -s live/$plan.png ]] || { cat live.txt; fail "$plan has no line or no picture"; }
  awk -v db="$(column $plan psnr)" -v rate="$(column $plan frames_per_second)" 'BEGIN { exit !(db > 8 && db < 60 && rate > 0) }' ||
    { cat live/realtime.csv; fail "$plan has no score or no speed"; }
done
awk -v a="$(column 01_every_sample psnr)" -v b="$(column 04_squares psnr)" 'BEGIN { exit !(a - b < 0.05 && b - a < 0.05) }' || fail "exact plans differ in their scores"
[[ $(column 01_every_sample width) -le 34 ]] || fail "not the size that the run was trained at"
"$klab" realtime run --plan last --orbit 3 --size 24 --plans 08,foveated --rounds 1 --cells 16 --threads 2 --out live --json >live.json || fail "no ladder along a circle"
[[ $(grep -c '"psnr": null' live.json) == 3 && $(grep -c '"width": 24' live.json) == 1 ]] || { cat live.json; fail "a circle has a true picture"; }
# A record of this machine: all plans; arguments that would leave some out are refused.
printf '#!/bin/sh\n[ "$1" != doctor ] || exec echo '"'"'{"fingerprint": "0123456789abcdef"}'"'"'\nexec "%s" "$@"\n' "$klab" >with_doctor
chmod +x with_doctor  # its own doctor measures for seconds
record() { KLAB=$tmp/with_doctor RECORDED=$tmp/records DISTURBED=1 bash "$root/reports/realtime.sh" run --plan last --views 1 --frames 2 --rounds 1 --cells 16 --threads 2 "$@"; }
record >said.txt 2>&1 || { cat said.txt; fail "no record"; }
[[ $(wc -l <records/0123456789abcdef/realtime.csv) == 10 && $(ls records/*) == $'machine.json\nrealtime.csv' ]] || { ls -R records; fail "not a record"; }
record --plans 07 >said.txt 2>&1 && fail "a record of some plans"
grep -q '^--plans: a record has all plans; leave it out$' said.txt || { cat said.txt; fail "does not say why"; }
refused_live() {  # words, arguments...
  local words=$1 code=0; shift
  "$klab" realtime "$@" --out none >out.txt 2>said.txt || code=$?
  [[ $code == 2 && ! -e none ]] || fail "realtime $*: exit code $code, or something was written"
  grep -q -e "$words" said.txt && [[ $(wc -l <said.txt) == 1 ]] || { cat said.txt; fail "realtime $*: does not say '$words' in one line"; }
}
refused_live '^klab: --cells 24: must be a power of two$' run --cells 24
refused_live '^klab: --every 3: must be 1, 2, 4, 8 or 16$' run --every 3
refused_live '^klab: --plans 12: this field has 01_every_sample, ' run --plans 12 --plan last --cells 8 --threads 2
refused_live '^klab: --steps: is for training, and run is a model: leave it out$' run --steps 5
refused_live 'nowhere' nowhere

# Smaller models: a student, then fewer numbers, then fewer bits; each file is read as any other.
compress() {  # out, most share of the bytes, most dB lost, arguments...
  local out=$1 share=$2 lost=$3; shift 3
  "$klab" compress run --plan run/plan.json --downscale 12 --views 2 --threads 2 --out $out.safetensors "$@" >$out.txt 2>&1 ||
    { cat $out.txt; fail "compress $*"; }
  grep -q '^after ' $out.txt || { cat $out.txt; fail "no row of what was written: $*"; }
  awk -v a="$(size run/model.safetensors)" -v b="$(size $out.safetensors)" -v s="$share" 'BEGIN { exit !(b < s * a) }' ||
    { cat $out.txt; fail "compress $*: too many bytes"; }
  now=$(psnr $out.safetensors --plan run/plan.json)
  echo "compress $*: $now dB of $floats, $(size $out.safetensors) bytes"
  awk -v a="$floats" -v b="$now" -v lost="$lost" 'BEGIN { exit !(a - b < lost && b > 10) }' || fail "compress $*: loses too much: $now of $floats dB"
}
compress half 0.6 6.5 --prune 0.5
compress half8 0.25 6.5 --prune 0.5 --format int8
compress whole 0.995 2 --prune 0.3 --keep hash_table,color.2 --format f16
grep -q '"floats":"hash_table,color.2"' whole.safetensors || fail "does not say what stayed floats"
compress sparse 0.6 9 --prune 0.6
sparse=$now
compress trained 0.6 6 --prune 0.6 --retrain 60
awk -v a="$sparse" -v b="$now" 'BEGIN { exit !(b > a + 0.5) }' || fail "training what is left gains nothing: $now after $sparse dB"
compress chosen 0.75 3 --prune 0.5 --keep auto
grep -q 'compressed alone' chosen.txt || { cat chosen.txt; fail "does not say what each tensor costs"; }
compress student 0.6 6 --distill width=16,levels=3 --steps 300
grep -aqE 'levels[\\]*": ?3\b' student.safetensors || { head -c 1500 student.safetensors | strings; fail "the student has other levels"; }
"$klab" render half.safetensors --plan run/plan.json --size 32 --precision bf16 --out pictures2 --threads 2 >/dev/null || fail "cannot render a pruned model"

# A field without files in fewer bits: the table of what it is held in.
echo '{"first_grid": 16, "grid": 32, "batch_samples": 4096}' >voxels.json
"$klab" train built-in --field voxels --downscale 12 --config voxels.json --threads 2 --plan last --steps 40 --no-eval --out cells >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train voxels"; }
"$klab" compare-formats cells built-in --downscale 12 --views 2 --threads 2 --out held >held.txt 2>&1 || { cat held.txt; fail "no table of voxels"; }
[[ $(cut -d, -f1 held/formats.csv | tr '\n' ' ') == 'format f32 f16 bf16 int8 ' ]] || { cat held/formats.csv; fail "other formats of voxels"; }
awk -F, 'NR == 2 { floats = $4 } NR == 5 { exit !($2 == "" && $4 < 0.4 * floats && $7 < 0.3) }' held/formats.csv || { cat held/formats.csv; fail "voxels in int8"; }

# Refused, with what to do instead, and nothing left behind.
refused() { # words, then a command
  local words=$1; shift
  "$klab" "$@" >said.txt 2>&1 && fail "$* was accepted"
  grep -qe "$words" said.txt || { cat said.txt; fail "$*: does not say '$words'"; }
}
refused 'called "int9"; there are f32, f16' quantize run --format int9 --out x.safetensors
refused 'the model is that already' quantize run --format f32 --out x.safetensors
refused 'is stored as int8 already' quantize int8.safetensors --format f16 --out x.safetensors
refused 'is the model itself' quantize run --format f16 --out run/model.safetensors
refused 'nowhere' quantize nowhere --format f16 --out x.safetensors
refused 'no such folder\|No such file' quantize run --format f16 --out nowhere/x.safetensors
refused 'nothing to do: give --prune' compress run --out x.safetensors
refused '--prune: .*from 0 to 0.99\|0.99' compress run --prune 1 --out x.safetensors
refused 'is the model itself' compress run --prune 0.5 --out run/model.safetensors
refused 'is stored as int8 already' compress int8.safetensors built-in --prune 0.5 --out x.safetensors
refused 'is no tensor of the model: auto, or some of hash_table, density.0' compress run --prune 0.5 --keep density.7 --out x.safetensors
refused 'the student may take .* bytes' compress run --distill 32 --out x.safetensors
refused 'unknown key "widht"' compress run --distill widht=8 --out x.safetensors
refused 'retrain trains what --prune has left' compress run --format int8 --retrain 5 --out x.safetensors
refused 'is for classifiers' compress run --prune 0.5 --epochs 3 --out x.safetensors
refused 'does not apply to a field of voxels: its empty cells' compress cells --prune 0.5 --out x.safetensors
refused 'does not apply to a field of voxels: only hash' compress cells --format int8 --out x.safetensors
refused 'setting of --field hash' compress cells --distill levels=4 --out x.safetensors
refused 'is a format of hash fields' compare-formats cells built-in --formats int4 --out y
refused 'is no field of floats' compare-formats int8.safetensors built-in --out y
[[ ! -e x.safetensors && ! -e nowhere && ! -e y ]] || fail "something was left behind"
# A file whose declared storage differs from its content.
sed 's/"storage":"int8"/"storage":"int4"/' int8.safetensors >other.safetensors
refused '"hash_table" is I8' eval other.safetensors built-in
sed 's/"density.0.scale"/"density.0.sca1e"/' int8.safetensors >other.safetensors
refused 'needs the tensor "density.0.scale".*klab quantize' eval other.safetensors built-in
sed 's/"hash_table.kept"/"hash_tab1e.kept"/' half.safetensors >other.safetensors
refused 'holds less than its config says' eval other.safetensors built-in
echo "ok"
