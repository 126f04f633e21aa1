// An op: an attribute struct with its facets, held by value behind one type.
//
// An op struct T has
//   static constexpr std::string_view kName;                        the name in printed graphs
//   std::vector<TensorType> infer(Types inputs) const;              output types; Error on misuse
//   Gradient gradient(GradientContext& context) const;              adds ordinary ops
//   Cost cost(Types inputs, Types outputs) const;                   FLOPs and bytes
//   template <class V> void attributes(V& visit) const;             visit("stride", stride); ...
// and, where it applies,
//   CollectiveRole collective() const;                              it communicates
//   std::string_view label() const;                                 shown in place of kName
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <variant>
#include <vector>

#include "toroid/base/tensor.h"
#include "toroid/graph/attributes.h"

namespace toroid {

class GradientContext;

using Types = std::span<const TensorType>;

/// One output of one node of a graph; the default is "no value".
struct Value {
  int node = -1;
  int index = 0;
  explicit operator bool() const { return node >= 0; }
  friend auto operator<=>(const Value&, const Value&) = default;
};

/// Why an op has no gradient; printed when somebody asks for one.
struct NotDifferentiable {
  std::string reason;
};

/// One gradient per input; "no value" stands for zero.
using Gradient = std::variant<std::vector<Value>, NotDifferentiable>;

struct Cost {
  double flops = 0;  ///< a multiply-add counts as two
  double bytes = 0;  ///< read and written, each operand once
};

/// The part an op plays in communication. Outputs of a start are in flight: exactly one matching
/// done takes them all, and nothing else touches them.
struct CollectiveRole {
  enum class Kind { kNone, kStart, kDone };
  Kind kind = Kind::kNone;
  int group_size = 1;  ///< replicas in a group: ranks r with equal r / group_size
};

/// Reads each operand and writes each result once, no arithmetic.
Cost memory_cost(Types inputs, Types outputs, double flops = 0);

class Op {
 public:
  // Implicit, so that an attribute struct can be passed where an op is expected.
  template <class T>
  requires(!std::same_as<T, Op>) Op(T op)  // NOLINT(google-explicit-constructor)
      : self_(std::make_shared<Model<T>>(std::move(op))) {}

  /// T::kName: what the tables of kernels go by.
  std::string_view name() const { return self_->name(); }
  /// What paths and printed graphs show: "multiply" where the name is "binary".
  std::string_view label() const { return self_->label(); }
  std::vector<TensorType> infer(Types inputs) const { return self_->infer(inputs); }
  Gradient gradient(GradientContext& context) const { return self_->gradient(context); }
  Cost cost(Types inputs, Types outputs) const { return self_->cost(inputs, outputs); }
  CollectiveRole collective() const { return self_->collective(); }
  /// "stride=[2,2] padding=[1,1,1,1]"
  std::string attributes() const { return self_->attributes(); }

  /// The attribute struct, or null when this is another op.
  template <class T>
  const T* as() const {
    return self_->type() == typeid(T) ? &static_cast<const Model<T>&>(*self_).op : nullptr;
  }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view label() const = 0;
    virtual const std::type_info& type() const = 0;
    virtual std::vector<TensorType> infer(Types inputs) const = 0;
    virtual Gradient gradient(GradientContext& context) const = 0;
    virtual Cost cost(Types inputs, Types outputs) const = 0;
    virtual CollectiveRole collective() const = 0;
    virtual std::string attributes() const = 0;
  };

  template <class T>
  struct Model final : Concept {
    explicit Model(T value) : op(std::move(value)) {}
    std::string_view name() const override { return T::kName; }
    std::string_view label() const override {
      if constexpr (requires { op.label(); }) {
        return op.label();
      } else {
        return T::kName;
      }
    }
    const std::type_info& type() const override { return typeid(T); }
    std::vector<TensorType> infer(Types inputs) const override { return op.infer(inputs); }
    Gradient gradient(GradientContext& context) const override { return op.gradient(context); }
    Cost cost(Types inputs, Types outputs) const override { return op.cost(inputs, outputs); }
    CollectiveRole collective() const override {
      if constexpr (requires { op.collective(); }) {
        return op.collective();
      } else {
        return {};
      }
    }
    std::string attributes() const override {
      AttributePrinter printer;
      op.attributes(printer);
      return std::move(printer).text();
    }
    T op;
  };

  std::shared_ptr<const Concept> self_;
};

}  // namespace toroid
