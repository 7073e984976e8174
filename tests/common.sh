# What shell tests share. After `set -uo pipefail`, with or without -e, a test says
#
#   . "$(dirname "$0")/../common.sh"
#
# and has its arguments, its room ($here), a folder that is removed when it ends ($tmp), and the functions below.
klab=${1-} root=${2-} build=${3-}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export KLAB_PROGRAM_LIMIT=0  # programs are watched whole, however busy the machine is

# Ends the test.
fail() { echo "FAILED: $*"; exit 1; }

# Makes `fail` count, so that the test goes on, up to its last line: exit $((failures > 0)).
count_failures() {
  failures=0
  fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
}

# Goes to the test's folder; times that klab measures are kept there, too.
in_own_folder() {
  cd "$tmp" || exit 2
  export XDG_CACHE_HOME=$tmp/cache
}

# what, command...: ends the test where the command fails, with the end of what it said.
must() { local what=$1; shift; "$@" >"$tmp/log" 2>&1 || { tail -n 60 "$tmp/log"; echo "FAILED: $what"; exit 1; }; }

# file, pattern
has() { grep -qE -- "$2" "$1" || { cat "$1"; fail "does not say '$2'"; }; }

# pattern, command...: the command ends with code 2 and says why on its error stream.
refused() {
  local pattern=$1 code=0
  shift
  "$@" >out.txt 2>said.txt </dev/null || code=$?
  [[ $code == 2 ]] && grep -q -e "$pattern" said.txt || { cat out.txt said.txt; fail "exit code $code, not refused with \"$pattern\": $*"; }
}

# The same, in one line.
refused_in_a_line() {
  refused "$@"
  [[ $(wc -l <said.txt) == 1 ]] || { cat said.txt; fail "not one line: $*"; }
}
