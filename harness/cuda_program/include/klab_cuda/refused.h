// Names of the runtime that are not there, so that a program that has them compiles, and ends with a sentence where it uses one:
// memory of other processes and libraries.
#pragma once

#include <klab_cuda/absent.h>

typedef struct {
  char reserved[64];
} cudaIpcMemHandle_t;
typedef struct {
  char reserved[64];
} cudaIpcEventHandle_t;
#define cudaIpcMemLazyEnablePeerAccess 0x01
KLAB_ABSENT(cudaError_t, "memory of other processes", cudaIpcGetMemHandle)
KLAB_ABSENT(cudaError_t, "memory of other processes", cudaIpcOpenMemHandle)
KLAB_ABSENT(cudaError_t, "memory of other processes", cudaIpcCloseMemHandle)
KLAB_ABSENT(cudaError_t, "events of other processes", cudaIpcGetEventHandle)
KLAB_ABSENT(cudaError_t, "events of other processes", cudaIpcOpenEventHandle)
KLAB_ABSENT(cudaError_t, "memory of other libraries", cudaImportExternalMemory)
KLAB_ABSENT(cudaError_t, "semaphores of other libraries", cudaImportExternalSemaphore)
