#!/usr/bin/env bash
# Several processes by mpirun: they learn as one does, are refused when they do not fit together, end together, and any number
# of them resumes from the checkpoint.
# ctest: slow serial
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
grep -q '^KLAB_MPI:BOOL=ON' "$3/CMakeCache.txt" && grep -qE '^MPI_CXX_HEADER_DIR:PATH=/' "$3/CMakeCache.txt" || { echo "built without MPI"; exit 77; }
in_own_folder
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cat >small.json <<'J'
{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 128, "width": 16}
J
train=("$klab" train built-in --downscale 12 --config small.json --plan last)
score() { grep -m 1 '"psnr"' "$1/result.json" | grep -o '[0-9.]*'; }

# Two processes make the very steps that one makes which computes the batch in two parts: the models are the same bytes.
"${train[@]}" --steps 600 --threads 1 --parts 2 --out one >one.txt 2>&1 || { cat one.txt; fail "one process"; }
mpirun -n 2 "${train[@]}" --steps 600 --threads 1 --out two >two.txt 2>&1 || { cat two.txt; fail "two processes"; }
grep -q '"ranks": 2' two/result.json || fail "two processes did not train together"
[[ $(grep -c '^PSNR' two.txt) == 1 ]] || { cat two.txt; fail "more than one of them reports"; }
cmp one/model.safetensors two/model.safetensors || fail "PSNR $(score one) by one, $(score two) by two"
# Each rank has scored its views, with the same digits as one process that scores all, and drawn its pictures.
scores() { grep -E '"(psnr|ssim|name)"' "$1/result.json"; }
[[ $(scores one | wc -l) -gt 10 && $(scores one) == "$(scores two)" ]] || { diff <(scores one) <(scores two); fail "other scores by two"; }
for picture in one/test_*.png; do cmp "$picture" "two/${picture#one/}" || fail "another picture by two"; done
# So do those that look at a model: scores and pictures of two are those of one.
look=(built-in --downscale 12 --plan last --threads 1 --json)
"$klab" eval one "${look[@]}" >eval_one.json 2>eval.txt || { cat eval.txt; fail "klab eval"; }
mpirun -n 2 "$klab" eval one "${look[@]}" >eval_two.json 2>eval.txt || { cat eval.txt; fail "klab eval by two"; }
[[ $(grep -vc seconds eval_one.json) -gt 10 ]] && cmp <(grep -v seconds eval_one.json) <(grep -v seconds eval_two.json) || fail "klab eval by two says something else"
for n in 1 2; do
  mpirun -n $n "$klab" render one --orbit 5 --size 24 --plan last --threads 1 --out orbit_$n >orbit.txt 2>&1 || { cat orbit.txt; fail "klab render by $n"; }
  [[ $(grep -c "^5 frames in" orbit.txt) == 1 ]] || { cat orbit.txt; fail "klab render by $n does not say what it did, once"; }
done
for i in 0 1 2 3 4; do cmp orbit_1/frame_000$i.png orbit_2/frame_000$i.png || fail "frame $i by two is another"; done
awk -v a="$(score one)" 'BEGIN { exit !(a > 20) }' || fail "PSNR $(score one): has not learned"

# The table's gradient travels in other ways to the same bytes, also between three, where the order of a sum matters; and the checkpoint
# of the first rank is complete: one process resumes from it as from its own.
"${train[@]}" --steps 60 --threads 1 --parts 3 --no-eval --out one3 >one3.txt 2>&1 || { cat one3.txt; fail "one process, three parts"; }
for way in sharded touched; do
  mpirun -n 3 "${train[@]}" --steps 60 --threads 1 --no-eval --exchange $way --out $way >$way.txt 2>&1 || { cat $way.txt; fail "--exchange $way"; }
  grep -q "^exchange  $way: a rank sends [0-9.]* MB a step" $way.txt || { cat $way.txt; fail "$way does not say what it sends"; }
  grep -q "\"exchange\": \"$way\"" $way/result.json || fail "$way is not in the result"
  sent=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "bytes_sent") c = i } { last = $c } END { print last }' $way/metrics.csv)
  [[ $sent -gt 0 ]] || fail "$way: metrics.csv has $sent bytes sent"
  cmp one3/model.safetensors $way/model.safetensors || fail "--exchange $way makes another model"
