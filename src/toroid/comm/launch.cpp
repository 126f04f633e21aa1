#include "toroid/comm/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/base/machine.h"

namespace toroid {
namespace {

using Clock = std::chrono::steady_clock;

// What `mpirun --version` prints.
std::string mpirun_version() {
  FILE* pipe = ::popen("mpirun --version 2>&1", "r");
  if (pipe == nullptr) fail("cannot start a shell to look for mpirun: {}", std::strerror(errno));
  std::string text;
  std::array<char, 512> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), n);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    fail("mpirun is not installed: --workers needs it (Debian: apt install openmpi-bin)");
  }
  return text;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

// Blocks signals for a scope, so that none is lost between two calls of sigtimedwait.
class BlockedSignals {
 public:
  explicit BlockedSignals(const sigset_t& set) { ::pthread_sigmask(SIG_BLOCK, &set, &before_); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

// In the child: becomes mpirun. Only async-signal-safe calls; returns when exec fails.
void become(char* const* argv, const sigset_t& mask, pid_t parent) {
  // A group of its own, so that a terminal's Ctrl-C reaches the launcher alone, which gives grace.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // the parent died before prctl
  // A background process group that reads the terminal would be stopped.
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(argv[0], argv);
}

pid_t start(const std::vector<std::string>& command, const sigset_t& mask) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) fail("cannot start mpirun: {}", std::strerror(errno));
  if (child == 0) {
    become(argv.data(), mask, parent);
    ::_exit(127);
  }
  return child;
}

// mpirun while it runs: passes stop requests on, and ends it when the grace time is over.
class Watch {
 public:
  Watch(pid_t child, double grace_seconds) : child_(child), grace_(grace_seconds) {}

  // The exit status, as waitpid gives it.
  int wait() {
    sigset_t signals = stop_signals();
    sigaddset(&signals, SIGCHLD);
    const timespec tick = {0, 200'000'000};
    int status = 0;
    while (true) {
      const int signal = ::sigtimedwait(&signals, nullptr, &tick);
      if (::waitpid(child_, &status, WNOHANG) == child_) return status;
      if (signal > 0 && signal != SIGCHLD) request_stop(signal);
      if (stage_ != Stage::kRunning && Clock::now() > deadline_) escalate();
    }
  }

  bool asked_to_stop() const { return stage_ != Stage::kRunning; }
  bool ended_early() const { return stage_ > Stage::kAsked; }
  bool out_of_time() const { return out_of_time_; }

 private:
  enum class Stage { kRunning, kAsked, kTerminated, kKilled };

  void enter(Stage stage, int signal, double seconds) {
    stage_ = stage;
    deadline_ = Clock::now() +
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    ::kill(stage == Stage::kKilled ? -child_ : child_, signal);
  }
  void request_stop(int signal) {
    if (stage_ == Stage::kRunning) {
      log::info("stopping the workers (once more to end them at once)");
      enter(Stage::kAsked, SIGUSR1, grace_);
    } else if (stage_ == Stage::kAsked && (signal == SIGINT || signal == SIGTERM)) {
      enter(Stage::kTerminated, SIGTERM, kTerminateSeconds);
    }
  }
  void escalate() {
    if (stage_ == Stage::kAsked) {
      out_of_time_ = true;
      enter(Stage::kTerminated, SIGTERM, kTerminateSeconds);
    } else {
      enter(Stage::kKilled, SIGKILL, kTerminateSeconds);
    }
  }

  static constexpr double kTerminateSeconds = 10;
  pid_t child_;
  double grace_;
  Stage stage_ = Stage::kRunning;
  bool out_of_time_ = false;
  Clock::time_point deadline_;
};

