#include "toroid/backends/cpu/cpu.h"

#include <algorithm>

#include "toroid/backends/cpu/cpu_state.h"
#include "toroid/backends/cpu/executable.h"
#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/onednn.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/base/error.h"
#include "toroid/base/machine.h"

namespace toroid {
namespace {

class CpuBackend : public Backend {
 public:
  CpuBackend(Communicator& communicator, CpuOptions options)
      : communicator_(communicator),
        options_{.threads = options.threads, .fast_convolutions = options.fast_convolutions} {
    int& threads = options_.threads;
    if (threads < 0) fail_usage("cpu: threads must not be negative, is {}", threads);
    if (threads == 0) threads = std::min(usable_threads(), omp_get_max_threads());
    rules_.convolution = [this](const Node& node, const TensorType& x, const TensorType& kernel,
                                const TensorType& y) {
      return cpu::convolution_layouts(onednn_, node, x, kernel, y);
    };
    rules_.kernel_block = agreed(cpu::preferred_kernel_block(onednn_));
    if (options.block_everything == 8) rules_.every = cpu::Layout::kBlocked8;
    if (options.block_everything == 16) rules_.every = cpu::Layout::kBlocked16;
  }

  std::string name() const override { return "cpu"; }
  int local_replicas() const override { return 1; }
  std::unique_ptr<State> create_state(const StateSchema& schema) override {
    return std::make_unique<cpu::CpuState>(schema, onednn_, rules_.kernel_block);
  }
  std::unique_ptr<Executable> compile(const Graph& graph) override {
    verify(graph);
    return std::make_unique<cpu::CpuExecutable>(graph, rules_, communicator_, onednn_, options_);
  }

 private:
  // Gradients are summed over the ranks as they lie in memory, so kernels must lie alike on all of
  // them: in blocks where every rank's processor wants the same ones.
  std::int64_t agreed(std::int64_t block) const {
    const auto mine = static_cast<std::int32_t>(block);
    std::vector<std::int32_t> all(static_cast<std::size_t>(communicator_.size()));
    const ConstBuffer input{reinterpret_cast<const std::byte*>(&mine), DType::i32, 1};
    const Buffer output{reinterpret_cast<std::byte*>(all.data()), DType::i32, communicator_.size()};
    communicator_.all_gather_start({&input, 1}, {&output, 1}, communicator_.size())->wait();
    const bool alike = std::ranges::all_of(all, [&](std::int32_t other) { return other == mine; });
    return alike ? block : 0;
  }

  Communicator& communicator_;
  cpu::ExecutableOptions options_;
  cpu::OneDnn onednn_;
  cpu::LayoutRules rules_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Communicator& communicator, CpuOptions options) {
  return std::make_unique<CpuBackend>(communicator, options);
}

}  // namespace toroid
