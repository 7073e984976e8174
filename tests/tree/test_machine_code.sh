#!/usr/bin/env bash
# Rungs contain the instructions that their headers promise (reports/machine_code.py), and a rung that does not is refused.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
count_failures
tool() { python3 "$root/reports/machine_code.py" --root "$tmp/tree" "$@" >"$tmp/said" 2>&1; }
# ends CODE WORDS: what the tool's last call ended with and said.
ends() { [[ $code -eq $1 ]] && grep -qF -- "$2" "$tmp/said" || { cat "$tmp/said"; fail "not $1 and '$2', but $code"; }; }

"$root/reports/machine_code.py" --check >"$tmp/said" 2>&1 || { cat "$tmp/said"; fail "the tree's rungs"; }
tail -n 2 "$tmp/said"
compared=$(sed -nE 's/^([0-9]+) rungs compared.*/\1/p' "$tmp/said")
declared=$(grep -lE '^// (SASS|CODE) ' "$root"/kernels/*/cuda/*.cu "$root"/kernels/*/cpu/*.cpp | wc -l)
left=$(sed -n 's/^not compared.*here: //p' "$tmp/said" | wc -w)
[[ $((compared + left)) -eq $declared && $declared -gt 0 ]] || fail "$declared rungs have a SASS or CODE line, $compared were compared, $left left out"

# A tree of one rung, and compilers that are none: they say what the machine code is.
mkdir -p "$tmp/tree/kernels/axpy/cuda" "$tmp/tree/kernels/common" "$tmp/bin"
rung=$tmp/tree/kernels/axpy/cuda/01_a.cu
make_rung() { printf '// axpy.cuda.01_a: a rung.\n//\n// CHANGE    %s\n%s#include "kernels/common/part.h"\nint f() { return 1; }\n' "$1" "${2:+// SASS      $2
}" >"$rung"; }
echo 'int g();' >"$tmp/tree/kernels/common/part.h"
cat >"$tmp/bin/nvcc" <<'N'
#!/usr/bin/env bash
[[ $1 != --version ]] || { echo "release 13.0"; exit; }
echo "$*" >>"$CALLS"
while [[ $# -gt 1 ]]; do [[ $1 == -o ]] && : >"$2"; shift; done
N
cat >"$tmp/bin/nvdisasm" <<'D'
#!/usr/bin/env bash
cat <<'S'
.text.f:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0150*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR8][R4.64] ;
        /*0160*/                   HMMA.16816.F32.BF16 R4, R4, R8, RZ ;
        /*0170*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64) ;
        /*0180*/               @P1 STL [R1], R4 ;
        /*0190*/                   STL [R1+0x4], R5 ;
S
D
chmod +x "$tmp/bin/nvcc" "$tmp/bin/nvdisasm"
export CALLS=$tmp/calls KLAB_NVCC=$tmp/bin/nvcc KLAB_NVDISASM=$tmp/bin/nvdisasm
make_rung "sums." "HMMA.BF16 LDG.128 CALL.div_*64; no LDL LDGSTS"
tool --write; code=$?; ends 0 "1 rungs in"
grep -qF "CALL.div_s64=1 HMMA.16816.F32.BF16=1 LDG.E.128.CONSTANT=1 STL=2" "$tmp/tree/reports/recorded/machine_code.csv" || fail "the record"
tool --check; code=$?; ends 0 "1 rungs compared"
[[ $(wc -l <"$CALLS") -eq 1 ]] || fail "what is recorded is compiled again"
# What each line asks and the code does not keep.
for broken in "HGMMA|has no HGMMA" "LDG.64|has no LDG.64" "HMMA.F16|has no HMMA.F16" "HMMA; no STL|has 2 STL" \
  "LDG; no CALL|has 1 CALL.div_s64" "*MMA; no LDG.E.128|has 1 LDG.E.128.CONSTANT"; do
  make_rung "sums." "${broken%%|*}"
  tool --check; code=$?; ends 1 "kernels/axpy/cuda/01_a.cu: ${broken##*|}"
done
# A CHANGE that names an instruction which the line leaves out.
make_rung "wgmma multiplies." "HMMA"
tool --check; code=$?; ends 1 "its CHANGE says wgmma, and its header has no SASS line with *GMMA"
make_rung "cp.async copies." ""
tool --check; code=$?; ends 1 "its CHANGE says cp.async, and its header has no SASS line with LDGSTS"
# A lesson's table is made from the record, and one that is not its is refused.
lesson=$tmp/tree/labs/01_axpy/README.md
mkdir -p "${lesson%/*}"
printf '# Axpy\n<!-- machine code: axpy.cuda.01_a -->\n<!-- end of machine code -->\nThe end.\n' >"$lesson"
make_rung "sums." "HMMA.BF16 LDG.128 CALL.div_*64; no LDL LDGSTS"
tool --write; code=$?; ends 0 "1 rungs in"
tool --check; code=$?; ends 1 "labs/01_axpy/README.md: a table of machine code is not that of the record"
tool --lessons; code=$?; ends 0 "labs/01_axpy/README.md: made again"
grep -qxF '| axpy.cuda.01_a | 1 | 1 | 1 | 0 | 2 |' "$lesson" && grep -qxF 'The end.' "$lesson" || { cat "$lesson"; fail "the table"; }
tool --check; code=$?; ends 0 "1 rungs compared"
printf '<!-- machine code: axpy.cuda.02_b -->\n<!-- end of machine code -->\n' >"$lesson"
tool --check; code=$?; ends 2 "labs/01_axpy/README.md:1: axpy.cuda.02_b has no recorded machine code"
printf '<!-- machine code: axpy.cuda.01_a -->\n' >"$lesson"
tool --check; code=$?; ends 2 "labs/01_axpy/README.md: a table of machine code has no line"
rm "$lesson"
# Lines that are none, records that are none.
for wrong in "HMMA; LDL" "HMMA; no" "hmma" "; no" "HMMA; no LDL; no STL"; do
  make_rung "sums." "$wrong"
  tool --check; code=$?; ends 2 "kernels/axpy/cuda/01_a.cu: SASS:"
done
make_rung "sums." "HMMA"
cp "$tmp/tree/reports/recorded/machine_code.csv" "$tmp/kept.csv"
echo "axpy.cuda.01_a,00,nvcc 13.0,HMMA" >>"$tmp/tree/reports/recorded/machine_code.csv"
tool --check; code=$?; ends 2 "machine_code.csv:3: not a line of"
echo "rung" >"$tmp/tree/reports/recorded/machine_code.csv"
tool --check; code=$?; ends 2 "machine_code.csv:1: the first line is"
cp "$tmp/kept.csv" "$tmp/tree/reports/recorded/machine_code.csv"
# Code that differs from the record's is compiled where it can be, and named where it cannot.
make_rung "sums, in other words." "HMMA; no LDL"
: >"$CALLS"
tool --check; code=$?; ends 0 "1 rungs compared"
[[ ! -s $CALLS ]] || fail "words changed, and it is compiled"
echo 'int g(int);' >"$tmp/tree/kernels/common/part.h"
tool --check; code=$?; ends 0 "1 rungs compared"
[[ $(wc -l <"$CALLS") -eq 1 ]] || fail "an included header changed, and it is not compiled"
KLAB_NVCC=none tool --check; code=$?; ends 0 "not compared, since their code changed and nvcc and nvdisasm, or g++ for x86, are not here: axpy.cuda.01_a"
KLAB_NVCC=none tool --write; code=$?; ends 2 "is not here"
printf '#!/bin/sh\necho "a.cu(3): error: no" >&2\nexit 1\n' >"$tmp/bin/nvcc"
tool --check; code=$?; ends 2 "error: no"
rm -r "$tmp/tree/kernels/axpy" "$tmp/tree/reports"
# A rung of the processor: kinds of instructions, by a compiler that says what the assembly is.
mkdir -p "$tmp/tree/kernels/axpy/cpu"
rung=$tmp/tree/kernels/axpy/cpu/02_b.cpp
make_rung() { printf '// axpy.cpu.02_b: a rung.\n//\n// CHANGE    sums.\n// CODE      %s\nint f() { return 1; }\n' "$1" >"$rung"; }
cat >"$tmp/bin/g++" <<'N'
#!/usr/bin/env bash
[[ $1 != --version ]] || { echo "g++ (Debian) 12.2.0"; exit; }
[[ $1 != -dumpmachine ]] || { echo "x86_64-linux-gnu"; exit; }
while [[ $# -gt 1 ]]; do [[ $1 == -o ]] && out=$2; shift; done
cat >"$out" <<'S'
	.text
_ZN4klab3runE:
	vmovss	(%rax,%rcx,4), %xmm0
	vmulss	4(%rdx), %xmm0, %xmm1
	vfmadd231ps	(%rdi), %ymm2, %ymm3
	vaddps	%ymm1, %ymm2, %ymm3
	vmovss	%xmm1, 8(%rsi,%rcx,4)
	vmovss	%xmm1, 16(%rsp)
	leaq	4(%rax), %rax
	call	expf@PLT
	jne	.L2
	jmp	.L3
_ZN4klab9RegistrarE:
	call	register_variant
	.section	.text.startup,"ax",@progbits
_GLOBAL__sub_I_run:
	call	other
S
N
chmod +x "$tmp/bin/g++"
export KLAB_MACHINE_CXX=$tmp/bin/g++
make_rung "CALL.expf VFMA.YMM; no VDIV"
tool --write; code=$?; ends 0 "1 rungs in"
grep -qF "g++ 12.2,CALL.expf=1 JUMP=1 LOAD=3 STACK=1 STORE=1 VADD.YMM=1 VFMA.YMM=1 VMUL=1" "$tmp/tree/reports/recorded/machine_code.csv" || { cat "$tmp/tree/reports/recorded/machine_code.csv"; fail "the processor's record"; }
tool --check; code=$?; ends 0 "1 rungs compared"
make_rung "VMUL; no CALL STACK"
tool --check; code=$?; ends 1 "kernels/axpy/cpu/02_b.cpp: has 1 CALL.expf, and its header says no CALL"
make_rung "vmul"
tool --check; code=$?; ends 2 "kernels/axpy/cpu/02_b.cpp: CODE:"
make_rung "VMUL"
echo 'int g();' >>"$rung"
KLAB_MACHINE_CXX=none tool --check; code=$?; ends 0 "g++ for x86, are not here: axpy.cpu.02_b"
KLAB_MACHINE_CXX=none tool --write; code=$?; ends 2 "g++ for x86"
tool --show axpy.cpu.02_b; code=$?; ends 0 "1 VFMA.YMM"
tool --show axpy.cpu.03_c; code=$?; ends 2 "axpy.cpu.03_c is no rung"
exit $((failures > 0))