done
for run in one3 sharded touched; do
  "$klab" train --resume $run --steps 90 --threads 1 --parts 3 --no-eval >$run.more.txt 2>&1 || { cat $run.more.txt; fail "$run: does not go on"; }
done
cmp one3/model.safetensors sharded/model.safetensors || fail "what three ranks saved, each of a part of the table, was not whole"
cmp one3/model.safetensors touched/model.safetensors || fail "what three ranks saved, of what they had touched, was not whole"
cp -r one3 other_number
mpirun -n 2 "$klab" train --resume other_number --steps 100 --threads 1 --exchange touched --no-eval >other.txt 2>&1 || { cat other.txt; fail "another number of ranks"; }
grep -q '"steps": 100' other_number/result.json || fail "another number of ranks did not go on to the end"
code=0
"${train[@]}" --steps 5 --exchange touched --out no >out.txt 2>&1 || code=$?
[[ $code != 0 && ! -e no ]] || fail "an exchange with nobody"
grep -q "^klab: --exchange touched: is between processes" out.txt || { cat out.txt; fail "an exchange with nobody, not named"; }
code=0
"${train[@]}" --steps 5 --exchange ring --out no >out.txt 2>&1 || code=$?
[[ $code != 0 && ! -e no ]] || fail "an exchange that is none"
grep -q "^klab: --exchange ring: is no way; there are dense" out.txt || { cat out.txt; fail "an exchange that is none, not named"; }

# Other fields compute a batch in parts as well, except those that give a reason.
echo '{"rays": 32, "coarse": 8, "fine": 8, "width": 16, "depth": 2}' >frequency.json
echo '{"batch_samples": 2048, "first_rays": 64, "first_grid": 8, "grid": 16}' >voxels.json
for field in frequency voxels; do
  other=("$klab" train built-in --downscale 12 --field $field --config $field.json --plan last --steps 30 --threads 1 --no-eval)
  "${other[@]}" --parts 2 --out one_$field >$field.txt 2>&1 || { cat $field.txt; fail "$field in parts"; }
  mpirun -n 2 "${other[@]}" --out two_$field >$field.txt 2>&1 || { cat $field.txt; fail "$field by two"; }
  cmp one_$field/model.safetensors two_$field/model.safetensors || fail "$field: two make another model"
  for way in sharded touched; do
    [[ $field == frequency && $way == touched ]] && continue
    rm -rf other_$field
    mpirun -n 2 "${other[@]}" --exchange $way --out other_$field >$field.txt 2>&1 || { cat $field.txt; fail "$field by $way"; }
    cmp one_$field/model.safetensors other_$field/model.safetensors || fail "$field: $way makes another model"
  done
done
# The first rank's checkpoint has the rows of the others complete.
for run in one_voxels other_voxels; do
  "$klab" train --resume $run --steps 40 --threads 1 --parts 2 --no-eval >$run.txt 2>&1 || { cat $run.txt; fail "$run: does not go on"; }
done
cmp one_voxels/model.safetensors other_voxels/model.safetensors || fail "voxels: what two ranks saved was not whole"
code=0
timeout 60 mpirun -n 2 "$klab" train built-in --downscale 12 --field frequency --exchange touched --steps 2 --out no >out.txt 2>&1 || code=$?
[[ $code != 0 && ! -e no ]] || fail "touched blocks of networks"
grep -q "^klab: rank 0 of 2: --exchange touched: --field frequency: has no table" out.txt || { cat out.txt; fail "touched blocks of networks, not named"; }

# CUDA kernels on the host executor, each rank its own: data in the executor's memory travels through the host's.
simt() { timeout 200 "$@" built-in --downscale 24 --config tiny.json --plan naive --backend simt --steps 3 --threads 1 --no-eval; }
echo '{"levels": 2, "log2_table": 8, "finest_resolution": 16, "batch_samples": 256, "first_rays": 16, "grid": 8, "steps_per_diagonal": 32, "width": 16}' >tiny.json
simt "$klab" train --parts 2 --out simt_one >simt.txt 2>&1 || { cat simt.txt; fail "--backend simt in parts"; }
for way in dense sharded touched; do
  simt mpirun -n 2 "$klab" train --exchange $way --out simt_$way >simt.txt 2>&1 || { cat simt.txt; fail "--backend simt by $way"; }
  cmp simt_one/model.safetensors simt_$way/model.safetensors || fail "--backend simt: $way makes another model"
