#!/usr/bin/env bash
# Every kind of field by the same commands: train, eval, render, resume, compare; and refusals.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
sheet() {  # run: its contact sheet is small, shows four different pictures a row, and its path is printed
  grep -q "^sheet     $1/contact_sheet.png: from left to right truth, rendered, depth .*test views 0 (" $1.txt || { cat $1.txt; fail "the sheet of $1 is not told"; }
  [[ -z $(find $1 -name '.*.tmp') ]] || fail "the sheet of $1 left a temporary file"
  python3 -B - "$1/contact_sheet.png" "$here" <<'P' || fail "the contact sheet of $1"
import sys
sys.path.insert(0, sys.argv[2])
from png_file import pixels_of
width, height, rgb = pixels_of(sys.argv[1])
side = (width - 4) // 4 - 4
rows = (height - 4) // (side + 4)
assert width == 4 + 4 * (side + 4) and height == 4 + rows * (side + 4) and side <= 200 and 1 < rows <= 4, (width, height)
def tile(row, column):
    return b"".join(rgb[3 * ((4 + row * (side + 4) + y) * width + 4 + column * (side + 4)):][:3 * side] for y in range(side))
for row in range(rows):
    tiles = [tile(row, column) for column in range(4)]
    assert len(set(tiles)) == 4, f"two tiles of row {row} are the same"
    truth, rendered, depth, error = tiles
    assert len(set(truth)) > 10 and len(set(rendered)) > 3 and depth[::3] == depth[1::3], f"row {row}"
    wrong = [sum(abs(truth[i + c] - rendered[i + c]) for c in range(3)) for i in range(0, len(truth), 3)]
    worst, best = max(range(len(wrong)), key=wrong.__getitem__), min(range(len(wrong)), key=wrong.__getitem__)
    assert sum(error[3 * worst:][:3]) > sum(error[3 * best:][:3]), f"row {row} shows no error where it is"
P
}
echo '{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "grid": 32, "steps_per_diagonal": 128, "width": 16}' >hash.json
echo '{"width": 32, "depth": 3, "skip": 2, "octaves": 4, "rays": 64, "coarse": 16, "fine": 16, "chunk": 2048}' >frequency.json
echo '{"first_grid": 16, "grid": 32, "batch_samples": 4096}' >voxels.json
echo '{"initial": 500, "most": 800}' >gaussians.json

for field in hash frequency voxels gaussians; do
  train=("$klab" train --threads 2 --plan last)
  "${train[@]}" built-in --downscale 16 --field $field --config $field.json --steps 32 --out $field >$field.txt 2>&1 ||
    { cat $field.txt; fail "train --field $field"; }
  grep -q '^PSNR' $field.txt || { cat $field.txt; fail "--field $field has no score"; }
  grep -q "\"field\": \"$field\"" $field/result.json || fail "result.json does not say that it is $field"
  [[ $(wc -l <$field/metrics.csv) -ge 2 ]] || fail "$field: no metrics"
  # A grid that has grown belongs to the trainer, too.
  [[ $field != voxels || $(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "bytes_trainer") c = i } END { print $c }' voxels/metrics.csv) -gt 0 ]] ||
    fail "voxels: the trainer owns no memory at the end"
  sheet $field
  "$klab" eval $field built-in --downscale 16 --plan last --json >eval.json || fail "eval of $field"
  a=$(grep -m 1 '"psnr"' $field/result.json | grep -o '[0-9.]*') b=$(grep -m 1 '"psnr"' eval.json | grep -o '[0-9.]*')
  awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d < 0.01 && d > -0.01) }' || fail "$field: $a dB at the end of training, $b by eval"
  "$klab" render $field --size 16 --plan last --out render_$field >/dev/null || fail "render of $field"
  [[ -s render_$field/frame_0000.png ]] || fail "render of $field wrote nothing"
  # A resumed run continues from its step and keeps its field and its config.
  "${train[@]}" --resume $field --steps 36 >$field.txt 2>&1 || { cat $field.txt; fail "--resume of $field"; }
  grep -q '^resumed   at step 32' $field.txt || { cat $field.txt; fail "$field did not resume"; }
  grep -q '"steps": 36' $field/result.json || fail "$field: not 36 steps after the resumption"
