// A rank for mpi_test.py: does what its first argument says, as the program's commands do it.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/comm/contract.h"
#include "toroid/comm/launch.h"
#include "toroid/comm/mpi.h"

namespace toroid {
namespace {

volatile sig_atomic_t stop_requested = 0;

// Steps until a stop request, or until rank 1 does what the argument says.
int steps(Communicator& world, const std::string& end) {
  ::signal(SIGUSR1, [](int) { stop_requested = 1; });
  float stop = 0;
  const Buffer buffer{&stop, DType::f32, 1};
  const ConstBuffer input = buffer;
  for (int step = 0;; ++step) {
    if (step == 5 && world.rank() == 0) std::puts("training"), std::fflush(stdout);
    if (step == 10 && world.rank() == 1) {
      if (end == "throw") throw Error("cannot read shard 7", ExitStatus::kUsage);
      if (end == "killed") ::raise(SIGKILL);
      if (end == "stopped") ::raise(SIGSTOP);
      if (end == "drops") world.all_reduce_start({&input, 1}, {&buffer, 1}, 2), fail("dropped");
    }
    stop = stop_requested;
    world.all_reduce_start({&input, 1}, {&buffer, 1}, world.size())->wait();
    if (stop > 0) return static_cast<int>(ExitStatus::kPreempted);
    ::usleep(10'000);
  }
}

int run(const std::string& what, const std::string& argument) {
  const auto world = world_communicator(what == "steps" ? 3 : 60);
  log::set_prefix("rank " + std::to_string(world->rank()) + ": ");
  if (what == "contract") {
    check_collectives(*world);
    if (world->rank() == 0) std::printf("contract kept by %d\n", world->size());
  } else if (what == "agree") {
    check_agreement(*world, "the recipe", world->rank() == 1 ? 1 : 0);
  } else if (what == "status") {
    return std::stoi(argument);
  } else if (what == "threads") {
    std::printf("OMP_NUM_THREADS=%s\n", std::getenv("OMP_NUM_THREADS"));
  } else if (what == "ignores") {
    ::signal(SIGUSR1, SIG_IGN);
    if (world->rank() == 0) std::puts("training"), std::fflush(stdout);
    ::sleep(60);
  } else if (what == "steps") {
    return steps(*world, argument);
  }
  return 0;
}

// ranks launch N GRACE WHAT [ARGUMENT] | ranks WHAT [ARGUMENT]
int run_command(const std::vector<std::string>& words) {
  try {
    if (words.at(0) != "launch") return run(words[0], words.size() > 1 ? words[1] : "");
    LaunchOptions options{.workers = std::stoi(words.at(1)),
                          .command = {std::filesystem::read_symlink("/proc/self/exe").string()},
                          .grace_seconds = std::stod(words.at(2))};
    options.command.insert(options.command.end(), words.begin() + 3, words.end());
    return launch_workers(options);
  } catch (const Error& error) {
    log::error("{}", error.what());
    exit_all_ranks(static_cast<int>(error.status()));
  }
}

}  // namespace
}  // namespace toroid

int main(int argc, char** argv) {
  return toroid::run_command(std::vector<std::string>(argv + 1, argv + argc));
}
