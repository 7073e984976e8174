#include "harness/check/fault.h"

namespace klab {

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::wrong_value:
      return "wrong value";
    case Fault::whole_output:
      return "wrong as a whole";
    case Fault::non_finite:
      return "not finite";
    case Fault::not_written:
      return "never written";
    case Fault::out_of_bounds:
      return "out of bounds";
    case Fault::input_changed:
      return "input changed";
    case Fault::stale:
      return "stale output";
    case Fault::nondeterministic:
      return "not deterministic";
    case Fault::reference_gradient:
      return "reference gradient";
    case Fault::gradient:
      return "gradient";
    case Fault::own_forward:
      return "gradient against own forward";
    case Fault::threads:
      return "too many threads";
    case Fault::late:
      return "works after it has returned";
    case Fault::state:
      return "state left behind";
    case Fault::crashed:
      return "crash";
    case Fault::threw:
      return "exception";
    case Fault::ended:
      return "ends the process";
    case Fault::endless:
      return "does not end";
    case Fault::race:
      return "race of threads";
    case Fault::relation:
      return "outputs that contradict each other";
    case Fault::finding:
      return "CUDA finding";
  }
  return "?";
}

}  // namespace klab
