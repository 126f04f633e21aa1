#include "toroid/backends/xla/pjrt_client.h"

#include <pjrt_c_api.h>

#include <algorithm>
#include <limits>

#include "toroid/backends/xla/compile_options.h"
#include "toroid/backends/xla/pjrt_types.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

PJRT_DeviceDescription* description_of(const PjrtApi& api, PJRT_Device* device) {
  TOROID_PJRT_ARGS(PJRT_Device_GetDescription_Args, args);
  args.device = device;
  api.check(api->PJRT_Device_GetDescription(&args), "cannot describe a device");
  return args.device_description;
}

PjrtDevice describe_device(const PjrtApi& api, PJRT_Device* device) {
  PJRT_DeviceDescription* description = description_of(api, device);
  TOROID_PJRT_ARGS(PJRT_DeviceDescription_Id_Args, id);
  id.device_description = description;
  api.check(api->PJRT_DeviceDescription_Id(&id), "cannot read a device's id");
  TOROID_PJRT_ARGS(PJRT_DeviceDescription_Kind_Args, kind);
  kind.device_description = description;
  api.check(api->PJRT_DeviceDescription_Kind(&kind), "cannot read a device's kind");
  TOROID_PJRT_ARGS(PJRT_DeviceDescription_ToString_Args, words);
  words.device_description = description;
  api.check(api->PJRT_DeviceDescription_ToString(&words), "cannot read a device's name");
  return {
      id.id, {kind.device_kind, kind.device_kind_size}, {words.to_string, words.to_string_size}};
}

}  // namespace

std::shared_ptr<PjrtClient> PjrtClient::create(const std::filesystem::path& plugin,
                                               const Options& options) {
  return std::make_shared<PluginClient>(PjrtApi::load(plugin), options);
}

PluginClient::PluginClient(const PjrtApi& api, const Options& options) : api_(api) {
  open(options);
  try {
    describe();
  } catch (...) {
    close();
    throw;
  }
}

PluginClient::~PluginClient() {
  close();
}

void PluginClient::open(const Options& options) {
  std::vector<PJRT_NamedValue> values;
  for (const auto& [name, number] : options) {
    TOROID_PJRT_ARGS(PJRT_NamedValue, value);
    value.name = name.data();
    value.name_size = name.size();
    value.type = PJRT_NamedValue_kInt64;
    value.int64_value = number;
    value.value_size = 1;
    values.push_back(value);
  }
  TOROID_PJRT_ARGS(PJRT_Client_Create_Args, args);
  args.create_options = values.data();
  args.num_options = values.size();
  api_.check(api_->PJRT_Client_Create(&args),
             fmt::format("cannot open the devices of the plugin {}", api_.plugin()));
  client_ = args.client;
}

void PluginClient::close() {
  TOROID_PJRT_ARGS(PJRT_Client_Destroy_Args, args);
  args.client = client_;
  api_.discard(api_->PJRT_Client_Destroy(&args));
}

void PluginClient::describe() {
  TOROID_PJRT_ARGS(PJRT_Client_PlatformName_Args, name);
  name.client = client_;
  api_.check(api_->PJRT_Client_PlatformName(&name), "cannot read the platform's name");
  platform_name_.assign(name.platform_name, name.platform_name_size);

  TOROID_PJRT_ARGS(PJRT_Client_PlatformVersion_Args, version);
  version.client = client_;
  api_.check(api_->PJRT_Client_PlatformVersion(&version), "cannot read the platform's version");
  platform_version_.assign(version.platform_version, version.platform_version_size);

  TOROID_PJRT_ARGS(PJRT_Client_AddressableDevices_Args, list);
  list.client = client_;
  api_.check(api_->PJRT_Client_AddressableDevices(&list), "cannot list the devices");
  handles_.assign(list.addressable_devices,
                  list.addressable_devices + list.num_addressable_devices);
  if (handles_.empty()) fail("the plugin {} finds no device", api_.plugin());
  for (PJRT_Device* device : handles_) devices_.push_back(describe_device(api_, device));
}

