#!/usr/bin/env bash
# klab check --boundaries counts cases, as text and for programs, and refuses options that it has no use for.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
count_failures

"$klab" check --boundaries unscale depth_loss_fwd >"$tmp/text" 2>&1 || { cat "$tmp/text"; fail "exit code $?"; }
grep -qE '^unscale +coverage ([0-9]+) of \1 +[0-9]+ cases, [0-9]+ with --quick$' "$tmp/text" || fail "no coverage of unscale"
grep -qE '^  known depth \(truth\) +below [1-9][0-9]*  on [1-9][0-9]*  above [1-9][0-9]*' "$tmp/text" || fail "no sides of a depth"
grep -qE 'not with --quick: ' "$tmp/text" || fail "not said what a quick check leaves out"
grep -qE '^  [1-9][0-9]* pairs of conditions' "$tmp/text" || fail "no number of pairs of conditions"
grep -qE '^2 ops: coverage ([0-9]+) of \1$' "$tmp/text" || fail "no sum"

"$klab" check --boundaries --json unscale >"$tmp/json" || fail "exit code $? with --json"
for key in '"op": "unscale"' '"wanted": ' '"met": ' '"quick_cases": ' '"boundary": "all are finite"' '"not_met": \[\]' '"pairs": [1-9]' '"pairs_left_out": \['; do
  grep -q "$key" "$tmp/json" || fail "no $key for programs"
done

for option in --quick --triples --apart --remember "--shape 8"; do
  # shellcheck disable=SC2086 # an option and its value
  "$klab" check --boundaries unscale $option >"$tmp/refused" 2>&1
  code=$?
  [[ $code -eq 2 ]] || fail "--boundaries with $option ends with $code"
  grep -q -- "only --backend and --json go with it" "$tmp/refused" || fail "--boundaries with $option gives no remedy"
done
"$klab" check --boundaries no_such_op >"$tmp/refused" 2>&1
[[ $? -eq 2 ]] || fail "an op that does not exist is no error"
exit $((failures > 0))
