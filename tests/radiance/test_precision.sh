#!/usr/bin/env bash
# Pictures of trained fields in fewer bits, as users meet them: dB lost, bytes said, pieces of a picture, and what is refused.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder

train() {  # name, arguments...
  "$klab" train built-in --downscale 10 --threads 2 --plan last --no-eval --out "$1" "${@:2}" >train.txt 2>&1 ||
    { cat train.txt; fail "cannot train $1"; }
}
train hash --steps 300 --set levels=6 --set log2_table=12 --set finest_resolution=128 --set batch_samples=4096 \
  --set first_rays=64 --set grid=32 --set steps_per_diagonal=128 --set width=16
train voxels --field voxels --steps 150 --set grid=32 --set first_grid=16 --set batch_samples=4096
train frequency --field frequency --steps 100 --set width=48 --set depth=4 --set skip=2 --set coarse=16 --set fine=16 \
  --set chunk=4096 --set rays=128 --set octaves=6 --set learning_rate=0.003

psnr() {  # model, arguments...
  "$klab" eval "$1" built-in --downscale 10 --threads 2 --plan last --json "${@:2}" >score.json 2>said.txt ||
    { cat said.txt; fail "cannot evaluate $*"; }
  grep -m 1 '"psnr"' score.json | grep -o '[0-9.]*'
}
at_most() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { exit !(a - b <= most && b - a <= most) }'; }

for field in hash voxels frequency; do
  floats=$(psnr $field)
  for precision in bf16 f16 int8; do
    now=$(psnr $field --precision $precision)
    [[ $precision == int8 ]] && most=0.3 || most=0.05
    echo "$field $precision: $now dB of $floats"
    awk -v a="$floats" -v b="$now" -v most=$most 'BEGIN { exit !(a - b <= most && b > 10) }' ||
      fail "$field in $precision loses too much"
  done
done

# A line tells the bytes: a quarter in int8, and its scales.
"$klab" render hash --precision int8 --plan last --size 24 --threads 2 --out pictures >said.txt || fail "cannot render int8"
sed -nE 's/^precision int8: tables and weights take ([0-9.]+) MB in memory, ([0-9.]+) MB as floats.*/\1 \2/p' said.txt >bytes.txt
awk 'BEGIN { n = 0 } { n++; ok = $1 > 0 && $1 <= 0.4 * $2 } END { exit !(n == 1 && ok) }' bytes.txt ||
  { cat said.txt; fail "does not say a quarter of the bytes"; }

# A file in few bits stays so; floats that are narrowed while they are read give the same scores.
"$klab" quantize hash --format int8 --out int8.safetensors >/dev/null
[[ $(psnr int8.safetensors) == $(psnr hash --precision int8) ]] || fail "a file of int8 is not the model in int8"
at_most "$(psnr int8.safetensors --precision f32)" "$(psnr int8.safetensors)" 0.02 || fail "int8 as floats is another model"

# Pieces: small ones draw the same, a limit of memory chooses them, and what cannot be is refused.
at_most "$(psnr hash --batch 64)" "$(psnr hash)" 0.001 || fail "pieces of 64 pixels draw another picture"
"$klab" render voxels --plan last --size 24 --memory 20MB --threads 2 --out pictures >said.txt || { cat said.txt; fail "cannot render in 20 MB"; }
grep -qE '^pieces    [0-9]+ pixels at a time' said.txt || { cat said.txt; fail "does not say its pieces"; }
"$klab" render hash --plan last --orbit 3 --size 16 --batch 128 --threads 2 --out film >/dev/null || fail "no film in pieces"
[[ -s film/frame_0002.png ]] || fail "a frame of the film is missing"

refused() { # words, then a command
  local words=$1 code=0
  shift
  "$klab" "$@" >said.txt 2>&1 || code=$?
  [[ $code == 2 ]] || { cat said.txt; fail "$*: ends with $code"; }
  grep -qE -- "$words" said.txt || { cat said.txt; fail "$*: does not say '$words'"; }
  [[ $(grep -c '^klab: ' said.txt) == 1 ]] || { cat said.txt; fail "$*: is not one line"; }
}
refused '--precision int9: there are f32, bf16, f16 and int8' eval hash built-in --precision int9
refused '--precision int4: there are' render hash --precision int4
touch splats.ply
refused '--precision int8: pictures of gaussians have f32 only' render splats.ply --precision int8
head -c 3000 int8.safetensors >cut.safetensors
refused 'cut.safetensors: is cut short' eval cut.safetensors built-in
sed 's/hash-nerf 1/lenet-300 1/' int8.safetensors >other.safetensors
refused 'other.safetensors: holds "lenet-300 1", not a model that is known' render other.safetensors --precision int8
refused '--batch 5: auto, or 64 to' render hash --batch 5
refused '--memory .*' render hash --memory much
refused '--memory: drawing [0-9]+ pixels at a time takes' render frequency --plan last --memory 1MB
echo "ok"
