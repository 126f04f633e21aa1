#include <CLI/CLI.hpp>
#include <csignal>

#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/cli/commands.h"
#include "toroid/comm/mpi.h"

namespace {

using toroid::ExitStatus;

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  // Help and version print to standard output and are no failure.
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string line = error.what();
  for (char& c : line) c = c == '\n' ? ' ' : c;
  toroid::log::error("{} (toroid --help, or toroid COMMAND --help)", line);
  return static_cast<int>(ExitStatus::kUsage);
}

// Every failure is one line. The other ranks of a run would wait for this one, so they end too.
int run_action(const toroid::cli::Action& action) {
  int status = static_cast<int>(ExitStatus::kFailed);
  try {
    return action();
  } catch (const toroid::Error& error) {
    toroid::log::error("{}", error.what());
    status = static_cast<int>(error.status());
  } catch (const std::bad_alloc&) {
    toroid::log::error("out of memory; a smaller train.global_batch or data.image_size needs less");
  } catch (const std::exception& error) {
    toroid::log::error("unexpected: {}", error.what());
  }
  toroid::exit_all_ranks(status);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // `toroid ... | head` ends quietly
  CLI::App app("Synchronous training of image classifiers, from one laptop to a pod.", "toroid");
  app.set_version_flag("--version", "toroid " TOROID_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  toroid::cli::Context context;
  context.arguments.assign(argv, argv + argc);
  toroid::cli::add_prepare(app, context);
  toroid::cli::add_data(app, context);
  toroid::cli::add_train(app, context);
  toroid::cli::add_eval(app, context);
  toroid::cli::add_predict(app, context);
  toroid::cli::add_recipe(app, context);
  toroid::cli::add_models(app, context);
  toroid::cli::add_info(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  return run_action(context.action);
}
