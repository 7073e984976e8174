// Lab 16: the trainer. It has no op of its own; its variants are plans (klab train --plan).
#include "harness/lab.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "A hash-NeRF: the whole, made of the parts",
    .question = "What does each rung do for a program that people use?",
});

}  // namespace
}  // namespace klab
