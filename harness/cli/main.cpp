// klab: the command line.
#include "harness/cli/command.h"

int main(int argc, char** argv) { return klab::run_command_line(argc, argv); }
