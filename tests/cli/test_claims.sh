#!/usr/bin/env bash
# klab claims: the record as text and JSON, one seed now, a recording that Ctrl-C ends and that continues, records that are refused.
# ctest: slow
set -uo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export NO_COLOR=1 OMP_WAIT_POLICY=passive KLAB_ROOT=$root
count_failures
# try CODE TEXT ARGUMENTS...: klab claims ends with the code and prints the text, a refusal in one line.
try() {
  local want=$1 text=$2 code=0; shift 2
  "$klab" claims "$@" >out.txt 2>&1 </dev/null || code=$?
  [[ $code == "$want" ]] || { tail -n 5 out.txt; fail "klab claims $*: exit code $code"; }
  grep -q -e "$text" out.txt || { tail -n 5 out.txt; fail "klab claims $*: '$text' is not printed"; }
  [[ $want != 2 || $text == --check || $(wc -l <out.txt) -eq 1 ]] || fail "klab claims $*: more than one line"
}

# The record.
try 0 'Newton solves' quadratic
grep -qE '^[0-9]+ claims: [0-9]+ held' out.txt || fail "no sum of the verdicts"
try 0 'derivatives.worked' derivatives.worked --json
try 0 'composite_fwd.cuda.03_shared_scan' gpu_compositing
try 2 'norm' norm
try 2 'exclude each other' --run --all
try 2 'options of --all' --again
try 2 '--check' --check 0

# Now: exact claims take one run, and agree with the record.
try 0 'agrees with the record: held' --run quadratic.newton
try 0 'with seed 7 alone' --run dropout --seed 7
try 0 '"seeds"' --run quadratic --json

# A recording continues, and leaves out claims that times decide.
try 0 'quadratic, seed 1' --all quadratic sharing --out record.json --minutes 100
cp record.json whole.json
try 0 'record.json: 6 claims' --all quadratic sharing --out record.json
grep -q 'seed 1' out.txt && fail "what is on record was measured again"
cmp -s record.json whole.json || fail "a record without news was changed"
try 0 'derivatives, seed 1: 4 claims' --all derivatives --untimed --out untimed.json
grep -q 'derivatives.time' untimed.json && fail "a claim that times decide was recorded"

# Ctrl-C: seeds that are done stay, the file is whole, and the next call runs the others.
"$klab" claims --all dropout features --out broken.json >out.txt 2>err.txt &
pid=$!
for _ in $(seq 600); do grep -q 'dropout, seed 1' out.txt && break; sleep 0.1; done
kill -INT $pid
wait $pid
code=$?
[[ $code == 130 ]] || fail "exit code $code after Ctrl-C"
grep -q 'interrupted.*continues' err.txt || { cat err.txt; fail "nothing names the interruption"; }
python3 - broken.json <<'P' || fail "the record of an interrupted run"
import json, sys
record = json.load(open(sys.argv[1]))
done = {c["claim"]: c["seeds"] for c in record["claims"]}
if done.get("dropout.moments", [])[:1] != [1] or "features.learned" in done and len(done["features.learned"]) > 2:
    sys.exit("recorded seeds: %s" % done)
P
[[ -z $(find . -name '.broken*') ]] || fail "a temporary file was left"
try 0 'dropout, seed\|0 runs are left\|broken.json' --all dropout --out broken.json
python3 -c 'import json; c = [c for c in json.load(open("broken.json"))["claims"] if c["claim"] == "dropout.moments"][0]; assert c["seeds"] == [1, 2, 3] and c["verdict"] == "held", c' ||
  fail "the interrupted recording did not continue"

# Records of another version or machine, and broken ones, are refused and left as they are.
change() { python3 -c 'import json, sys; r = json.load(open("whole.json")); exec(sys.argv[1]); json.dump(r, open("bad.json", "w"))' "$1"; }
refuse() {  # CHANGE TEXT
  change "$1"
  cp bad.json before.json
  try 2 "$2" --all quadratic --out bad.json
  grep -q 'bad.json' out.txt || fail "the file is not named: $2"
  cmp -s bad.json before.json || fail "a refused record was changed"
}
refuse 'r["schema_version"] = 1' '"schema_version" is 1'
refuse 'r["machine"] = "0123456789abcdef"' '"machine" is 0123456789abcdef'
refuse 'r["claims"][0]["verdict"] = "depends"' 'its rule and values say'
refuse 'del r["claims"][0]["rows"]' '"rows" is missing'
# What the message asks for helps.
refuse 'r["schema_version"] = 1' 'move the file away, then klab claims --all makes a new one'
mv bad.json away.json
try 0 'quadratic, seed 1: 3 claims' --all quadratic --out bad.json
change 'r["claims"][0]["edition"] = 9'
try 0 'quadratic, seed 1: 1 claims' --all quadratic --out bad.json
try 2 'nowhere' --all quadratic --out nowhere/record.json
[[ $failures -eq 0 ]] && echo ok
exit $((failures > 0))
