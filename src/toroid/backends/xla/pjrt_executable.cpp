#include <pjrt_c_api.h>

#include <utility>

#include "toroid/backends/xla/pjrt_client.h"
#include "toroid/backends/xla/pjrt_types.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

std::vector<TensorType> output_types(const PjrtApi& api, PJRT_Executable* executable) {
  TOROID_PJRT_ARGS(PJRT_Executable_OutputElementTypes_Args, types);
  types.executable = executable;
  api.check(api->PJRT_Executable_OutputElementTypes(&types), "cannot read the outputs' types");
  TOROID_PJRT_ARGS(PJRT_Executable_OutputDimensions_Args, dims);
  dims.executable = executable;
  api.check(api->PJRT_Executable_OutputDimensions(&dims), "cannot read the outputs' shapes");
  std::vector<TensorType> result;
  const std::int64_t* next = dims.dims;
  for (std::size_t i = 0; i < types.num_output_types; ++i) {
    const auto dtype = dtype_of_pjrt(types.output_types[i]);
    if (!dtype) {
      fail("output {} of the program has an element type that Toroid has not (PJRT type {})", i,
           static_cast<int>(types.output_types[i]));
    }
    const std::int64_t* end = next + dims.dim_sizes[i];
    result.push_back({*dtype, Shape(std::vector<std::int64_t>(next, end))});
    next = end;
  }
  return result;
}

}  // namespace

PluginExecutable::PluginExecutable(std::shared_ptr<const PluginClient> client,
                                   PJRT_LoadedExecutable* executable,
                                   std::vector<TensorType> parameters)
    : client_(std::move(client)), executable_(executable), parameters_(std::move(parameters)) {
  try {
    describe();
  } catch (...) {
    close();
    throw;
  }
}

PluginExecutable::~PluginExecutable() {
  close();
}

void PluginExecutable::close() {
  TOROID_PJRT_ARGS(PJRT_LoadedExecutable_Destroy_Args, args);
  args.executable = executable_;
  client_->api().discard(client_->api()->PJRT_LoadedExecutable_Destroy(&args));
}

void PluginExecutable::describe() {
  const PjrtApi& api = client_->api();
  TOROID_PJRT_ARGS(PJRT_LoadedExecutable_AddressableDevices_Args, places);
  places.executable = executable_;
  api.check(api->PJRT_LoadedExecutable_AddressableDevices(&places),
            "cannot read the program's devices");
  for (std::size_t i = 0; i < places.num_addressable_devices; ++i) {
    devices_.push_back(client_->index_of(places.addressable_devices[i]));
  }

  TOROID_PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, get);
  get.loaded_executable = executable_;
  api.check(api->PJRT_LoadedExecutable_GetExecutable(&get), "cannot read the program");
  const auto destroy = [&api](PJRT_Executable* executable) {
    TOROID_PJRT_ARGS(PJRT_Executable_Destroy_Args, args);
    args.executable = executable;
    api.discard(api->PJRT_Executable_Destroy(&args));
  };
  const std::unique_ptr<PJRT_Executable, decltype(destroy)> executable(get.executable, destroy);
  outputs_ = output_types(api, executable.get());
}

std::vector<std::vector<PJRT_Buffer*>> PluginExecutable::handles_of(
    const std::vector<std::vector<PjrtBuffer*>>& arguments) const {
  if (arguments.size() != devices_.size()) {
    fail("the program runs on {} devices, but there are arguments for {}", devices_.size(),
         arguments.size());
  }
  std::vector<std::vector<PJRT_Buffer*>> handles(arguments.size());
  for (std::size_t d = 0; d < arguments.size(); ++d) {
    const std::string& place = client_->devices()[devices_[d]].description;
    if (arguments[d].size() != parameters_.size()) {
      fail("the program takes {} arguments, but there are {} for {}", parameters_.size(),
           arguments[d].size(), place);
    }
    for (std::size_t i = 0; i < arguments[d].size(); ++i) {
      const auto* buffer = dynamic_cast<const PluginBuffer*>(arguments[d][i]);
      if (buffer == nullptr || buffer->client() != client_.get()) {
        fail("argument {} for {} is not a buffer of the program's client", i, place);
      }
      if (buffer->device() != devices_[d]) {
        fail("argument {} for {} is on {}", i, place,
             client_->devices()[buffer->device()].description);
      }
      // Plugins compare sizes only, so that i32 would pass for f32.
      if (buffer->type() != parameters_[i]) {
        fail("argument {} for {} is {}, the program takes {}", i, place, buffer->type().str(),
             parameters_[i].str());
      }
      if (buffer->consumed()) {
        fail("argument {} ({}) for {} was donated to an earlier execution", i, buffer->type().str(),
             place);
      }
      handles[d].push_back(buffer->handle());
    }
  }
  return handles;
}

std::vector<PjrtBuffers> PluginExecutable::execute(
    const std::vector<std::vector<PjrtBuffer*>>& arguments) {
  const PjrtApi& api = client_->api();
  const auto handles = handles_of(arguments);
  std::vector<std::vector<PJRT_Buffer*>> results(handles.size(),
                                                 std::vector<PJRT_Buffer*>(outputs_.size()));
  std::vector<PJRT_Buffer* const*> argument_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (std::size_t d = 0; d < handles.size(); ++d) {
    argument_lists.push_back(handles[d].data());
    output_lists.push_back(results[d].data());
  }
  TOROID_PJRT_ARGS(PJRT_ExecuteOptions, options);
  options.launch_id = client_->next_launch();
  TOROID_PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, args);
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = argument_lists.data();
  args.num_devices = argument_lists.size();
  args.num_args = parameters_.size();
  args.output_lists = output_lists.data();
  std::vector<PJRT_Event*> done(handles.size());
  const bool wait = runs_alone();
  if (wait) args.device_complete_events = done.data();
  api.check(api->PJRT_LoadedExecutable_Execute(&args), "cannot run the program");

  std::vector<PjrtBuffers> outputs(results.size());
  for (std::size_t d = 0; d < results.size(); ++d) {
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      outputs[d].push_back(
          std::make_unique<PluginBuffer>(client_, results[d][k], outputs_[k], devices_[d]));
    }
  }
  if (wait) api.await_all(done, "the program failed");
  return outputs;
}

bool PluginExecutable::runs_alone() const {
  // XLA's CPU client runs each device's part on one pool of as many threads. With two executions
  // in flight, parts of the second can take the threads that the first one's all-reduce waits for;
  // after 40 seconds XLA ends the process.
  return devices_.size() > 1 && client_->platform_name() == "cpu";
}

}  // namespace toroid
