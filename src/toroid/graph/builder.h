// Building graphs node by node, with scopes for names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "toroid/graph/graph.h"

namespace toroid {

class Builder {
 public:
  explicit Builder(Mesh mesh = {}) { graph_.mesh = mesh; }

  /// Adds a node and returns its only output. An op that refuses its operands is an Error that
  /// names the path, the op and the operands' types.
  Value add(Op op, std::vector<Value> inputs);
  /// Adds a node and returns all of its outputs.
  std::vector<Value> add_all(Op op, std::vector<Value> inputs);

  /// A graph input. Its path is its name, whatever the scope; asked for again, it is the same one.
  Value input(InputKind kind, const std::string& name, const TensorType& type);

  void update(const std::string& variable, Value value) {
    graph_.updates.push_back({variable, value});
  }
  void output(const std::string& name, Value value, bool per_example = false) {
    graph_.outputs.push_back({name, value, per_example});
  }

  const TensorType& type(Value value) const { return graph_.type(value); }
  const Graph& graph() const { return graph_; }
  /// Verifies and hands over the graph.
  Graph finish();

  /// Puts `name/` before the paths of the nodes added while it lives.
  class Scope {
   public:
    Scope(Builder& builder, std::string_view name);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { builder_.scope_.resize(length_); }

   private:
    Builder& builder_;
    std::size_t length_;
  };
  [[nodiscard]] Scope scope(std::string_view name) { return {*this, name}; }
  /// The current scope, "" or ending in '/'.
  const std::string& scope_path() const { return scope_; }

 private:
  std::string unique_path(std::string path);

  Graph graph_;
  std::string scope_;
  std::set<std::string> paths_;
};

/// What an op's gradient sees: its node's operands and results, and the gradients of the results.
class GradientContext {
 public:
  GradientContext(Builder& builder, std::vector<Value> inputs, std::vector<Value> outputs,
                  std::vector<Value> output_gradients)
      : builder_(builder),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        output_gradients_(std::move(output_gradients)) {}

  Builder& builder() const { return builder_; }
  std::size_t input_count() const { return inputs_.size(); }
  Value input(std::size_t i) const { return inputs_[i]; }
  Value output(std::size_t i = 0) const { return outputs_[i]; }
  /// The gradient of output i; "no value" when nothing depends on that output.
  Value output_gradient(std::size_t i = 0) const { return output_gradients_[i]; }
  const TensorType& input_type(std::size_t i) const { return builder_.type(inputs_[i]); }

 private:
  Builder& builder_;
  std::vector<Value> inputs_, outputs_, output_gradients_;
};

}  // namespace toroid
