// Compiles StableHLO and runs it on the devices of a PJRT plugin: a shared library for TPUs, NVIDIA
// GPUs or CPUs that exports the PJRT C API (openxla.org/xla/pjrt). The plugin is loaded at run
// time, so one build of Toroid serves them all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "toroid/base/tensor.h"

namespace toroid {

/// A device that this process can put buffers on.
struct PjrtDevice {
  int id = 0;               ///< the plugin's number, unique over all processes
  std::string kind;         ///< "TPU v3", "cpu"
  std::string description;  ///< the plugin's words for people
};

/// A tensor in a device's memory; destroying it frees that memory once nothing uses it any more.
class PjrtBuffer {
 public:
  virtual ~PjrtBuffer() = default;
  virtual const TensorType& type() const = 0;
  /// Index into PjrtClient::devices().
  virtual int device() const = 0;
  /// True after an execution to which it was donated; only destroying it is then of use.
  virtual bool consumed() const = 0;
  /// Waits until the elements are there; Error when what computes them failed.
  virtual void await() const = 0;
  /// Waits, and copies the elements (row-major); Error when consumed, or as for await().
  virtual Tensor to_host() const = 0;
};

using PjrtBuffers = std::vector<std::unique_ptr<PjrtBuffer>>;

/// A compiled program, loaded on its devices.
class PjrtExecutable {
 public:
  virtual ~PjrtExecutable() = default;
  /// Where it runs in this process, in the order of execute()'s lists: indices into
  /// PjrtClient::devices().
  virtual const std::vector<int>& devices() const = 0;
  /// What each device returns.
  virtual const std::vector<TensorType>& outputs() const = 0;

  /// Starts the program on all its devices and returns without waiting for it: what fails later
  /// is an Error of await() or to_host() of its outputs. (On several CPU devices it returns at the
  /// end, and one thread at a time may call it: XLA's CPU client cannot have two in flight.)
  ///
  /// `arguments` has one list per device, `[device][parameter]`, and so has the result,
  /// `[device][output]`. An argument whose parameter carries `tf.aliasing_output = K : i32` in the
  /// program is donated: output K takes its memory and the argument is consumed. Error when the
  /// arguments do not fit the program's parameters, are consumed, or are on another device.
  virtual std::vector<PjrtBuffers> execute(
      const std::vector<std::vector<PjrtBuffer*>>& arguments) = 0;
};

struct PjrtCompileOptions {
  int num_replicas = 1;    ///< copies of the program, which `stablehlo.all_reduce` and kin join
  int num_partitions = 1;  ///< devices that each copy is partitioned over
};

/// A plugin's devices, opened. Buffers and executables keep their client alive.
class PjrtClient {
 public:
  using Options = std::map<std::string, std::int64_t>;

  /// Loads the plugin (once per process, never unloaded) and opens its devices. The options are
  /// the plugin's own, e.g. `cpu_device_count` for CPU plugins. Error when the file is missing, is
  /// no PJRT plugin, speaks a PJRT API that Toroid does not, finds no device, or when this build
  /// of Toroid was made without the C API's header.
  static std::shared_ptr<PjrtClient> create(const std::filesystem::path& plugin,
                                            const Options& options = {});

  virtual ~PjrtClient() = default;
  /// "cpu", "tpu", "cuda".
  virtual const std::string& platform_name() const = 0;
  virtual const std::string& platform_version() const = 0;
  /// The PJRT API that the plugin speaks, "0.81".
  virtual const std::string& api_version() const = 0;
  virtual const std::vector<PjrtDevice>& devices() const = 0;

  /// Compiles an MLIR module (StableHLO, as text or bytecode) for num_replicas x num_partitions
  /// devices, chosen by the plugin. `parameters` are the types of @main's parameters on each
  /// device. Error with the compiler's reason on one line; its status is kDoesNotFit when the
  /// program is larger than the device's memory.
  virtual std::unique_ptr<PjrtExecutable> compile(const std::string& mlir,
                                                  const std::vector<TensorType>& parameters,
                                                  const PjrtCompileOptions& options = {}) = 0;
  /// Copies a tensor to a device (index into devices()); the tensor is free again on return.
  virtual std::unique_ptr<PjrtBuffer> buffer_from_host(const Tensor& tensor, int device = 0) = 0;
};

}  // namespace toroid
