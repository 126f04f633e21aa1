#include <CLI/CLI.hpp>

#include "toroid/backends/xla/xla.h"
#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/base/machine_report.h"
#include "toroid/cli/commands.h"
#include "toroid/comm/launch.h"

namespace toroid::cli {
namespace {

std::string xla_state() {
  try {
    return default_pjrt_plugin().string();
  } catch (const Error& error) {
    return error.what();
  }
}

int run() {
  const auto launcher = find_launcher();
  fmt::print("toroid       {}\n", TOROID_VERSION);
  const MachineShare machine = machine_share();
  fmt::print("machine      {}\n", describe_machines({&machine, 1}));
  fmt::print("launcher     {}\n",
             launcher ? fmt::format("{} ({} ranks)", launcher->variable, launcher->ranks)
                      : std::string("none: a single process"));
  fmt::print("xla plugin   {}\n", xla_state());
  for (const std::string& warning : machine_warnings({&machine, 1})) log::warning("{}", warning);
  return 0;
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("info", "What this program and this machine offer");
  command->footer("example: toroid info");
  command->callback([&context] { context.action = run; });
}

}  // namespace toroid::cli
