// Included before every work file by the command that compiles it. The variant that the file registers
// becomes the step's, wherever the file lies.
//
//   KLAB_STEP_PATH   "work/<op>/<backend>/NN_yours.cpp", which determines the variant's id
#pragma once

#include "harness/core/registrar.h"

#undef KLAB_VARIANT
#define KLAB_VARIANT(Contract, ...)                                                                  \
  const ::klab::Registrar<Contract> klab_registrar_##Contract(KLAB_STEP_PATH, __LINE__, __VA_ARGS__, \
                                                              HWY_TARGETS)
