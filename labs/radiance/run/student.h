// Training of smaller models. Distillation: a field with fewer numbers learns the pictures that a trained field makes from the training cameras.
//
// (G. Hinton, O. Vinyals, J. Dean, "Distilling the Knowledge in a Neural Network", 2015, for classifiers.) Retraining: what is left of a
// pruned field makes up for what is not (S. Han and others, "Learning both Weights and Connections for Efficient Neural Networks", 2015).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/run/fields.h"

namespace klab {

/// Returns the settings that a field was trained with, as its model says.
FieldSettings settings_of(const FieldModel& model);

/// Returns the settings of a student: the teacher's, with values set by name, each "name=value", or a number alone for the width of
/// its networks. Throws std::invalid_argument or std::runtime_error, naming --distill, for a setting that the field does not have and
/// for a student that may take as much memory as its teacher.
FieldSettings student_settings(const FieldModel& teacher, const std::vector<std::string>& values);

/// Returns the scene with its training pictures replaced by those of a field. They are transparent where the scene's are.
Scene as_seen_by(const std::function<Picture(const Camera&)>& render, bool black, Scene scene);

/// Makes `steps` steps on a scene and returns the model; null once a signal asked for the end. `plan` has the calls of training.
std::unique_ptr<FieldModel> learn(const FieldSettings& settings, const Scene& scene, const Plan& plan,
                                  uint64_t seed, int64_t steps);

/// Trains a field of which numbers were left out, `steps` steps at a tenth of its learning rates: numbers of its matrices and tables
/// that are 0 stay 0. Null once a signal asked for the end. Throws std::invalid_argument for a field whose numbers cannot be held, and
/// an adaptive table.
std::unique_ptr<FieldModel> retrain(const FieldModel& pruned, const Scene& scene, const Plan& plan,
                                    uint64_t seed, int64_t steps);

}  // namespace klab
