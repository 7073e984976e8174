#!/usr/bin/env bash
# klab-nvcc as a command: help and manual page name every option, compile_commands.json lists what was compiled, device code is
# linked over several files with -rdc=true and kept apart without, by make and by CMake.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
nvcc=$build/klab-nvcc
[[ -x $nvcc ]] || { echo "this build has no host executor"; exit 77; }
count_failures
has() { grep -qF -e "$2" "$1" || { tail -n 25 "$1"; fail "$3: no '$2'"; }; }
code() {  # wanted, what, command...
  local want=$1 what=$2 got=0; shift 2
  "$@" >"$tmp/out" 2>&1 || got=$?
  [[ $got -eq $want ]] || { tail -n 25 "$tmp/out"; fail "$what: exit code $got, not $want"; }
}
cd "$tmp"

# Every option that the parser names is in the help, and the manual page has the same lines.
"$nvcc" --help >help || fail "--help"
"$nvcc" --man >page.1 || fail "--man"
options=$(grep -oE '"-{1,2}[A-Za-z][A-Za-z0-9_-]*' "$root/harness/cuda_compiler/options.cpp" | tr -d '"' | sort -u)
[[ $(wc -l <<<"$options") -gt 60 ]] || fail "no options found in options.cpp"
for option in $options; do
  case $option in -lcudart* | -lcudadevrt | -lcuda | -lnvidia-ml | -lineinfo | -lib | -Wl) continue ;; esac
  grep -qE -e "(^|[ ,])$option" help || fail "--help does not name $option"
  grep -qF -e "${option//-/\\-}" page.1 || fail "--man does not name $option"
done
if command -v groff >/dev/null; then
  groff -man -Tascii -ww page.1 >page 2>troff || fail "the manual page"
  [[ ! -s troff ]] || { cat troff; fail "groff warns"; }
  has page "another order of blocks" "the manual page"
fi

# Device code over several files.
cp -r "$root/tests/programs/linked" linked
export KLAB_COMPILE_COMMANDS=$tmp/compile_commands.json
code 0 "make" make -C linked -j2 NVCC="$nvcc" CUDA_PATH="$build/cuda" linked apart
unset KLAB_COMPILE_COMMANDS
code 0 linked linked/linked
has out "5 10 20 40, 25 below or above" linked
code 0 apart linked/apart
has out "5 10 20 40, 25 below or above" apart
python3 - "$tmp" <<'P' || fail "compile_commands.json"
import json, sys
folder = sys.argv[1] + "/linked"
list_ = json.load(open(sys.argv[1] + "/compile_commands.json"))
assert sorted(c["file"] for c in list_) == ["histogram.cu", "main.cu", "settings.cu"], list_
for c in list_:
    assert c["directory"] == folder and "-dc" in c["arguments"] and c["file"] in c["arguments"] and c["output"].endswith(".o"), c
P
code 0 "again" make -C linked -B NVCC="$nvcc --klab-compile-commands $tmp/compile_commands.json" main.o
[[ $(grep -c '"file"' compile_commands.json) -eq 3 ]] || fail "a file that is compiled again is listed twice"
echo "no list" >broken.json
code 2 "a broken list" "$nvcc" -c linked/main.cu -o main.o --klab-compile-commands broken.json
has out "broken.json: no list of commands" "a broken list"
code 2 "-dlink" "$nvcc" -dlink gone.o -o d.o
has out "gone.o: there is no such file" "-dlink"
code 2 "-rdc" "$nvcc" -rdc=maybe linked/main.cu
has out "neither true nor false" "-rdc"

# Without -rdc=true each file has its own variable of a name.
for k in 1 2; do
  echo "__device__ int counter;
__global__ void add$k(int by) { counter += by; }
int of$k() { add$k<<<1, 1>>>($k); int r = 0; cudaMemcpyFromSymbol(&r, counter, 4); return r; }" >own$k.cu
done
echo 'int of1(); int of2(); int main() { return of1() == 1 && of2() == 2 ? 0 : 3; }' >own.cpp
code 0 "variables of two files" "$nvcc" own.cpp own1.cu own2.cu -o own
code 0 "variables of two files" ./own
code 2 "one name in two files" "$nvcc" -rdc=true own.cpp own1.cu own2.cu -o own
has out "multiple definition" "one name in two files"
code 0 "extern without -rdc=true" "$nvcc" -c linked/histogram.cu -o h.o
has out "settings.h:" "extern without -rdc=true"
has out "extern counts needs -rdc=true" "extern without -rdc=true"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
