// Communication over groups of replicas, as pairs of start and done so that lifetimes know what is
// in flight. Replicas r with equal r / group_size form a group; all operands and results of one op
// travel together (a bucket).
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// n tensors of one float type -> n in flight: each is summed over the group.
struct AllReduceStart {
  static constexpr std::string_view kName = "all_reduce_start";
  int group_size = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  CollectiveRole collective() const { return {CollectiveRole::Kind::kStart, group_size}; }
  template <class V>
  void attributes(V& visit) const {
    visit("group_size", group_size);
  }
};

/// n vectors [L], L a multiple of the group size -> n in flight [L / group_size]: member m of the
/// group gets the m-th equal part of the sum.
struct ReduceScatterStart {
  static constexpr std::string_view kName = "reduce_scatter_start";
  int group_size = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  CollectiveRole collective() const { return {CollectiveRole::Kind::kStart, group_size}; }
  template <class V>
  void attributes(V& visit) const {
    visit("group_size", group_size);
  }
};

/// n vectors [L] -> n in flight [L * group_size]: the members' vectors one after the other.
struct AllGatherStart {
  static constexpr std::string_view kName = "all_gather_start";
  int group_size = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  CollectiveRole collective() const { return {CollectiveRole::Kind::kStart, group_size}; }
  template <class V>
  void attributes(V& visit) const {
    visit("group_size", group_size);
  }
};

/// All outputs of one start, in order -> the same values, arrived.
struct CollectiveDone {
  static constexpr std::string_view kName = "collective_done";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types, Types) const { return {}; }
  CollectiveRole collective() const { return {CollectiveRole::Kind::kDone}; }
  template <class V>
  void attributes(V&) const {}
};

/// -> i32 scalar: this replica's index along the data axis, 0 .. size-1.
struct AxisIndex {
  static constexpr std::string_view kName = "axis_index";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types, Types) const { return {}; }
  template <class V>
  void attributes(V&) const {}
};

/// Start and done at once; in a group of one, the operands themselves.
std::vector<Value> all_reduce(Builder& builder, std::vector<Value> values, int group_size);
std::vector<Value> reduce_scatter(Builder& builder, std::vector<Value> values, int group_size);
std::vector<Value> all_gather(Builder& builder, std::vector<Value> values, int group_size);
Value axis_index(Builder& builder);

}  // namespace toroid