int exit_status(int status, const Watch& watch, const LaunchOptions& options) {
  constexpr int kFailed = static_cast<int>(ExitStatus::kFailed);
  if (watch.out_of_time()) {
    log::error("the workers did not stop within {} s and were ended", options.grace_seconds);
    return kFailed;
  }
  // mpirun says 128 + n when signal n killed a rank.
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const bool saved = code == static_cast<int>(ExitStatus::kPreempted);
  if ((watch.ended_early() && !saved) || (watch.asked_to_stop() && code > 128)) {
    log::error("the workers were ended before they had saved");
    return kFailed;
  }
  if (code > 128) {
    log::error("a worker was killed by signal {} ({})", code - 128, ::strsignal(code - 128));
    return kFailed;
  }
  constexpr std::array kKnown = {ExitStatus::kDone, ExitStatus::kFailed, ExitStatus::kUsage,
                                 ExitStatus::kDoesNotFit, ExitStatus::kPreempted};
  if (std::find(kKnown.begin(), kKnown.end(), ExitStatus{code}) == kKnown.end()) {
    log::error("mpirun ended with status {}", code);  // MPICH's gives the signal's own number
    return kFailed;
  }
  return code;
}

}  // namespace

std::optional<Launcher> find_launcher(const std::function<const char*(const char*)>& environment) {
  const auto number = [&](const char* name) -> std::optional<long long> {
    const char* value = environment ? environment(name) : std::getenv(name);
    if (value == nullptr) return std::nullopt;
    char* end = nullptr;
    const long long result = std::strtoll(value, &end, 10);
    if (end == value || *end != '\0') return std::nullopt;
    return result;
  };
  const auto launched_by = [&](const char* variable, const char* size) -> std::optional<Launcher> {
    if (!number(variable)) return std::nullopt;
    return Launcher{variable, static_cast<int>(number(size).value_or(0))};
  };
  if (const auto found = launched_by("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")) return found;
  // Slurm numbers the steps of a job's own shells from 0xfffffff0 on; srun's count from 0.
  const auto step = number("SLURM_STEP_ID");
  if (step && *step < 0xfffffff0 && number("SLURM_PROCID")) {
    return launched_by("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS");
  }
  if (const auto found = launched_by("PMI_RANK", "PMI_SIZE")) return found;
  return launched_by("PMIX_RANK", "PMIX_SIZE");
}

std::vector<std::string> mpirun_command(const std::string& version, const LaunchOptions& options,
                                        int threads, bool as_root) {
  std::vector<std::string> command = {"mpirun", "-n", std::to_string(options.workers)};
  if (version.find("Open MPI") != std::string::npos ||
      version.find("OpenRTE") != std::string::npos) {
    // --quiet: our own error line says what happened; mpirun's banners would bury it.
    command.insert(command.end(), {"--quiet", "--bind-to", "none"});
    if (as_root) command.emplace_back("--allow-run-as-root");
    if (options.workers > threads) command.emplace_back("--oversubscribe");
  } else if (version.find("HYDRA") != std::string::npos ||
             version.find("Hydra") != std::string::npos) {
    command.insert(command.end(), {"-bind-to", "none"});
  } else {
    fail(
        "the mpirun found in PATH is neither Open MPI's nor MPICH's: start the ranks with its own "
        "launcher instead of --workers");
  }
  command.insert(command.end(), options.command.begin(), options.command.end());
  return command;
}

int launch_workers(const LaunchOptions& options) {
  if (options.workers < 1) fail_usage("--workers must be at least 1, not {}", options.workers);
  if (const auto launcher = find_launcher()) {
    fail_usage(
        "--workers starts mpirun itself, but this process is already a rank of a launcher "
        "({} is set): leave out either --workers or the launcher",
        launcher->variable);
  }
  const std::string& program = options.command.at(0);
  if (program.find('/') != std::string::npos && ::access(program.c_str(), X_OK) != 0) {
    fail("cannot run {}: {}", program, std::strerror(errno));
  }
  const int threads = usable_threads();
  const auto command = mpirun_command(mpirun_version(), options, threads, ::geteuid() == 0);
  const std::string share = std::to_string(std::max(threads / options.workers, 1));
  ::setenv("OMP_NUM_THREADS", share.c_str(), /*overwrite=*/0);

  sigset_t signals = stop_signals();
  sigaddset(&signals, SIGCHLD);
  const BlockedSignals blocked(signals);
  Watch watch(start(command, blocked.before()), options.grace_seconds);
  return exit_status(watch.wait(), watch, options);
}

}  // namespace toroid
