// A step of the learner's path: one rung of a ladder, to be made again from its parent.
//
// Steps are not listed anywhere: every rung that has a parent is one. What the change is stands in the rung's header,
// what it is about and the hints in the lab's page.
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
  std::string name;              // "03.02", "03.cuda.02", "03.compact.02": what to type
  std::string work;              // "03_transpose/02.cpp", below the work folder

  bool cuda() const { return own->backend == "cuda"; }
};

/// All steps, in the order of labs, ops, CPU before CUDA, rungs.
const std::vector<Step>& steps();

/// The steps of one lab, in order.
std::vector<const Step*> steps_of(const Lab& lab);

/// "03.02", "transpose.cuda.02", "03.cuda.02_shared_tile", "matmul_bwd.02", a variant's id, or a rung's number behind
/// a lab's. Throws NotFound, which says what there is.
const Step& find_step(const std::string& what);

/// The step behind this one in its lab; nullptr at the end.
const Step* next_step(const Step& step);

/// $KLAB_WORK, or work/ in klab's folder. Throws std::runtime_error where there is neither.
std::filesystem::path work_folder();

/// The id that a work file's variant has: "transpose.cuda.02_yours".
std::string work_id(const Step& step);

}  // namespace klab
