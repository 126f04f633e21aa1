#include "toroid/backends/cpu/cpu.h"

#include <algorithm>

#include "toroid/backends/cpu/executable.h"
#include "toroid/backends/cpu/onednn.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/host_state.h"
#include "toroid/base/error.h"
#include "toroid/base/machine.h"

namespace toroid {
namespace {

class CpuBackend : public Backend {
 public:
  CpuBackend(Communicator& communicator, CpuOptions options)
      : communicator_(communicator), threads_(options.threads) {
    if (threads_ < 0) fail_usage("cpu: threads must not be negative, is {}", threads_);
    if (threads_ == 0) threads_ = std::min(usable_threads(), omp_get_max_threads());
  }

  std::string name() const override { return "cpu"; }
  int local_replicas() const override { return 1; }
  std::unique_ptr<State> create_state(const StateSchema& schema) override {
    return std::make_unique<HostState>(schema);
  }
  std::unique_ptr<Executable> compile(const Graph& graph) override {
    verify(graph);
    return std::make_unique<cpu::CpuExecutable>(graph, communicator_, onednn_, threads_);
  }

 private:
  Communicator& communicator_;
  int threads_;
  cpu::OneDnn onednn_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Communicator& communicator, CpuOptions options) {
  return std::make_unique<CpuBackend>(communicator, options);
}

}  // namespace toroid