done
code=0
"$klab" train built-in --downscale 12 --field gaussians --parts 2 --steps 2 --out no >out.txt 2>&1 || code=$?
[[ $code != 0 && ! -e no ]] || fail "Gaussians in parts"
grep -q "^klab: --field gaussians: a step of it learns from one view as a whole" out.txt || { cat out.txt; fail "Gaussians in parts, not named"; }

# A setting that differs in one rank is named before the first step; nothing is written.
refused() {  # text, arguments of the second
  local text=$1 code=0; shift
  timeout 60 mpirun -n 1 "${train[@]}" --steps 20 --out no : -n 1 "$klab" train "$@" --steps 20 --out no >out.txt 2>&1 || code=$?
  [[ $code != 0 && $code != 124 ]] || { cat out.txt; fail "exit code $code for: $*"; }
  grep -q "another $text" out.txt || { cat out.txt; fail "no 'another $text' for: $*"; }
  [[ $(grep -c '^klab: rank' out.txt) == 1 ]] || { cat out.txt; fail "more than one message"; }
  [[ ! -e no ]] || fail "a refused run left a folder"
}
sed 's/4096/2048/' small.json >other.json
refused config built-in --downscale 12 --plan last --config other.json
refused scene built-in --downscale 16 --plan last --config small.json
refused seed built-in --downscale 12 --plan last --config small.json --seed 3

code=0
timeout 60 mpirun -n 2 "${train[@]}" --steps 20 --parts 3 --out no >out.txt 2>&1 || code=$?
[[ $code != 0 ]] || fail "three parts for two processes"
grep -q "^klab: rank 0 of 2: --parts 3: is no multiple of the 2 processes" out.txt || { cat out.txt; fail "three parts, not named"; }

# One is killed: all end within ten seconds, and one message names it, however soon the launcher ends the others; then one resumes alone.
mine() {  # the ranks, without the launcher and their watchdog
  local p
  for p in $(pgrep -f "$klab train built-in .*--out killed"); do
    [[ $(readlink "/proc/$p/exe") == "$(readlink -f "$klab")" && $(cat "/proc/$p/comm") == klab ]] && echo "$p"
  done
  true
}
rank_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -nE 's/^(PMI_RANK|OMPI_COMM_WORLD_RANK)=//p'; }
for victim_rank in 0 1 2; do
  rm -rf killed
  mpirun -n 3 "${train[@]}" --seconds 60 --threads 1 --checkpoint 0.2 --out killed >killed.txt 2>&1 & launcher=$!
  for _ in $(seq 400); do [[ -e killed/checkpoint.safetensors ]] && break; sleep 0.1; done
  [[ -e killed/checkpoint.safetensors ]] || { cat killed.txt; fail "no checkpoint"; }
  victim=
  for p in $(mine); do [[ $(rank_of "$p") == "$victim_rank" ]] && victim=$p; done
  [[ -n $victim ]] || fail "no process is rank $victim_rank"
  kill -9 "$victim"
  began=$SECONDS
  while kill -0 $launcher 2>/dev/null; do ((SECONDS - began <= 10)) || fail "still there after ten seconds"; sleep 0.1; done
  code=0; wait $launcher || code=$?
  [[ $code != 0 ]] || fail "a killed rank is no error"
  [[ -z $(mine) ]] || fail "a rank is left"
  [[ $(grep -c '^klab: rank' killed.txt) == 1 ]] || { cat killed.txt; fail "not one message about the rank that was killed"; }
  grep -q "^klab: rank $victim_rank of 3 has ended.* the last checkpoint is .*killed/checkpoint.safetensors" killed.txt ||
    { cat killed.txt; fail "the message does not name rank $victim_rank, or not the checkpoint"; }
done
"$klab" train --resume killed --steps 1 --threads 2 >/dev/null 2>&1 || true
steps=$(tail -n 1 killed/metrics.csv | cut -d, -f1)
"$klab" train --resume killed --steps $((steps + 50)) --threads 2 >resumed.txt 2>&1 || { cat resumed.txt; fail "one process does not go on"; }
grep -q '^resumed' resumed.txt || fail "did not resume"
echo ok
