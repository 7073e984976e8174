#!/usr/bin/env python3
"""Checks that each function of CUDA's math API is there: those that the headers of an installed toolkit declare.

  math_api.py NVCC [--list] [--keep FILE]

Writes a program with a device function for each declaration, which calls it with the declared types, and compiles that by NVCC
(klab-nvcc). Exit code 1 if one does not compile, unless it is in ABSENT; 77 without a toolkit.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path("/usr/local/cuda/include")
HEADERS = ["crt/math_functions.h", "crt/device_functions.h", "crt/sm_70_rt.h", "crt/sm_80_rt.h", "crt/sm_90_rt.h", "device_atomic_functions.h",
           "sm_20_atomic_functions.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_atomic_functions.h", "sm_32_intrinsics.h",
           "sm_35_atomic_functions.h", "sm_60_atomic_functions.h", "sm_61_intrinsics.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
           "cuComplex.h", "vector_functions.h"]
# Functions that no program calls by these names, or that klab does not have.
ABSENT = [
    # of the compiler and of other systems
    r"_{1,2}(F|FD|LD|d|fd|ld)?(sign|Cosh|Sinh|Sinx|Log|dsign|Dsign|sign)", r"_(F|f|l|FD|fd|ld)?(d|D)?sign",
    r"__(finite|isfinite|isinf|isnan|signbit)[dfl]?", r"__pm[0-3]", r"__nv_(associate|memcpy_async|aligned_device_malloc).*",
    r"__(FLOAT|DOUBLE)_BITS", r"__cudaLaunchKernel_helper",
    # what klab cannot tell of an address, and addresses in several blocks at once
    r"__is(ClusterShared|Constant|GridConstant)", r"__cluster_map_shared_multicast",
    # 128 bits at once; scaling factors of Blackwell
    r"__u128Atomic.*", r".*e8m0.*",
    # refused by a sentence of the compiler
    r"atomicCAS\w*\(unsigned short.*",
]
TYPES = {"int", "long", "short", "char", "unsigned", "signed", "float", "double", "bool", "const"}
PARAMETER = re.compile(r"(\w+)\s*(?:\[\s*\])?\s*$")


def declarations(text):
    """Returns (name, result, parameters) of each function that a header declares."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#(?:[^\n\\]|\\\n|\\.)*$", "", text, flags=re.M)
    text = re.sub(r"\b(__THROW|__NOEXCEPT|__cdecl|_CRTIMP|__DEF_IF_HOST|__NV_\w+|noexcept|__noinline__|__cudart_builtin__|__device_builtin__|"
                  r"CUDARTAPI|static|extern|__inline__|inline|__forceinline__|__host__|__device__|constexpr)\b", " ", text)
    text = re.sub(r"__(?:WSB_)?DEPRECATED__\w*\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)", " ", text)
    text = re.sub(r"\b__\w*DECL__\b", " ", text)
    for match in re.finditer(r"(?:^|[;{}])\s*((?:(?:const|enum|unsigned|signed|long|short|int|struct)\s+)*[A-Za-z_]\w*[\s*]+)(\w+)\s*\(([^(){};]*)\)\s*(?=[;{]|$|\n)",
                             text, flags=re.M):
        result, name, parameters = (" ".join(part.split()) for part in match.groups())
        if name in ("if", "while", "return", "defined", "operator") or result in ("return", "else", "extern") or result.startswith("__CUDA_"):
            continue
        yield name, result, parameters


def calls():
    """Returns a device function for each declaration, as (name, source), without repetitions."""
    seen, list_of_calls = set(), []
    for header in HEADERS:
        path = INCLUDE / header
        if not path.exists():
            continue
        for name, result, parameters in declarations(path.read_text(errors="replace")):
            parameters = "" if parameters in ("", "void") else parameters
            parts = [re.sub(r"\s*=.*", "", part).strip() for part in parameters.split(",")] if parameters else []
            if any("..." in part for part in parts):
                continue
            types = []
            for part in parts:
                named = PARAMETER.search(part)
                has_name = named and named[1] not in TYPES and part[:named.start()].strip() not in ("", "const")
                bare = part[:named.start()].strip() if has_name else part
                types.append(bare + ("*" if part.endswith("]") else ""))
            key = (name, *types)
            signature = f"{name}({', '.join(types)})"
            if key in seen or any(re.fullmatch(pattern, name) or re.fullmatch(pattern, signature) for pattern in ABSENT):
                continue
            seen.add(key)
            takes = ", ".join(f"{t} a{k}" for k, t in enumerate(types))
            gives = ", ".join(f"a{k}" for k in range(len(types)))
            list_of_calls.append((signature, f"__device__ {result} call_{len(list_of_calls)}({takes}) {{ return {name}({gives}); }}"))
    return list_of_calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvcc")
    parser.add_argument("--list", action="store_true", help="print the declarations")
    parser.add_argument("--keep", type=pathlib.Path, help="write the program here, too")
    options = parser.parse_args()
    if not (INCLUDE / HEADERS[0]).exists():
        print("no toolkit with the math API's headers is installed")
        return 77
    functions = calls()
    if options.list:
        print("\n".join(name for name, _ in functions))
    if len(functions) < 1000:
        sys.exit(f"only {len(functions)} declarations are found in {INCLUDE}")
    head = ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>", "#include <cuda_fp8.h>", "#include <cuComplex.h>"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "calls.cu"
        source.write_text("\n".join(head + [text for _, text in functions]) + "\n")
        if options.keep:
            options.keep.write_text(source.read_text())
        done = subprocess.run([options.nvcc, "-std=c++17", "-c", "-Xcompiler", "-fsyntax-only", str(source), "-o", folder + "/calls.o"], capture_output=True, text=True, errors="replace")
    failed = {int(number) - len(head) - 1 for number in re.findall(r"calls\.cu:(\d+):(?:\d+:)? error", done.stderr + done.stdout)}
    for number in sorted(failed):
        print(f"FAILED: {functions[number][0]}: {functions[number][1]}")
    if done.returncode != 0 and not failed:
        print(f"FAILED: {(done.stderr + done.stdout)[:2000]}")
    print(f"{len(functions) - len(failed)} of {len(functions)} functions are there")
    return 1 if failed or done.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
