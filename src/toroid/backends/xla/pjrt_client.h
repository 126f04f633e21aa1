// The classes of pjrt.h over the PJRT C API. For the client's own .cpp files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "toroid/backends/xla/pjrt.h"
#include "toroid/backends/xla/pjrt_api.h"

struct PJRT_Buffer;
struct PJRT_Client;
struct PJRT_Device;
struct PJRT_LoadedExecutable;

namespace toroid {

class PluginClient final : public PjrtClient, public std::enable_shared_from_this<PluginClient> {
 public:
  PluginClient(const PjrtApi& api, const Options& options);
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;
  ~PluginClient() override;

  const std::string& platform_name() const override { return platform_name_; }
  const std::string& platform_version() const override { return platform_version_; }
  const std::string& api_version() const override { return api_.version(); }
  const std::vector<PjrtDevice>& devices() const override { return devices_; }
  std::unique_ptr<PjrtExecutable> compile(const std::string& mlir,
                                          const std::vector<TensorType>& parameters,
                                          const PjrtCompileOptions& options) override;
  std::unique_ptr<PjrtBuffer> buffer_from_host(const Tensor& tensor, int device) override;

  const PjrtApi& api() const { return api_; }
  /// The index into devices() of a handle that the plugin gave.
  int index_of(const PJRT_Device* device) const;
  /// A number other than 0 that tells an execution from others in flight: collectives of the CPU
  /// plugins meet under it. The same on all processes that execute the same programs in order.
  int next_launch() const;

 private:
  void open(const Options& options);
  void close();
  void describe();
  std::vector<int> assign_devices(const PjrtCompileOptions& options) const;

  const PjrtApi& api_;
  PJRT_Client* client_ = nullptr;
  mutable std::atomic<std::uint32_t> launches_ = 0;
  std::string platform_name_, platform_version_;
  std::vector<PJRT_Device*> handles_;  // owned by client_
  std::vector<PjrtDevice> devices_;    // as handles_
};

class PluginBuffer final : public PjrtBuffer {
 public:
  /// Takes over `buffer`.
  PluginBuffer(std::shared_ptr<const PluginClient> client, PJRT_Buffer* buffer, TensorType type,
               int device);
  PluginBuffer(const PluginBuffer&) = delete;
  PluginBuffer& operator=(const PluginBuffer&) = delete;
  ~PluginBuffer() override;

  const TensorType& type() const override { return type_; }
  int device() const override { return device_; }
  bool consumed() const override;
  void await() const override;
  Tensor to_host() const override;

  const PluginClient* client() const { return client_.get(); }
  PJRT_Buffer* handle() const { return buffer_; }

 private:
  std::shared_ptr<const PluginClient> client_;
  PJRT_Buffer* buffer_;
  TensorType type_;
  int device_;
};

class PluginExecutable final : public PjrtExecutable {
 public:
  /// Takes over `executable`.
  PluginExecutable(std::shared_ptr<const PluginClient> client, PJRT_LoadedExecutable* executable,
                   std::vector<TensorType> parameters);
  PluginExecutable(const PluginExecutable&) = delete;
  PluginExecutable& operator=(const PluginExecutable&) = delete;
  ~PluginExecutable() override;

  const std::vector<int>& devices() const override { return devices_; }
  const std::vector<TensorType>& outputs() const override { return outputs_; }
  std::vector<PjrtBuffers> execute(const std::vector<std::vector<PjrtBuffer*>>& arguments) override;

 private:
  void close();
  void describe();
  std::vector<std::vector<PJRT_Buffer*>> handles_of(
      const std::vector<std::vector<PjrtBuffer*>>& arguments) const;
  /// True when execute() must wait for the end.
  bool runs_alone() const;

  std::shared_ptr<const PluginClient> client_;
  PJRT_LoadedExecutable* executable_;
  std::vector<TensorType> parameters_;
  std::vector<int> devices_;
  std::vector<TensorType> outputs_;
};

}  // namespace toroid
