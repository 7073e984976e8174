/* As much of oneDNN 3's C interface as its peers call, with plain loops. test_onednn3.sh compiles it, with parts that fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 3
#endif
#ifndef ENGINE
#define ENGINE 0
#endif
#ifndef PRODUCT
#define PRODUCT 0
#endif

enum { kBf16 = 2, kF32 = 3, kS8 = 5 };
struct version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
struct desc {
  int ndims, type;
  int64_t dims[12], strides[12];
};
struct memory {
  struct desc desc;
  void* data;
};
struct how {
  struct desc a, b, c;
  int mask;
};
struct argument {
  int index;
  struct memory* memory;
};

static void* copy(const void* from, size_t bytes) { return memcpy(malloc(bytes), from, bytes); }

const struct version* dnnl_version(void) {
  static const struct version v = {MAJOR, 2, 1, "", 0, 0};
  return &v;
}
int dnnl_engine_create(void** engine, int kind, size_t index) {
  static int one;
  *engine = &one;
  return ENGINE != 0 ? ENGINE : kind == 1 && index == 0 ? 0 : 2;
}
int dnnl_stream_create(void** stream, void* engine, unsigned flags) {
  *stream = engine;
  return flags == 1 ? 0 : 2;
}
int dnnl_stream_wait(void* stream) { return stream == NULL; }
int dnnl_memory_desc_create_with_strides(void** desc, int ndims, const int64_t* dims, int type, const int64_t* strides) {
  struct desc d = {ndims, type, {0}, {0}};
  memcpy(d.dims, dims, sizeof d.dims);
  memcpy(d.strides, strides, sizeof d.strides);
  *desc = copy(&d, sizeof d);
  return 0;
}
int dnnl_memory_desc_destroy(void* desc) { return free(desc), 0; }
int dnnl_memory_create(void** memory, const void* desc, void* engine, void* data) {
  struct memory m = {*(const struct desc*)desc, data};
  (void)engine;
  *memory = copy(&m, sizeof m);
  return 0;
}
int dnnl_memory_destroy(void* memory) { return free(memory), 0; }
int dnnl_memory_set_data_handle(void* memory, void* data) { return ((struct memory*)memory)->data = data, 0; }
int dnnl_primitive_attr_create(void** attr) { return *attr = calloc(1, sizeof(int)), 0; }
int dnnl_primitive_attr_destroy(void* attr) { return free(attr), 0; }
int dnnl_primitive_attr_set_scales_mask(void* attr, int arg, int mask) {
  *(int*)attr = mask;
  return arg == 33 ? 0 : 2;
}
#ifndef NO_PRODUCT
int dnnl_matmul_primitive_desc_create(void** how, void* engine, const void* a, const void* b, const void* bias, const void* c,
                                      const void* attr) {
  struct how h = {*(const struct desc*)a, *(const struct desc*)b, *(const struct desc*)c, *(const int*)attr};
  (void)engine;
  *how = copy(&h, sizeof h);
  return PRODUCT != 0 ? PRODUCT : bias == NULL ? 0 : 2;
}
#endif
int dnnl_primitive_desc_destroy(void* how) { return free(how), 0; }
int dnnl_primitive_create(void** primitive, const void* how) { return *primitive = copy(how, sizeof(struct how)), 0; }
int dnnl_primitive_destroy(void* primitive) { return free(primitive), 0; }

static double element(const struct memory* m, int64_t row, int64_t column) {
  const int64_t at = row * m->desc.strides[0] + column * m->desc.strides[1];
  if (m->desc.type == kF32) return ((const float*)m->data)[at];
  if (m->desc.type == kS8) return ((const int8_t*)m->data)[at];
  const uint32_t bits = (uint32_t)((const uint16_t*)m->data)[at] << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

int dnnl_primitive_execute(const void* primitive, void* stream, int count, const struct argument* list) {
  const struct how* h = primitive;
  const struct memory *a = NULL, *b = NULL, *c = NULL, *scale = NULL;
  for (int i = 0; i < count; ++i) {
    if (list[i].index == 1) a = list[i].memory;
    if (list[i].index == 33) b = list[i].memory;
    if (list[i].index == 17) c = list[i].memory;
    if (list[i].index == (4096 | 33)) scale = list[i].memory;
  }
  if (stream == NULL || a == NULL || b == NULL || c == NULL || (scale == NULL) != (h->mask == 0)) return 2;
  for (int64_t i = 0; i < h->c.dims[0]; ++i)
    for (int64_t j = 0; j < h->c.dims[1]; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < h->a.dims[1]; ++p) sum += element(a, i, p) * element(b, p, j);
      ((float*)c->data)[i * h->c.strides[0] + j * h->c.strides[1]] =
          (float)(scale == NULL ? sum : (float)sum * ((const float*)scale->data)[j]);
    }
  return 0;
}
