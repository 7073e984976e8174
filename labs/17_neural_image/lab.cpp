// Lab 17: one photograph. It has no op of its own: `klab fit-image` runs it.
#include "harness/core/lab.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "A neural image: the pipeline in two dimensions",
    .question = "How many numbers does a photograph need, and how fast can they be found?",
    .commands = {"fit-image"},
});

}  // namespace
}  // namespace klab
