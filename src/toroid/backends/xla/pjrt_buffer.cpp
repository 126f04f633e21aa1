#include <pjrt_c_api.h>

#include <numeric>
#include <optional>
#include <utility>

#include "toroid/backends/xla/pjrt_client.h"
#include "toroid/backends/xla/pjrt_types.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

constexpr std::pair<DType, PJRT_Buffer_Type> kTypes[] = {
    {DType::f64, PJRT_Buffer_Type_F64},      {DType::f32, PJRT_Buffer_Type_F32},
    {DType::bf16, PJRT_Buffer_Type_BF16},    {DType::i32, PJRT_Buffer_Type_S32},
    {DType::u32, PJRT_Buffer_Type_U32},      {DType::u8, PJRT_Buffer_Type_U8},
    {DType::boolean, PJRT_Buffer_Type_PRED},
};

}  // namespace

int pjrt_type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  fail("no PJRT element type for {}", name_of(dtype));
}

std::optional<DType> dtype_of_pjrt(int type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
}

PluginBuffer::PluginBuffer(std::shared_ptr<const PluginClient> client, PJRT_Buffer* buffer,
                           TensorType type, int device)
    : client_(std::move(client)), buffer_(buffer), type_(std::move(type)), device_(device) {}

PluginBuffer::~PluginBuffer() {
  TOROID_PJRT_ARGS(PJRT_Buffer_Destroy_Args, args);
  args.buffer = buffer_;
  client_->api().discard(client_->api()->PJRT_Buffer_Destroy(&args));
}

bool PluginBuffer::consumed() const {
  TOROID_PJRT_ARGS(PJRT_Buffer_IsDeleted_Args, args);
  args.buffer = buffer_;
  client_->api().check(client_->api()->PJRT_Buffer_IsDeleted(&args), "cannot look at a buffer");
  return args.is_deleted;
}

void PluginBuffer::await() const {
  const PjrtApi& api = client_->api();
  TOROID_PJRT_ARGS(PJRT_Buffer_ReadyEvent_Args, args);
  args.buffer = buffer_;
  api.check(api->PJRT_Buffer_ReadyEvent(&args), "cannot wait for a buffer");
  api.await(args.event, "the program failed on " + client_->devices()[device_].description);
}

Tensor PluginBuffer::to_host() const {
  const PjrtApi& api = client_->api();
  if (consumed()) {
    fail("a buffer {} was donated to an execution: its elements are gone", type_.str());
  }
  Tensor result(type_);
  // Row-major whatever the device's own layout is.
  std::vector<std::int64_t> minor_to_major(type_.shape.rank());
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  TOROID_PJRT_ARGS(PJRT_Buffer_MemoryLayout, layout);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();

  TOROID_PJRT_ARGS(PJRT_Buffer_ToHostBuffer_Args, args);
  args.src = buffer_;
  args.host_layout = &layout;
  args.dst = result.raw();
  args.dst_size = result.bytes();
  const std::string what = fmt::format("cannot read a buffer {} of {}", type_.str(),
                                       client_->devices()[device_].description);
  api.check(api->PJRT_Buffer_ToHostBuffer(&args), what);
  api.await(args.event, what);
  return result;
}

}  // namespace toroid
