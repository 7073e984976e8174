// CUDA's language as C++: rewrites, text that stays, and constructs refused with their place.
// ctest: sanitized
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/cuda_compiler/options.h"
#include "harness/cuda_compiler/ptx.h"
#include "harness/cuda_compiler/rewrite.h"

namespace klab::cuda_compiler {
namespace {

bool system_file(const std::string& file) { return file.starts_with("/usr/"); }

Rewritten of(const std::string& text) { return rewrite("# 1 \"a.cu\"\n" + text, system_file); }

std::string refusal(const std::string& text) {
  try {
    of(text);
  } catch (const Unsupported& e) {
    return e.what();
  }
  return "";
}

::testing::AssertionResult holds(const Rewritten& r, const std::string& wanted) {
  if (r.text.find(wanted) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << wanted << "\" in:\n" << r.text;
}

int lines(const std::string& text) { return int(std::count(text.begin(), text.end(), '\n')); }

TEST(Rewrite, LaunchesKeepTheirTemplateArgumentsAndLines) {
  const std::string text =
      "void f() {\n  ns::k<float, (3 > 2)><<<dim3(2,\n 3), n >> 1, 0, s>>>(a,\n b);\n  after();\n}\n";
  const Rewritten r = of(text);
  EXPECT_TRUE(holds(r, "(::klab::program::configure(dim3(2, 3), n >> 1, 0, s), ns::k<float, (3 > 2)>"));
  EXPECT_EQ(r.launches, 1);
  EXPECT_EQ(lines(r.text), lines(text) + 1);
  EXPECT_EQ(lines(r.text.substr(0, r.text.find("after"))), lines(text.substr(0, text.find("after"))) + 1);
}

TEST(Rewrite, LaunchesThroughPointersTablesAndMembers) {
  EXPECT_TRUE(holds(of("void f() { (*p)<<<1, 2>>>(x); }"), "(::klab::program::configure(1, 2), (*p)(x))"));
  EXPECT_TRUE(holds(of("void f() { t[i]<<<1, 2>>>(x); }"), "(::klab::program::configure(1, 2), t[i](x))"));
  EXPECT_TRUE(holds(of("void f() { o->k<<<1, 2>>>(x); }"), "(::klab::program::configure(1, 2), o->k(x))"));
  EXPECT_TRUE(holds(of("void f() { if (y) k<<<1, 2>>>(x); else k<<<3, 4>>>(x); }"),
                    "else (::klab::program::configure(3, 4), k(x))"));
}

TEST(Rewrite, PragmasOfMacrosGo) {
  // nvcc takes a macro's #pragma unroll for a pragma. g++ -E leaves it within the line.
  const Rewritten r =
      of("__device__ int f(int n) {\n  #pragma unroll\n  for (;;) n += 1;\n   #pragma unroll (4)\n"
         "  for (;;) n += 2;  #pragma unroll 8\n  for (;;) n += 3;\n#pragma once\n}\n");
  EXPECT_EQ(r.text.find("unroll"), std::string::npos) << r.text;
  EXPECT_EQ(r.text.find("(4)"), std::string::npos) << r.text;
  EXPECT_TRUE(holds(r, "for (;;) n += 3;"));
  EXPECT_TRUE(holds(r, "#pragma once"));
}

TEST(Rewrite, FoldsOverShiftsStay) {
  const std::string text =
      "template <class... T> __device__ auto f(T... x) { return (x << ... << 1) + (x >> ...); }\n";
  EXPECT_EQ(of(text).text.find("Shift()"), std::string::npos) << of(text).text;
}

TEST(Rewrite, UnknownPtxOfAHeaderIsRefusedWhenItIsReached) {
  const std::string unknown = "__device__ void f() { asm volatile(\"bogus.u32 %0;\" ::\"r\"(1)); }\n";
  EXPECT_NE(refusal(unknown).find("a.cu:1: the inline PTX \"bogus.u32 %0"), std::string::npos)
      << refusal(unknown);
  EXPECT_TRUE(holds(of("# 1 \"library/a.h\" 1\n" + unknown + "# 2 \"a.cu\" 2\nint x;\n"),
                    "not_known_ptx(\"bogus.u32 %0"));
}

TEST(Rewrite, KernelsBecomeABodyAndALauncher) {
  const Rewritten r =
      of("template <typename T, int n = 2>\n__global__ void k(const T* a, int (*f)(int), int) { a[n]; }");
  EXPECT_EQ(r.kernels, 1);
  EXPECT_TRUE(holds(r, "static void k__klab1(const T* a, int (*f)(int), int) { a[n]; }"));
  EXPECT_TRUE(
      holds(r,
            "void k(const T* a, int (*f)(int), int klab_p2) { ::klab::program::launch(0, &k__klab1<T, n>, "
            "a, f, klab_p2); }"));
  EXPECT_TRUE(holds(of("__global__ void k(half2 const *const a, size_t const n, const Foo, Bar const) {}"),
                    "&k__klab1, a, n, klab_p2, klab_p3);"));
  const Rewritten bounds = of("extern \"C\" __global__ void __launch_bounds__(64, 2) k(int a) {}");
  EXPECT_TRUE(holds(bounds, "extern \"C\" void k(int a) { ::klab::program::launch(64, &k__klab1, a); }"));
  const Rewritten special = of("template <> __global__ void k<float>(float* a) {}");
  EXPECT_TRUE(
      holds(special, "template <> void k<float>(float* a) { ::klab::program::launch(0, &k__klab1, a); }"));
  const Rewritten pack = of("template <class... A> __global__ void k(A... a) {}");
  EXPECT_TRUE(holds(pack, "::klab::program::launch(0, &k__klab1<A...>, a...);"));
  EXPECT_EQ(of("__global__ void k(int a);").kernels, 0);
}

TEST(Rewrite, SharedMemory) {
  EXPECT_TRUE(holds(of("__global__ void k() { extern __shared__ float4 s[]; }"),
                    "float4 (&s)[] = *static_cast<float4 (*)[]>(::klab::simt::dynamic_shared());"));
  EXPECT_TRUE(holds(of("extern __shared__ __align__(16) int s[];\n"), "__asm__(\"klab_dynamic_shared\");"));
  EXPECT_TRUE(
      holds(of("__device__ void f() { __shared__ volatile int a[3]; }"), "static thread_local __constinit"));
  EXPECT_EQ(of("__device__ void f() { static __shared__ int a; }").text.find("static static"),
            std::string::npos);
}

TEST(Rewrite, KeepsDefaultArgumentsOfKernels) {
  EXPECT_TRUE(holds(of("__global__ void k(int* a, int b = 3) {}"),
                    "void k(int* a, int b = 3) { ::klab::program::launch(0, &k__klab1, a, b); }"));
}

TEST(Rewrite, ShiftsInDeviceCodeGoThroughKlab) {
  const auto body = [](const std::string& text) { return of("__device__ void f() { " + text + " }").text; };
  const std::string left = "<< ::klab::program::Shift() <<", right = ">> ::klab::program::Shift() >>";
  EXPECT_NE(body("y = x << (32 - n);").find("x " + left), std::string::npos);
  EXPECT_NE(body("y = x >> n;").find("x " + right), std::string::npos);
  EXPECT_NE(body("x >>= n;").find("x >>= ::klab::program::Shift() >>="), std::string::npos);
  EXPECT_NE(body("if (a < b && c < d >> e) g();").find("d " + right), std::string::npos);
  for (const char* text : {"y = x << 5;", "std::vector<std::vector<int>> v;", "A<B<C>> v;", "cout << x;",
                           "bool operator<<(int);"})
    EXPECT_EQ(body(text).find("Shift()"), std::string::npos) << text;
  EXPECT_EQ(of("void f() { y = x << n; }").text.find("Shift()"), std::string::npos);
}

TEST(Rewrite, WatchesStoresOfWhatFunctionsReturn) {
  const auto body = [](const std::string& text) { return of("__device__ void f() { " + text + " }").text; };
  for (const char* text :
       {"s[i] = load(x);", "*p = load(x);", "for (;;) s[i] = a + b;", "if (c) q->v = g<2>(x);"})
    EXPECT_NE(body(text).find("= ::klab::program::value("), std::string::npos) << text;
  for (const char* text : {"T v = load(x);", "auto& v = load(x);", "T* p = load(x);", "p = 0;", "v = s.bits;",
                           "if (a == load(x)) g();", "a += load(x);", "v = {load(x)};"})
    EXPECT_EQ(body(text).find("value("), std::string::npos) << text;
}

TEST(Rewrite, KnowsWhetherATypeHasAnAlignment) {
  for (const char* text : {"struct __align__(16) A { int x; };", "typedef struct alignas(8) { int x; } A;",
                           "struct A { int x; } __attribute__((aligned(16)));", "class alignas(16) A {};"})
    EXPECT_TRUE(of(text).aligned_types) << text;
  for (const char* text :
       {"__global__ void k() { __shared__ __align__(16) int s[4]; }", "struct A { int x; };",
        "struct A { int x; } __attribute__((packed));", "__device__ __align__(8) int x;"})
    EXPECT_FALSE(of(text).aligned_types) << text;
}

TEST(Rewrite, VariablesOfTheDeviceHaveMemoryThatNothingMayAccessBetweenThem) {
  const std::string text = of("__device__ int a[4];\n__device__ float b = 1;\n__device__ int c;\n").text;
  const auto at = [&](const std::string& t) { return text.find(t); };
  EXPECT_LT(at("klab_guard1["), at("int a[4];"));
  EXPECT_LT(at("int a[4];"), at("klab_guard2["));
  EXPECT_LT(at("klab_guard3["), at("float b = 1;"));  // the first with a value
  EXPECT_LT(at("float b = 1;"), at("klab_guard4["));
  EXPECT_LT(at("int c;"), at("klab_guard5["));
  EXPECT_EQ(at("klab_guard6["), std::string::npos);
  EXPECT_TRUE(holds(of("__device__ int a = f(1, 2), b[4] = {1, 2};"), "f(1, 2), klab_guard2["));
  EXPECT_EQ(lines(text), 4);
  for (const char* other : {"__device__ int f();", "struct S { static __device__ int x; };",
                            "extern __device__ int x;", "__device__ const int x = 1;", "__constant__ int x;"})
    EXPECT_EQ(of(other).text.find("klab_guard"), std::string::npos) << other;
}

TEST(Rewrite, MarksComputationsWithWhatNothingSets) {
  const auto body = [](const std::string& text) { return of("__device__ void f() { " + text + " }").text; };
  const std::string used = "(::klab::program::used(v, \"v\"), v)";
  for (const char* text :
       {"int v; v += x;", "int v; v++;", "int v; ++v;", "T v; y = v * 2;", "float v; y = x - v;",
        "int v; if (v < n) g();", "int v; if (x >= v) g();", "int v; if (v) g();", "int v; y += v;",
        "int v; if (x == v) g();", "T v; for (;;) { v += atomicAdd(p, v); }", "int v; y = v ? 1 : 2;"})
    EXPECT_NE(body(text).find(used), std::string::npos) << body(text);
  EXPECT_NE(body("int v[4]; v[k] += x;").find("(::klab::program::used(v[k], \"v\"), v[k]) +="),
            std::string::npos);
  EXPECT_NE(body("Pair v; v.a -= x;").find("(::klab::program::used(v.a, \"v\"), v.a) -="), std::string::npos);
  for (const char* text :
       {"int v; if (c) v = 1; v += x;", "int v; g(v); v += x;", "int v; g(&v); v += x;",
        "int v[4]; p = v; v[0] += x;", "Pair v; v.begin(); v.a += x;", "int v; for (v = 0; v < n; ++v) g();",
        "int v; auto& r = v; v += x;", "int v; asm(\"mov.u32 %0, 1;\" : \"=r\"(v)); v += x;", "int v; y = v;",
        "int v; { int v = 3; v += x; }", "int v; y = x | v;", "int v; y = x << v;", "int v; q.v += x;",
        "int v = 1; v += x;", "static int v; v += x;"})
    EXPECT_EQ(body(text).find("::used("), std::string::npos) << body(text);
  EXPECT_EQ(of("void f() { int v; v += x; }").text.find("::used("), std::string::npos);
  EXPECT_EQ(body("{ int v; g(); } v += x;").find("::used("), std::string::npos);
}

TEST(Rewrite, WatchesCopiesOfAFewBytesInDeviceCode) {
  const auto body = [](const std::string& text) { return of("__device__ void f() { " + text + " }"); };
  EXPECT_TRUE(holds(body("memcpy(a, b, 20);"), "{ klab_watched_memcpy(a, b, 20); }"));
  EXPECT_TRUE(holds(body("std::memset(a, 0, 20);"), "klab_watched_memset(a, 0, 20);"));
  EXPECT_EQ(body("std::memset(a, 0, 20);").text.find("std::klab"), std::string::npos);
  for (const char* text : {"pool.memcpy(a, b);", "pool->memcpy(a, b);", "mine::memcpy(a, b);", "g(memcpy);"})
    EXPECT_EQ(body(text).text.find("klab_watched"), std::string::npos) << text;
  EXPECT_EQ(of("void f() { memcpy(a, b, 20); }").text.find("klab_watched"), std::string::npos);
}

TEST(Rewrite, DeclaresKernelsThatLaunchThemselvesFirst) {
  const Rewritten plain = of("__global__ void k(int n = 2) { k<<<1, 1>>>(); }");
  EXPECT_TRUE(holds(plain, " void k(int n = 2);"));
  EXPECT_TRUE(holds(plain, " void k(int n) { ::klab::program::launch("));
  const Rewritten generic = of("template <class T = int> __global__ void k(T* p) { k<T><<<1, 1>>>(p); }");
  EXPECT_TRUE(holds(generic, " template <class T = int>  void k(T* p);"));
  EXPECT_TRUE(holds(generic, " template <class T>  void k(T* p) { ::klab::program::launch("));
  EXPECT_EQ(of("__global__ void k(int n) { f(n); }").text.find("void k(int n);"), std::string::npos);
}

TEST(Rewrite, MarksLocalsThatAreDeclaredWithoutAValue) {
  const auto body = [](const std::string& text) { return of("__device__ void f() { " + text + " }"); };
  const auto fills = [](const std::string& name) { return "::klab::program::unset(" + name + ");"; };
  for (const char* text :
       {"Hit v;", "ns::Hit v;", "P<int, 2> v;", "unsigned long v;", "float v[4][4];", "typename T::type v;",
        "if (c) { int v; }", "alignas(16) float v[4];", "float a, v;"})
    EXPECT_TRUE(holds(body(text), fills("v"))) << text;
  EXPECT_TRUE(holds(body("float a, b[2], c;"), fills("a") + " " + fills("b") + " " + fills("c")));
  EXPECT_TRUE(holds(body("float a = f(1, 2), b, c = 2, d[2];"), fills("b") + " " + fills("d")));
  EXPECT_EQ(body("float a = 1, b, c = 2;").text.find("unset(c"), std::string::npos);
  for (const char* text : {"int v = 3;",
                           "Hit v{};",
                           "Hit v(3);",
                           "return v;",
                           "goto v;",
                           "static int v;",
                           "const T v;",
                           "v;",
                           "delete v;",
                           "T* v;",
                           "T& v;",
                           "a * v;",
                           "struct v;",
                           "using a::v;",
                           "typedef int v;",
                           "else int v;",
                           "a = v;",
                           "extern float v[];",
                           "struct S { int v; } s;",
                           "for (i = 0; i < v; ++i) g();",
                           "b < v;",
                           "a = b, v;",
                           "float a, v = x < y;",
                           "int v, *p;",
                           "__shared__ float v;",
                           "a < b && c > v;"})
    EXPECT_EQ(body(text).text.find("unset"), std::string::npos) << text;
  EXPECT_EQ(of("void f() { Hit v; }").text.find("unset"), std::string::npos);
  EXPECT_EQ(of("struct S { int v; __device__ void f(); };").text.find("unset"), std::string::npos);
}

TEST(Rewrite, MarksCallsWhoseErrorIsDropped) {
  const auto body = [](const std::string& text) { return of("void f() { " + text + " }").text; };
  for (const char* text : {"cudaFree(p);", "if (x) cudaFree(p);", "cudaMalloc<int>(&p, 4);"})
    EXPECT_NE(body(text).find("::klab::program::Unasked(\"cuda"), std::string::npos) << text;
  for (const char* text : {"e = cudaFree(p);", "check(cudaFree(p));", "(void)cudaFree(p);",
                           "cudaGetLastError();", "return cudaFree(p);", "cudaStream_t(s);"})
    EXPECT_EQ(body(text).find("Unasked"), std::string::npos) << text;
}

TEST(Rewrite, VariablesOfTheDevice) {
  EXPECT_TRUE(holds(of("__device__ int a = 3;"), "section(\"klab_device\")"));
  EXPECT_TRUE(holds(of("__device__ float big[1 << 20];"), "klab_device_zero"));
  EXPECT_TRUE(holds(of("__constant__ float c[4];"),
                    "static __attribute__((section(\"klab_constant\"))) float c[4];"));
  EXPECT_TRUE(holds(of("__device__ float f(float);"), " float f(float);"));
  EXPECT_EQ(of("__device__ const int t[] = {1};").text.find("section"), std::string::npos);
}

TEST(Rewrite, LeavesStringsAndSystemHeadersAlone) {
  const std::string text =
      "const char* s = \"k<<<1, 2>>>(x) __shared__\"; auto r = R\"x(__global__ )\" )x\"; char q = '\"';\n"
      "#pragma unroll __shared__\n";
  EXPECT_TRUE(holds(of(text), text));
  const std::string foreign =
      "# 1 \"/usr/include/x.h\" 1 3\n__attribute__((__noinline__)) void f(); int __shared__;\n";
  EXPECT_TRUE(holds(of(foreign), foreign));
}

TEST(Rewrite, PassesTheSizeOfClustersToLaunches) {
  const Rewritten r =
      of("__global__ void __cluster_dims__(2, kY, 1) __launch_bounds__(64) k(int* x) { *x = 1; }");
  EXPECT_TRUE(holds(r, "launch(::klab::program::Bounds(64, 2, kY, 1), &k__klab1, x);"));
  EXPECT_EQ(r.text.find("__cluster_dims__"), std::string::npos) << r.text;
  EXPECT_TRUE(holds(of("__global__ void __cluster_dims__(2) k();"), "void  k();"));
}

TEST(Rewrite, NamesConstantParametersOfKernels) {
  const Rewritten r =
      of("__global__ void k(const __grid_constant__ CUtensorMap m, CUtensorMap n) { f(&m); }");
  EXPECT_TRUE(holds(r, "grid_constant(&m, sizeof m);")) << r.text;
  EXPECT_FALSE(holds(r, "grid_constant(&n")) << r.text;
}

TEST(Rewrite, RefusesWithFileAndLine) {
  EXPECT_EQ(
      refusal("# 7 \"a.cu\"\n__device__ void f() {\n  asm(\"tcgen05.fence;\");\n}").rfind("a.cu:8: ", 0), 0U);
  EXPECT_NE(refusal("__global__ void k() {\n  k<<<1, 1(); }").find("a.cu:2: "), std::string::npos);
  EXPECT_EQ(refusal("__cluster_dims__(2, 1, 1) __global__ void k() {}"), "");
  EXPECT_NE(refusal("void f() { k<<<1, 2(x); }"), "");
  EXPECT_EQ(
      refusal(
          "__device__ unsigned f() { unsigned l; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); return l; }"),
      "");
}

TEST(Ptx, IsTranslatedStatementByStatement) {
  const std::string set = "::klab::program::ptx::put($0$, ";
  EXPECT_EQ(translate_ptx("mov.u32 %0, %laneid;"),
            set + "::klab::program::ptx::get<unsigned>(::klab::simt::lane_index())); ");
  EXPECT_EQ(translate_ptx(""), "");
  EXPECT_EQ(translate_ptx("// nothing\n"), "");
  // A scope with its own register, and a predicate.
  const std::string scope =
      translate_ptx("{\n .reg .pred p;\n setp.ne.b32 p, %0, 0;\n @p st.global.u32 [%1+4], %2;\n}");
  EXPECT_NE(scope.find("bool klab_ptx_p{};"), std::string::npos) << scope;
  EXPECT_NE(scope.find("if (klab_ptx_p) {"), std::string::npos) << scope;
  EXPECT_NE(scope.find("(4)"), std::string::npos) << scope;
  EXPECT_NE(translate_ptx("cp.async.cg.shared.global [%0], [%1], 16;").find("copy_async("),
            std::string::npos);
  EXPECT_NE(translate_ptx("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];")
                .find("load_matrix(klab_r, 2, true"),
            std::string::npos);
  EXPECT_NE(translate_ptx(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                "{%10,%11,%12,%13};")
                .find("{16, 8, 16, ::klab::program::Element::bf16"),
            std::string::npos);
}

TEST(Ptx, TranslatesTheWaitLoopOfABarrier) {
  const std::string code = translate_ptx(
      "{\n.reg .pred P1;\nLAB_WAIT_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra.uni DONE;\nbra.uni "
      "LAB_WAIT_%=;\nDONE:\n}");
  EXPECT_TRUE(code.starts_with("__label__ klab_label_LAB_WAIT___, klab_label_DONE; ")) << code;
  EXPECT_NE(code.find("klab_label_LAB_WAIT___:; "), std::string::npos) << code;
  EXPECT_NE(code.find("if (klab_ptx_P1) { goto klab_label_DONE; }"), std::string::npos) << code;
  EXPECT_NE(code.find("mbarrier_wait_parity("), std::string::npos) << code;
}

TEST(Ptx, TranslatesProductsAndCopiesOfHopper) {
  const auto has = [](const std::string& code, const std::string& word) {
    EXPECT_NE(code.find(word), std::string::npos) << code;
  };
  const std::string product = translate_ptx(
      "{.reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, "
      "%3}, %4, "
      "%5, p, 1, -1, 0, 1;}");
  has(product, "WgmmaType::bf16, ::klab::simt::WgmmaType::bf16, ::klab::simt::WgmmaSum::f32, 8, ");
  has(product, "false, true, false, true, false}, {klab_d, nullptr}, nullptr, ");
  // Immediates may be operands of the statement.
  has(translate_ptx(
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, %6, %7, %8, %9, %10;"),
      "get<int>($10$) == 1, false}, {klab_d, nullptr}");
  has(translate_ptx(
          "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1;"),
      "klab_a, 0, ");
  has(translate_ptx(
          "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
          "%3, %4}], [%5];"),
      "tensor_load(");
  has(translate_ptx("cp.async.bulk.wait_group.read 1;"), ", true);");
  has(translate_ptx("cp.async.bulk.wait_group 1;"), ", false);");
  has(translate_ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"), "Arrival::expect");
  has(translate_ptx("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], 2;"),
      "Arrival::no_complete");
  has(translate_ptx(
          "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
          "{%2, %3, %4, %5}], [%6], {%7, %8};"),
      "tensor_load_im2col(");
  has(translate_ptx(
          "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3}], [%4];"),
      "tensor_store_im2col(");
  has(translate_ptx("bar.sync 1, 64;"), "named_barrier(");
  has(translate_ptx("bar.sync 0;"), "__syncthreads();");
  has(translate_ptx("fence.proxy.async.shared::cta;"), "fence_proxy();");
  has(translate_ptx("setmaxnreg.dec.sync.aligned.u32 40;"), "set_registers(");
}

TEST(Ptx, TranslatesClustersAndTheirMemory) {
  const auto has = [](const std::string& code, const std::string& word) {
    EXPECT_NE(code.find(word), std::string::npos) << code;
  };
  has(translate_ptx("ld.acquire.gpu.global.u32 %0, [%1];"), "load_strong<unsigned>(");
  has(translate_ptx("ld.acquire.gpu.global.u32 %0, [%1];"), "; __threadfence();");
  has(translate_ptx("st.release.cta.global.u64 [%0], %1;"), "__threadfence_block(); ");
  has(translate_ptx("st.relaxed.gpu.v2.u64 [%0], {%1, %2};"), "store_flag(");
  has(translate_ptx("atom.acq_rel.gpu.add.u32 %0, [%1], %2;"), "__threadfence(); ");
  EXPECT_EQ(translate_ptx("ld.relaxed.gpu.global.u32 %0, [%1];").find("__threadfence"), std::string::npos);
  has(translate_ptx("mapa.shared::cluster.u32 %0, %1, %2;"), "map_shared_address(");
  has(translate_ptx("mapa.u64 %0, %1, %2;"), "map_shared(reinterpret_cast<void*>(");
  has(translate_ptx("getctarank.shared::cluster.u32 %0, %1;"), "rank_of_shared(::klab_shared_pointer(");
  has(translate_ptx("barrier.cluster.arrive.release.aligned;"), "cluster_arrive(true, ");
  has(translate_ptx("barrier.cluster.arrive.relaxed.aligned;"), "cluster_arrive(false, ");
  has(translate_ptx("barrier.cluster.wait.acquire.aligned;"), "cluster_wait(");
  has(translate_ptx("mov.u32 %0, %cluster_ctaid.y;"), "block_in_cluster(1)");
  has(translate_ptx("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"), "Passes::to_cluster)");
  has(translate_ptx("mbarrier.arrive.shared::cluster.b64 _, [%0];"), "Passes::to_cluster)");
  has(translate_ptx("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];"), "Passes::to_block)");
  has(translate_ptx("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];"), "Passes::nothing)");
  has(translate_ptx("mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %0, [%1], %2;"), "(), false)");
  has(translate_ptx("mbarrier.try_wait.parity.shared::cta.b64 %0, [%1], %2;"), "(), true)");
  has(translate_ptx("fence.mbarrier_init.release.cluster;"), "fence_mbarrier_init()");
  has(translate_ptx("ld.shared::cluster.f32 %0, [%1];"), "*static_cast<float*>(::klab_shared_pointer(");
  has(translate_ptx("atom.shared::cluster.add.u32 %0, [%1], %2;"), "atomicAdd(");
  has(translate_ptx(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [%0], {%1, %2}, [%3];"),
      "Neighbors<int, 2>{{");
  has(translate_ptx(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
          "[%1], %2, [%3], %4;"),
      "bulk_load_multicast(");
  has(translate_ptx("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
                    "multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"),
      "tensor_load_multicast(");
  has(translate_ptx(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"),
      "bulk_copy_to_peer(");
  has(translate_ptx(
          "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], "
          "[%1], %2, [%3];"),
      "bulk_reduce_to_peer(::klab::simt::BulkReduce::add, ::klab::simt::BulkType::u32, ");
  has(translate_ptx(
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%0], %1, "
          "[%2];"),
      "reduce_async(::klab::simt::BulkReduce::min, ::klab::simt::BulkType::s32, ");
  has(translate_ptx("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;"),
      "BulkReduce::add, ::klab::simt::BulkType::bf16, ");
  has(translate_ptx(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [%0, {%1, %2}], [%3];"),
      "tensor_reduce(::klab::simt::BulkReduce::max, ");
  has(translate_ptx("red.global.add.noftz.bf16x2 [%0], %1;"), "add_pair(static_cast<unsigned*>(");
  has(translate_ptx("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};"),
      "add_halves(reinterpret_cast<void*>(");
  has(translate_ptx("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;"),
      "MapField::global_dim, ");
  has(translate_ptx("griddepcontrol.wait;"), "wait_for_launch_before();");
  has(translate_ptx("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"),
      "store_matrix(klab_r, 2, true, ");
}

TEST(Ptx, NamesUnknownInstructions) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      translate_ptx(text);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refused("add.u32 %0, %1, %2; tcgen05.wait::ld.sync.aligned;"), "tcgen05.wait::ld.sync.aligned");
  EXPECT_NE(
      refused("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, %6, 0, 1, 1, 1;"),
      "");
  EXPECT_NE(
      refused("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, %6, 1, 1, 0, 0;"),
      "");
  EXPECT_NE(
      refused("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
              "{%2, %3, %4, %5}], [%6], {%7};"),
      "");
  EXPECT_NE(
      refused("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%0], [%1, "
              "{%2, %3, %4, %5}], [%6], {%7, %8};"),
      "");
  EXPECT_NE(refused("mbarrier.init.shared::cluster.b64 [%0], %1;"), "");
  EXPECT_NE(refused("mbarrier.arrive_drop.noComplete.shared::cta.b64 %0, [%1], 1;"), "");
  EXPECT_NE(refused("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;"), "");
  EXPECT_EQ(refused("add.rz.f32 %0, %1, %2;"), "add.rz.f32 %0, %1, %2");
  EXPECT_NE(refused("mov.u32 %0, %envreg3;"), "");
  EXPECT_EQ(refused("bra done;"), "bra done: the label is not in this statement");
  EXPECT_NE(refused("@p bra done; done: add.u32 %0, %1, %2;"), "");  // p is not declared
  EXPECT_NE(refused("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3}, %4, 0x0;"),
            "");
  EXPECT_NE(refused("ld.global.u32 %0;"), "");
}

TEST(Options, MatchNvcc) {
  const Options o = parse_options({"-c", "a.cu", "b.cpp", "-gencode", "arch=compute_70,code=sm_70",
                                   "-arch=sm_86", "-Xcompiler", "-fPIC,-Wall", "-Idir", "-D", "X=1",
                                   "-lineinfo", "-O3", "-std=c++14", "-lm", "x.o"});
  EXPECT_EQ(o.stop, Options::Stop::object);
  ASSERT_EQ(o.inputs.size(), 2U);
  EXPECT_TRUE(o.inputs[0].cuda && !o.inputs[1].cuda);
  EXPECT_EQ(o.architecture, 860);
  EXPECT_FALSE(o.all_features);
  EXPECT_TRUE(parse_options({"a.cu"}).all_features);
  EXPECT_TRUE(parse_options({"-gencode", "arch=compute_90a,code=sm_90a", "a.cu"}).all_features);
  EXPECT_TRUE(parse_options({"-arch=sm_90a", "-gencode=arch=compute_80,code=sm_80", "a.cu"}).all_features);
  EXPECT_FALSE(parse_options({"-arch=sm_90", "a.cu"}).all_features);
  EXPECT_EQ(o.preprocess, (std::vector<std::string>{"-Idir", "-DX=1"}));
  EXPECT_EQ(o.host, (std::vector<std::string>{"-fPIC", "-Wall"}));
  EXPECT_EQ(o.link, (std::vector<std::string>{"-lm", "x.o"}));
  EXPECT_TRUE(parse_options({"-x", "cu", "a.cpp"}).inputs[0].cuda);
  EXPECT_EQ(o.standard, "gnu++17");
  EXPECT_EQ(parse_options({"-std=c++20", "a.cu"}).standard, "gnu++20");
  EXPECT_EQ(parse_options({"a.cu", "-std", "c++03"}).standard, "gnu++17");
  EXPECT_TRUE(parse_options({"a.cu", "-lcublas", "-lnvToolsExt"}).link.empty());
  EXPECT_TRUE(parse_options({"--help"}).help);
  EXPECT_THROW(parse_options({"a.ptx"}), std::invalid_argument);
  EXPECT_THROW(parse_options({"a.cu", "-ptx"}), std::invalid_argument);
  EXPECT_THROW(parse_options({"a.cu", "-o"}), std::invalid_argument);
}

}  // namespace
}  // namespace klab::cuda_compiler
