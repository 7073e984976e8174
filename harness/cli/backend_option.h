// The option --backend of commands that run a program of ops.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace klab {

inline void add_backend(CLI::App& app, std::string& backend) {
  app.add_option(
         "--backend", backend,
         "cpu (default), cuda (a GPU), or simt: the same CUDA rungs on the host executor, for small configs")
      ->check(CLI::IsMember({"cpu", "simt", "cuda"}));
}

}  // namespace klab
