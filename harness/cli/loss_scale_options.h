// The options --loss-scale, --scale-start and --scale-after of every command that trains in 16 bits.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/cli/number_option.h"
#include "harness/program/loss_scale.h"

namespace klab {

/// `text` receives the value of --loss-scale; set_loss_scale() parses it.
inline void add_loss_scale(CLI::App& app, LossScaleSettings& settings, std::string& text) {
  app.add_option("--loss-scale", text,
                 "dynamic (default with f16), or the number by which the loss is multiplied (default 1)");
  add_number(app, "--scale-start", settings.start, range::loss_scale,
             "where a dynamic scale begins (default 65536)");
  add_number(app, "--scale-after", settings.grow_after, range::steps_of_scale,
             "finite steps after which it doubles (default 2000); it halves where one is not");
}

}  // namespace klab
