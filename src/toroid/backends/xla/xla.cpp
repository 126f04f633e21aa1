#include "toroid/backends/xla/xla.h"

#include <fmt/format.h>

#include "toroid/backends/xla/pjrt.h"
#include "toroid/backends/xla/xla_executable.h"
#include "toroid/backends/xla/xla_state.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

std::shared_ptr<PjrtClient> open_devices(const std::filesystem::path& plugin, int wanted) {
  auto client = PjrtClient::create(plugin);
  const auto found = static_cast<int>(client->devices().size());
  if (wanted > found && client->platform_name() == "cpu") {
    client = PjrtClient::create(plugin, {{"cpu_device_count", wanted}});
  } else if (wanted > found) {
    fail("{} devices are asked for, the plugin {} has {}", wanted, plugin.string(), found);
  }
  return client;
}

// Where the plugin puts the replicas: it is asked by way of a program that does nothing.
std::vector<int> replica_devices(PjrtClient& client, int replicas) {
  const std::string program = fmt::format(
      "module @nothing attributes {{mhlo.num_replicas = {} : i32}} {{\n"
      "  func.func public @main(%x: tensor<f32>) -> tensor<f32> {{\n"
      "    return %x : tensor<f32>\n  }}\n}}\n",
      replicas);
  return client.compile(program, {{DType::f32, Shape{}}}, {.num_replicas = replicas})->devices();
}

class XlaBackend final : public Backend {
 public:
  XlaBackend(std::shared_ptr<PjrtClient> client, int replicas)
      : client_(std::move(client)), devices_(replica_devices(*client_, replicas)) {}

  std::string name() const override { return "xla"; }
  int local_replicas() const override { return static_cast<int>(devices_.size()); }
  std::unique_ptr<State> create_state(const StateSchema& schema) override {
    return std::make_unique<XlaState>(client_, devices_, schema);
  }
  std::unique_ptr<Executable> compile(const Graph& graph) override {
    if (graph.mesh.data != local_replicas()) {
      fail("graph: it is for {} replicas, the xla backend has {}", graph.mesh.data,
           local_replicas());
    }
    return std::make_unique<XlaExecutable>(client_, devices_, graph);
  }

 private:
  std::shared_ptr<PjrtClient> client_;
  std::vector<int> devices_;  // [replica]: index into the client's devices
};

}  // namespace

std::filesystem::path default_pjrt_plugin() {
  const std::filesystem::path plugin = std::filesystem::path(TOROID_PJRT_DIR) / "xla_cpu_pjrt.so";
  if (!std::filesystem::exists(plugin)) {
    fail("there is no PJRT plugin at {}: run tools/fetch_pjrt.sh, or pass --plugin",
         plugin.string());
  }
  return plugin;
}

std::unique_ptr<Backend> make_xla_backend(const XlaOptions& options) {
  if (options.devices < 0) fail_usage("the number of devices is {}", options.devices);
  auto client = open_devices(options.plugin.empty() ? default_pjrt_plugin() : options.plugin,
                             options.devices);
  const int replicas =
      options.devices > 0 ? options.devices : static_cast<int>(client->devices().size());
  return std::make_unique<XlaBackend>(std::move(client), replicas);
}

}  // namespace toroid
