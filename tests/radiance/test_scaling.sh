#!/usr/bin/env bash
# klab scaling: trains with one and two ranks, models more, keeps existing results, and names missing parts.
# ctest: slow serial
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
[[ -e $3/libklab_mpi.so ]] || { echo "built without MPI"; exit 77; }
in_own_folder
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cat >small.json <<'J'
{"levels": 4, "log2_table": 11, "finest_resolution": 64, "batch_samples": 1024, "first_rays": 32, "grid": 16,
 "steps_per_diagonal": 64, "width": 16}
J
scaling=("$klab" scaling --downscale 16 --config small.json --plan naive --steps 4 --out s)
"${scaling[@]}" >out.txt 2>&1 || { cat out.txt s/*.log; fail "klab scaling"; }
grep -q "^two ranks of one thread reach [0-9.]* of the samples" out.txt || { cat out.txt; fail "no comparison of ranks and threads"; }
[[ $(grep -c "^strong_\|^weak_" s/scaling.csv) == 6 ]] || { cat s/scaling.csv; fail "not six runs of two ranks"; }
[[ $(grep -c "^64," s/model.csv) == 3 ]] || { cat s/model.csv; fail "the model does not go to 64 ranks in three ways"; }
grep -q "<svg" s/scaling.html || command -v gnuplot >/dev/null || echo "no gnuplot: no figures"
for way in dense sharded touched; do grep -q "\"exchange\": \"$way\"" s/strong_$way/result.json || fail "$way was not the way of its run"; done

# Existing results are kept, and another network is modeled.
stamp=$(stat -c %Y.%i s/one/result.json s/messages.json)
cp s/model.csv before.csv
"${scaling[@]}" --latency 100000 --bandwidth 0.001 >again.txt 2>&1 || { cat again.txt; fail "again"; }
[[ $stamp == "$(stat -c %Y.%i s/one/result.json s/messages.json)" ]] || fail "what was there was done again"
awk -F, '$1 == 64 && $2 == "dense" { exit !($4 > 100000 / 1000 * 6) }' s/model.csv || { cat s/model.csv; fail "a slow network is not slow"; }
cmp -s before.csv s/model.csv && fail "another network made no difference"

# Bad input: one line, an exit code.
refused() {  # words, arguments
  local words=$1 code=0; shift
  "$@" >bad.txt 2>&1 || code=$?
  [[ $code != 0 ]] || fail "accepted: $*"
  grep -q "$words" bad.txt || { cat bad.txt; fail "does not say \"$words\": $*"; }
}
refused "latency" "$klab" scaling --latency -1 --out t
refused "mpirun is not in PATH" env PATH=/nowhere "$klab" scaling --out t
[[ ! -e t ]] || fail "a refused command left a folder"
refused "two ranks: mpirun -n 2" "$klab" scaling --messages m.json
echo '[]' >s/messages.json
refused "s/messages.json: holds no times" "${scaling[@]}"
rm s/messages.json
echo '{"steps": 9}' >s/one/result.json
refused "s/one/result.json: is no result of such a run" "${scaling[@]}"
echo ok
