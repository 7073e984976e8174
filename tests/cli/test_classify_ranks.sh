#!/usr/bin/env bash
# klab classify by several processes: they train one network, the one that a process makes that computes as many parts of each batch.
# ctest: slow serial
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
grep -q '^KLAB_MPI:BOOL=ON' "$3/CMakeCache.txt" && grep -qE '^MPI_CXX_HEADER_DIR:PATH=/' "$3/CMakeCache.txt" || { echo "built without MPI"; exit 77; }
in_own_folder
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
small=("$klab" classify glyphs --model mlp --plan naive --threads 1)
some=("${small[@]}" --train 120 --test 40 --batch 20)

"${some[@]}" --epochs 2 --accumulate 2 --out one >one.txt 2>&1 || { cat one.txt; fail "one process"; }
mpirun -n 2 "${some[@]}" --epochs 2 --out two >two.txt 2>&1 || { cat two.txt; fail "two processes"; }
cmp one/model.safetensors two/model.safetensors || fail "two processes make another model"
grep -q '^ranks     2 processes, 10 examples of a step' two.txt || { cat two.txt; fail "the ranks are not named"; }
[[ $(grep -c '^right' two.txt) == 1 ]] || { cat two.txt; fail "more than one of them reports"; }
grep -q '"ranks": 2' two/result.json || fail "the result does not name the ranks"
numbers() { grep -E '"(accuracy|loss|steps)"' "$1/result.json"; }
[[ $(numbers one | wc -l) == 3 && $(numbers one) == "$(numbers two)" ]] || { diff <(numbers one) <(numbers two); fail "another score"; }

# One rank is asked to end: all end at the same step. One process resumes, and ends where it would have been without the others.
"${some[@]}" --epochs 60 --accumulate 2 --out whole >whole.txt 2>&1 || { cat whole.txt; fail "sixty epochs"; }
mpirun -n 2 "${some[@]}" --epochs 60 --out part >part.txt 2>&1 & launcher=$!
for _ in $(seq 400); do [[ -e part/checkpoint.safetensors ]] && break; sleep 0.02; done
rank=$(pgrep -f "$klab classify glyphs .*--out part" | while read -r p; do [[ $(cat "/proc/$p/comm") == klab ]] && echo "$p"; done | tail -n 1 || true)
[[ -n $rank ]] && kill -TERM "$rank" 2>/dev/null || true
wait $launcher || true
[[ $(grep -c '^right' part.txt) == 1 ]] || { cat part.txt; fail "the ranks did not end together"; }
"${some[@]}" --epochs 60 --accumulate 2 --resume part >part.txt 2>&1 || { cat part.txt; fail "one process does not go on"; }
grep -q '^resumed   at step' part.txt || { cat part.txt; fail "did not resume"; }
cmp whole/model.safetensors part/model.safetensors || fail "what two saved and one resumed is another model"

# Each process holds some of the layers: the same bytes as one process that computes the batch in as many parts, which resumes from them.
net=("${small[@]/mlp/cnn}" --train 40 --test 20 --batch 20 --accumulate 2 --epochs 1)
"${net[@]}" --out one_net >one.txt 2>&1 || { cat one.txt; fail "a network by one"; }
mpirun -n 2 "${net[@]}" --split-layers --out split >split.txt 2>&1 || { cat split.txt; fail "layers of two"; }
cmp one_net/model.safetensors split/model.safetensors || fail "two that split the layers make another model"
grep -q '^ranks     2 processes with 1 threads each; layers conv1 to .* | .* to linear2' split.txt || { cat split.txt; fail "the layers are not named"; }
grep -q '^other ranks' split.txt || { cat split.txt; fail "the time of waiting is not there"; }
code=0
"${net[@]}" --split-layers --out no >no.txt 2>&1 || code=$?
[[ $code == 2 && ! -e no ]] && grep -q '^klab: --split-layers: this process is alone' no.txt || { cat no.txt; fail "layers of one process"; }

refused() {  # text, words of the command
  local code=0 text=$1
  shift
  mpirun -n 2 "${small[@]}" --train 120 --test 40 --epochs 2 --out no "$@" >no.txt 2>&1 || code=$?
  [[ $code != 0 && ! -e no ]] || { cat no.txt; fail "$*: was not refused"; }
  [[ $(grep -c "$text" no.txt) == 1 ]] || { cat no.txt; fail "$*: the message is not there once"; }
}
refused 'klab: rank . of 2: --batch 21: 2 processes with one part each need a multiple of 2' --batch 21
refused 'klab: rank . of 2: --split-layers: --clip' --batch 20 --split-layers --clip 1
refused 'klab: rank . of 2: --ladder times the steps of one process' --batch 20 --ladder
code=0
mpirun -n 2 "$klab" classify --predict one --evaluate glyphs >no.txt 2>&1 || code=$?
[[ $code != 0 ]] && grep -q 'klab: rank . of 2: --predict is the work of one process' no.txt || { cat no.txt; fail "--predict by two"; }
code=0
mpirun -n 1 "${some[@]}" --seed 1 --out no : -n 1 "${some[@]}" --seed 2 --out no >no.txt 2>&1 || code=$?
[[ $code != 0 && ! -e no ]] || { cat no.txt; fail "ranks of two seeds were not refused"; }
grep -q 'rank 1 has another' no.txt || { cat no.txt; fail "other data are not named"; }
echo ok
