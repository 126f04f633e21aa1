#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/base/nearest.h"
#include "toroid/cli/commands.h"
#include "toroid/comm/mpi.h"

namespace {

using toroid::ExitStatus;

// OpenMP's threads wait for one another by spinning for milliseconds, which takes the cores from
// the loader's threads and from other programs: with both of two cores busy elsewhere, training ran
// five times slower than with short spins. libgomp reads its settings while it is loaded, so the
// program starts itself again; where that fails, it goes on as it is.
void shorten_spins(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  ::setenv("GOMP_SPINCOUNT", "1000", 1);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv(self.c_str(), argv);
}

// CLI11 says only that a command is missing, also where there is one that it does not know.
std::string unknown_command(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  const auto rest = app.remaining(true);
  if (rest.empty() || rest.front().starts_with('-')) return "";
  std::vector<std::string_view> known;
  for (const CLI::App* command : last->get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  try {
    toroid::fail_unknown("command", rest.front(), known);
  } catch (const toroid::Error& error) {
    return error.what();
  }
}

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  // Help and version print to standard output and are no failure.
  if (error.get_exit_code() == 0) return app.exit(error);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (const std::string line = unknown_command(app); !line.empty()) {
      toroid::log::error("{}", line);
      return static_cast<int>(ExitStatus::kUsage);
    }
  }
  toroid::log::error("{} (toroid --help, or toroid COMMAND --help)", error.what());
  return static_cast<int>(ExitStatus::kUsage);
}

// Every failure is one line. The other ranks of a run would wait for this one, so they end too.
int run_action(const toroid::cli::Action& action) {
  int status = static_cast<int>(ExitStatus::kFailed);
  try {
    const int done = action();
    if (std::fflush(stdout) != 0) toroid::fail("cannot write the output: {}", std::strerror(errno));
    return done;
  } catch (const toroid::Error& error) {
    toroid::log::error("{}", error.what());
    status = static_cast<int>(error.status());
  } catch (const std::bad_alloc&) {
    toroid::log::error("out of memory; a smaller train.global_batch or data.image_size needs less");
  } catch (const std::system_error& error) {  // of the file system, or of a closed output
    toroid::log::error("{}", error.what());
  } catch (const std::exception& error) {
    toroid::log::error("unexpected: {}", error.what());
  }
  toroid::exit_all_ranks(status);
}

}  // namespace

int main(int argc, char** argv) {
  shorten_spins(argv);
  std::signal(SIGPIPE, SIG_DFL);  // `toroid ... | head` ends quietly
  std::signal(SIGXFSZ, SIG_IGN);  // past `ulimit -f` a write fails, and says so
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
  toroid::cli::add_lower(app, context);
  toroid::cli::add_models(app, context);
  toroid::cli::add_bench(app, context);
  toroid::cli::add_info(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  return run_action(context.action);
}
