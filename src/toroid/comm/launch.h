// Starting the ranks of a run on this machine, and knowing whether someone else has started us.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace toroid {

/// Who started this process as one of several ranks.
struct Launcher {
  std::string variable;  ///< the environment variable that tells, e.g. "OMPI_COMM_WORLD_SIZE"
  int ranks = 0;         ///< how many it started; 0 when it does not say
};

/// The launcher (mpirun of Open MPI or MPICH, srun) that started this process, if one did. The
/// shell of an sbatch or salloc job is not started as a rank.
std::optional<Launcher> find_launcher(
    const std::function<const char*(const char*)>& environment = nullptr);

struct LaunchOptions {
  int workers = 1;
  /// Program and arguments of each rank, the program as execvp finds it.
  std::vector<std::string> command;
  /// After a request to stop, the ranks have this long to save and return.
  double grace_seconds = 30;
};

/// Runs `workers` ranks on this machine under mpirun and returns their exit status: one of
/// ExitStatus, the first non-zero one that a rank returned. A rank that a signal killed, any other
/// status, or a grace time that ran out, is 1, after an error line.
///
/// Each rank gets OMP_NUM_THREADS = usable_threads() / workers, at least 1, unless the user has set
/// it. Ranks read nothing from the terminal.
///
/// SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask the ranks to stop: they reach each rank as SIGUSR1,
/// because mpirun kills the ranks a second after it gets one of the others itself. A second SIGINT
/// or SIGTERM, or the end of the grace time, ends the ranks at once. If this process is killed,
/// mpirun and the ranks go with it.
///
/// Error when mpirun is not installed or this process is already a rank.
int launch_workers(const LaunchOptions& options);

/// The command line that launch_workers runs. `version` is what `mpirun --version` prints (it tells
/// Open MPI from the Hydra launcher of MPICH), `threads` are those of the machine.
std::vector<std::string> mpirun_command(const std::string& version, const LaunchOptions& options,
                                        int threads, bool as_root);

}  // namespace toroid