int PluginClient::index_of(const PJRT_Device* device) const {
  const auto found = std::find(handles_.begin(), handles_.end(), device);
  if (found == handles_.end()) fail("the plugin {} named an unknown device", api_.plugin());
  return static_cast<int>(found - handles_.begin());
}

int PluginClient::next_launch() const {
  constexpr std::uint32_t kLargest = std::numeric_limits<int>::max();
  return static_cast<int>(launches_.fetch_add(1) % kLargest) + 1;
}

std::vector<int> PluginClient::assign_devices(const PjrtCompileOptions& options) const {
  TOROID_PJRT_ARGS(PJRT_Client_Devices_Args, all);
  all.client = client_;
  api_.check(api_->PJRT_Client_Devices(&all), "cannot list the devices");
  const auto wanted =
      static_cast<std::int64_t>(options.num_replicas) * std::int64_t{options.num_partitions};
  if (options.num_replicas < 1 || options.num_partitions < 1 ||
      wanted > static_cast<std::int64_t>(all.num_devices)) {
    fail("a program of {} replicas x {} partitions does not fit on the {} devices of {}",
         options.num_replicas, options.num_partitions, all.num_devices, api_.plugin());
  }
  std::vector<int> ids(static_cast<std::size_t>(wanted));
  TOROID_PJRT_ARGS(PJRT_Client_DefaultDeviceAssignment_Args, args);
  args.client = client_;
  args.num_replicas = options.num_replicas;
  args.num_partitions = options.num_partitions;
  args.default_assignment = ids.data();
  args.default_assignment_size = ids.size();
  api_.check(api_->PJRT_Client_DefaultDeviceAssignment(&args), "cannot assign devices");
  return ids;
}

std::unique_ptr<PjrtExecutable> PluginClient::compile(const std::string& mlir,
                                                      const std::vector<TensorType>& parameters,
                                                      const PjrtCompileOptions& options) {
  const std::vector<int> ids = assign_devices(options);
  const std::string serialized =
      serialized_compile_options(options.num_replicas, options.num_partitions, ids);
  constexpr std::string_view kFormat = "mlir";
  TOROID_PJRT_ARGS(PJRT_Program, program);
  program.code = const_cast<char*>(mlir.data());  // in/out in the API, in for compilation
  program.code_size = mlir.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  TOROID_PJRT_ARGS(PJRT_Client_Compile_Args, args);
  args.client = client_;
  args.program = &program;
  args.compile_options = serialized.data();
  args.compile_options_size = serialized.size();
  api_.check(api_->PJRT_Client_Compile(&args), "cannot compile the program");
  return std::make_unique<PluginExecutable>(shared_from_this(), args.executable, parameters);
}

std::unique_ptr<PjrtBuffer> PluginClient::buffer_from_host(const Tensor& tensor, int device) {
  if (device < 0 || device >= static_cast<int>(devices_.size())) {
    fail("there is no device {}: the plugin {} has {}", device, api_.plugin(), devices_.size());
  }
  TOROID_PJRT_ARGS(PJRT_Client_BufferFromHostBuffer_Args, args);
  args.client = client_;
  args.data = tensor.raw();
  args.type = static_cast<PJRT_Buffer_Type>(pjrt_type_of(tensor.dtype()));
  args.dims = tensor.shape().dims().data();
  args.num_dims = tensor.shape().dims().size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = handles_[static_cast<std::size_t>(device)];
  const std::string what = fmt::format("cannot copy a tensor {} to {}", tensor.type().str(),
                                       devices_[static_cast<std::size_t>(device)].description);
  api_.check(api_->PJRT_Client_BufferFromHostBuffer(&args), what);
  auto buffer =
      std::make_unique<PluginBuffer>(shared_from_this(), args.buffer, tensor.type(), device);
  api_.await(args.done_with_host_buffer, what);
  return buffer;
}

}  // namespace toroid
