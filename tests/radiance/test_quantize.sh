#!/usr/bin/env bash
# Models in fewer bits as their users meet them: written, evaluated and rendered like any other, and refused by name.
# ctest: slow
set -euo pipefail
klab=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export XDG_CACHE_HOME=$tmp/cache
fail() { echo "FAILED: $*"; exit 1; }
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
grep -q '^format,bytes,memory,held_bytes,frames_per_second,psnr,db_lost,ssim,views$' all/formats.csv || fail "other columns"
[[ -s all/formats.html && -s all/view_int8.png ]] || fail "no page of the comparison"
cmp all/model_int8.safetensors int8.safetensors || fail "the table's int8 is not that of klab quantize"

# Refused, with what to do instead, and nothing left behind.
refused() { # words, then a command
  local words=$1; shift
  "$klab" "$@" >said.txt 2>&1 && fail "$* was accepted"
  grep -q "$words" said.txt || { cat said.txt; fail "$*: does not say '$words'"; }
}
refused 'called "int9"; there are f32, f16' quantize run --format int9 --out x.safetensors
refused 'the model is that already' quantize run --format f32 --out x.safetensors
refused 'is stored as int8 already' quantize int8.safetensors --format f16 --out x.safetensors
refused 'is the model itself' quantize run --format f16 --out run/model.safetensors
refused 'nowhere' quantize nowhere --format f16 --out x.safetensors
refused 'no such folder\|No such file' quantize run --format f16 --out nowhere/x.safetensors
refused 'is no hash field of floats' compare-formats int8.safetensors built-in --out y
[[ ! -e x.safetensors && ! -e nowhere && ! -e y ]] || fail "something was left behind"
# A file whose declared storage differs from its content.
sed 's/"storage":"int8"/"storage":"int4"/' int8.safetensors >other.safetensors
refused '"hash_table" is I8' eval other.safetensors built-in
sed 's/"density.0.scale"/"density.0.sca1e"/' int8.safetensors >other.safetensors
refused 'needs the tensor "density.0.scale".*klab quantize' eval other.safetensors built-in
echo "ok"