done

# Fields whose arrays stay in the host's memory train and draw with CUDA rungs, too, and resume on another backend.
echo '{"width": 16, "depth": 3, "skip": 2, "octaves": 4, "rays": 16, "coarse": 8, "fine": 8, "chunk": 1024}' >small_frequency.json
echo '{"initial": 60, "most": 100}' >small_gaussians.json
for field in frequency gaussians; do
  "$klab" train built-in --downscale 25 --field $field --config small_$field.json --steps 2 --out simt_$field --plan naive --backend simt \
    --score 1 >$field.txt 2>&1 || { cat $field.txt; fail "train --field $field --backend simt"; }
  grep -q '^PSNR' $field.txt || { cat $field.txt; fail "--field $field --backend simt has no score"; }
  grep -q '"counted_step"' simt_$field/result.json || fail "result.json of $field on the executor has no counts"
  "$klab" train --resume simt_$field --steps 3 --no-eval --backend cpu --plan naive >$field.txt 2>&1 || { cat $field.txt; fail "--resume of $field on the processor"; }
  grep -q '^resumed   at step 2' $field.txt || { cat $field.txt; fail "$field did not resume on the processor"; }
done

# A refused run writes nothing.
refused 'hash, frequency, voxels, gaussians' "$klab" train built-in --field voxel --out none
refused '"finest_resolution".*--field hash, and this is voxels' "$klab" train built-in --field voxels --config hash.json --out none
refused '"first_grid".*--field voxels' "$klab" train built-in --config voxels.json --out none
refused 'contradicts that run, which has the field voxels' "$klab" train --resume voxels --field hash --steps 40
refused 'voxel' "$klab" compare-fields built-in --fields hash,voxel --out none
echo '{"grid": 48}' >odd.json
refused 'powers of two' "$klab" train built-in --field voxels --config odd.json --out none
[[ ! -e none ]] || fail "a refused command left something behind"

# A comparison: rows, curves and runs; a started one is resumed as it was started, and existing runs are kept. With a given plan:
# otherwise timing the rungs takes most of this test's time.
"$klab" train built-in --downscale 16 --config hash.json --plan naive --threads 2 --steps 2 --no-eval --out compared/hash >compared.txt 2>&1 ||
  { cat compared.txt; fail "train"; }
"$klab" compare-fields built-in --downscale 16 --seconds 1 --fields hash,voxels --plan last --out compared --threads 2 >compared.txt 2>&1 ||
  { cat compared.txt; fail "compare-fields"; }
[[ $(wc -l <compared/comparison.csv) == 3 ]] || { cat compared/comparison.csv; fail "not a row for each field"; }
awk -F, 'NR == 1 { exit !($11 == "flops_per_sample") } NR > 1 { if ($11 < 100 || $12 < 50 || $13 <= 0.01 || $13 > 1 || $14 < 1000) exit 1 }' compared/comparison.csv ||
  { cat compared/comparison.csv; fail "no counts of the fields"; }
grep -q '"mlp_fwd": "mlp_fwd.cpu.01_naive"' compared/hash/plan.json || fail "the run that was begun got another plan"
grep -q 'by the plan last' compared/voxels.log || { cat compared/voxels.log; fail "--plan did not reach the run"; }
for file in comparison.html hash/metrics.csv voxels/metrics.csv hash.log voxels.log; do
  [[ -s compared/$file ]] || fail "compare-fields did not write $file"
done
"$klab" compare-fields built-in --downscale 16 --seconds 1 --fields hash,voxels --plan last --out compared --threads 2 >compared.txt 2>&1
[[ $(grep -c 'is there' compared.txt) == 2 ]] || { cat compared.txt; fail "finished runs were not kept"; }
