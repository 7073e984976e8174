// A step of the learner's path: one rung of a ladder, to be derived again from its parent.
//
// There is no list of steps: every rung with a parent is one. The change is described in the rung's header;
// the topic and the hints are in the lab's page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"

namespace klab {

struct Step {
  const Lab* lab = nullptr;
  const LabOp* op = nullptr;
  const Variant* parent = nullptr;
  const Variant* own = nullptr;  // klab's answer
  std::string name;              // name to type: "03.02", "03.cuda.02", "03.compact.02"
  std::string work;              // "03_transpose/02.cpp", relative to the work folder

  bool cuda() const { return own->backend == "cuda"; }
};

/// Returns all steps in the order of labs, ops, CPU before CUDA, and rungs.
const std::vector<Step>& steps();

/// Returns the steps of one lab, in order.
std::vector<const Step*> steps_of(const Lab& lab);

/// Finds a step by "03.02", "transpose.cuda.02", "03.cuda.02_shared_tile", "matmul_bwd.02", a variant's id,
/// or a rung's number after a lab's. Throws NotFound, which lists the candidates.
const Step& find_step(const std::string& what);

/// Returns the next step in its lab; nullptr at the end.
const Step* next_step(const Step& step);

/// Returns $KLAB_WORK, or work/ in klab's folder. Throws std::runtime_error if there is neither.
std::filesystem::path work_folder();

/// Returns the id of a work file's variant: "transpose.cuda.02_yours".
std::string work_id(const Step& step);

}  // namespace klab
