// Shared by trainers with batches of rays: the number of rays, the learning rate, the quality of the batch.
#pragma once

#include "harness/program/plan.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/ray_step.h"

namespace klab {

/// Returns the number of rays that gives the wanted number of samples, judging by the last step (Müller et
/// al. 2022, appendix E), within the capacity for marched samples. A step with hardly any samples tells
/// little, so the number at most doubles.
int64_t rays_after(const StepReport& report, int64_t wanted_samples, int64_t march_capacity,
                   int64_t most_rays);

/// Returns a factor that falls from 1 to `last` along half a cosine as progress goes from 0 to 1.
double cosine_to(double last, double progress);

/// Returns whether a plan has one op for the pixel loss and the samples' gradients.
bool fuses_loss(const Plan& plan);

/// Copies the values of the loss's terms into the report.
void take_terms(StepReport& report, const StepNumbers& after);

/// Returns the PSNR, dB, of the first `whole` rays' colors against their targets.
double batch_psnr_of(const Memory& memory, const RayStep& step, int64_t whole);

}  // namespace klab
