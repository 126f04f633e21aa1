// The commands of the program. Each file parses its flags, calls the library, prints; no logic.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace toroid::cli {

/// What the chosen command does after parsing; returns the exit status.
using Action = std::function<int()>;

/// Filled by the subcommand that was chosen.
struct Context {
  Action action;
  std::vector<std::string> arguments;  ///< the whole command line, program first
};

void add_bench(CLI::App& app, Context& context);
void add_data(CLI::App& app, Context& context);
void add_eval(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_lower(CLI::App& app, Context& context);
void add_models(CLI::App& app, Context& context);
void add_predict(CLI::App& app, Context& context);
void add_prepare(CLI::App& app, Context& context);
void add_recipe(CLI::App& app, Context& context);
void add_train(CLI::App& app, Context& context);

}  // namespace toroid::cli
