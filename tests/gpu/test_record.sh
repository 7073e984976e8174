#!/usr/bin/env bash
# reports/record.sh with a stand-in for klab: the commands it runs, the files it keeps, the steps it leaves to a GPU.
set -euo pipefail
root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$work/err" >&2 || true; exit 1; }
cat >"$work/klab" <<'P'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/calls"
case $1 in
  doctor) echo '{"machine": {"fingerprint": "0123456789abcdef"}, "gpu_missing": "there is no NVIDIA driver here"}' ;;
  list) echo '{"labs": [{"variants": [{"id": "t.cuda.01_a"}, {"id": "t.cuda.02_b"}, {"id": "t.cpu.01_a"}]}]}' ;;
  check) echo '{"variants": []}' ;;
  trace) [[ $2 == *02_b ]] && { echo half; exit 3; }; echo "{\"variant\": \"$2\"}" ;;
  run|bench) while [[ $1 != --out ]]; do shift; done; echo rows >"$2" ;;
  train) while [[ $1 != --out ]]; do shift; done; mkdir "$2"; echo '{"psnr": 30}' >"$2/result.json" ;;
esac
P
chmod +x "$work/klab"
code=0
bash "$root/reports/record.sh" --quick "$work/klab" "$work/out" >"$work/log" 2>"$work/err" || code=$?
[[ $code -eq 1 ]] || fail "exit code $code: a step that failed must show"
record=$work/out/0123456789abcdef
for file in machine.json check.json counts/t.cuda.01_a.json rows.csv train/1_built_in_5.json; do [[ -s $record/$file ]] || fail "no $file"; done
[[ ! -e $record/counts/t.cuda.02_b.json ]] || fail "half a file was kept"
[[ -z $(find "$record" -name '*.new') ]] || fail "unfinished files are left"
grep -q "no GPU: there is no NVIDIA driver here" "$work/err" || fail "does not say why there is no GPU"
grep -q "without a GPU not run: .* check --backend cuda --apart" "$work/err" || fail "does not say what it would run"
grep -q "without a GPU not run: compute-sanitizer --tool racecheck .* check OP --backend cuda" "$work/err" || fail "no racecheck"
grep -q "without a GPU not run: ncu --clock-control none" "$work/err" || fail "no profile"
grep -q -- "--backend cuda" "$work/calls" && fail "called the GPU without one"
rm "$work/calls"
bash "$root/reports/record.sh" --only check "$work/klab" "$work/other" 2>"$work/err" || fail "--only check"
grep -Eqv '^(doctor|list|check) ' "$work/calls" && fail "--only did more: $(cat "$work/calls")"
code=0
bash "$root/reports/record.sh" --only chek "$work/klab" "$work/other" 2>"$work/err" || code=$?
[[ $code -eq 2 ]] && grep -q "no step is called 'chek'" "$work/err" || fail "took a step that is not there"
# Where there is a GPU: rungs under the names they have now, metrics that the profiler knows, one operation's error next to the others.
mkdir "$work/bin" "$work/gpu"
cat >"$work/gpu/klab" <<'P'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/calls"
case "$*" in
  doctor*) echo '{"machine": {"fingerprint": "0123456789abcdef"}, "gpu_missing": null}' ;;
  list*) echo '{"variants": [{"id": "t.cuda.01_a", "was": ["t.cuda.01_old"]}, {"id": "t.cuda.02_b"}, {"id": "u.cuda.01_a"}, {"id": "t.cpu.01_a"}]}' ;;
  *--metrics) echo "l1tex__known.sum,l1tex__unknown.sum,launch__always" ;;
  "counts --gpu "*) for f in gpu_counters gpu_agreement; do echo "$3" >"$(dirname "$3")/$f.csv"; done; echo agreed ;;
  "check u "*) exit 1 ;;
  train*) while [[ $1 != --out ]]; do shift; done; mkdir "$2"; echo '{"psnr": 30}' >"$2/result.json" ;;
  bench*) while [[ $1 != --out ]]; do shift; done; echo rows >"$2" ;;
  *) echo '{"variants": []}' ;;
esac
P
cat >"$work/bin/ncu" <<'P'
#!/usr/bin/env bash
[[ $1 != --query-metrics ]] || { echo "l1tex__known  Counter"; exit 0; }
while [[ $1 != --metrics ]]; do shift; done
echo "metrics $2"; shift 2; "$@"
P
cat >"$work/bin/compute-sanitizer" <<'P'
#!/usr/bin/env bash
while [[ $1 != */klab ]]; do shift; done
"$@"
P
chmod +x "$work/gpu/klab" "$work/bin"/*
code=0
PATH=$work/bin:$PATH bash "$root/reports/record.sh" --quick --only gpu_check,ncu,gpu_bench,gpu_train,sanitizer,counts "$work/gpu/klab" \
  "$work/with" >"$work/log" 2>"$work/err" || code=$?
[[ $code -eq 1 ]] || fail "exit code $code: the sanitizer found something"
record=$work/with/0123456789abcdef
for file in machine.json gpu_check.json gpu_rows.csv ncu/0.csv gpu_counters.csv gpu_agreement.csv gpu_counts.txt train/1_built_in_cuda_5.json; do
  [[ -s $record/$file ]] || fail "no $file"
done
grep -q "^metrics l1tex__known.sum,launch__always$" "$record/ncu/0.csv" || fail "asks for a metric that the profiler does not know"
grep -q "does not know l1tex__unknown.sum" "$work/err" || fail "does not say which metric is left out"
grep -q "^trace t.cuda.01_a t.cuda.02_b u.cuda.01_a --on-gpu$" "$work/gpu/calls" || fail "not all rungs in one profiler's run, or more"
grep -q "^check --backend cuda --apart --quick --json$" "$work/gpu/calls" || fail "no check"
grep -q "^t: clean$" "$record/sanitizer/racecheck.txt" || fail "a clean operation is not said to be"
grep -q "^u: exit code 1$" "$record/sanitizer/memcheck.txt" || fail "what the sanitizer found is not said"
for bad in "--wrong" "$work/nothing"; do
  code=0
  bash "$root/reports/record.sh" "$bad" >"$work/log" 2>"$work/err" || code=$?
  [[ $code -eq 2 ]] || fail "exit code $code for $bad"
done
echo ok
